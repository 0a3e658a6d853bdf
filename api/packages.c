/* Packages of a running session: the language's installer runs as a command of the session. */
#include "api/host.h"
#include "api/route.h"
#include "api/runs.h"
#include "base/alloc.h"
#include "manager/json/codec.h"

/* Building a package from its sources takes long. */
#define INSTALL_TIMEOUT 1800

struct packages_body {
	json_t *packages;
};

static const struct arg table[] = {
	{ "packages", ARG_TEXTS, offsetof(struct packages_body, packages), ARG_REQUIRED,
	  .description = "Name to version, \"\" for any, as in `dependencies`.", .example = "{\"pandas\": \"2.2.3\"}" },
	{ 0 },
};

static void install(struct exchange *x, const struct runtime *runtime)
{
	const struct packages_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	size_t n;
	AUTO(freep) struct dependency *v = dependencies_decode(body->packages, &n);
	AUTO(freep) char *command = manager_packages_command(runtime, v, n, &f);
	if (!command) {
		exchange_fail(x, &f);
		return;
	}
	runs_start(x, &(struct run_request){ .kind = RUN_TERMINAL,
					     .text = command,
					     .len = strlen(command),
					     .cwd = "/workspace",
					     .timeout_seconds = INSTALL_TIMEOUT });
}

/* The session's language decides which installer runs. */
static void on_info(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		install(x, runtime_find(details->session.runtime));
}

static void post_packages(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct info_request request = { .session_id = x->session, .on_done = on_info, .ctx = x };
	exchange_await(x, manager_info(x->conversation, &request, &f), &f);
}

static const struct route_answer answers[] = {
	{ 200, "Run", NULL, "The installer has ended within the preferred wait." },
	{ 200, NULL, "text/event-stream", "The events of its run, up to its end." },
	{ 202, "Run", NULL, "The installer was started; its run is at Location." },
	{ 501, "Problem", "application/problem+json", "The language has no installer." },
	{ 0 },
};

const struct route routes_packages[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/packages",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "addPackages",
	  .tag = "sessions",
	  .summary = "Install packages in a session",
	  .text = "The installer is a command of the session, with its network and its limits, and the answer is like that of "
		  "`POST …/runs`. Packages that are named in `dependencies` when a session is created need no network in the "
		  "session, and are installed once for many sessions.",
	  .body = table,
	  .body_size = sizeof(struct packages_body),
	  .answers = answers,
	  .example = "-H 'Prefer: wait=300' --json '{\"packages\": {\"pandas\": \"2.2.3\"}}'",
	  .handle = post_packages },
	{ 0 },
};
