/* Packages of a running session. No operation of the manager adds them: a session gets its packages when it is created,
 * or from an installer that runs as a command. The route says so. */
#include "api/route.h"

struct packages_body {
	json_t *packages;
};

static const struct arg table[] = {
	{ "packages", ARG_TEXTS, offsetof(struct packages_body, packages), ARG_REQUIRED,
	  .description = "Names and versions.", .example = "{\"pandas\": \"2.2.3\"}" },
	{ 0 },
};

static void post_packages(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "Packages cannot be added to a running session here.");
	fail_hint(&f,
		  "Name them in `dependencies` when you create a session, or run the installer as a command, such as "
		  "{\"kind\": \"command\", \"text\": \"pip install NAME\"} for POST …/runs.");
	exchange_fail(x, &f);
}

static const struct route_answer answers[] = {
	{ 501, "Problem", "application/problem+json", "Not supported; `hint` names two other ways." }, { 0 }
};

const struct route routes_packages[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/packages",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "addPackages",
	  .tag = "sessions",
	  .summary = "Add packages to a session (not supported yet)",
	  .body = table,
	  .body_size = sizeof(struct packages_body),
	  .answers = answers,
	  .handle = post_packages },
	{ 0 },
};
