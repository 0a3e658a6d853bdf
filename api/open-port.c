/* The address at which a browser reaches a server in a session. */
#include "api/auth.h"
#include "api/host.h"
#include "api/origins.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"

struct open_body {
	int64_t port;
};

static const struct arg open_table[] = {
	{ "port", ARG_INT, offsetof(struct open_body, port), ARG_REQUIRED, .min = 1, .max = UINT16_MAX,
	  .description = "The port on which the server in the session listens.", .example = "8080" },
	{ 0 },
};

static void open_port(struct exchange *x)
{
	const struct open_body *body = x->args;
	if (!origins_is_id(x->captures[0])) {
		exchange_problem(x, 400, "The address of a port needs the full id of the session.",
				 "GET /v1/sessions/NAME has it in `id`.");
		return;
	}
	char *key = auth_key_text(x);
	AUTO(freep) char *url = key ? origins_open(x, (uint16_t)body->port, key) : NULL;
	if (!url)
		exchange_problem(
			x, 409, "Here the ports of sessions have no address for browsers.",
			"The server must be reached with a key as localhost or 127.0.0.1. `husk open SESSION PORT` "
			"opens a port on the machine of the server.");
	else
		exchange_reply(x, 201,
			       json_pack("{s:o, s:i}", "url", json_text(url), "expires_seconds", ORIGIN_CODE_SECONDS));
}

static const struct route_answer answers[] = {
	{ 201, "Anything", NULL, "`url` opens the port in a browser. It works once, within a minute." },
	{ 0 },
};

const struct route routes_open_port[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/ports",
	  .scope = SCOPE_PORTS,
	  .name = "openPort",
	  .tag = "ports",
	  .summary = "Make an address that opens a server of the session in a browser",
	  .text = "Its origin, such as `http://ID--8080.localhost:8765`, belongs to this port of this session alone. The "
		  "browser gets a cookie for this origin, which lasts for a day at most and is not valid without the key of "
		  "this request. The session must be named by its full id.",
	  .body = open_table,
	  .body_size = sizeof(struct open_body),
	  .answers = answers,
	  .handle = open_port },
	{ 0 },
};
