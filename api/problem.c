#include "api/problem.h"

#include "base/json.h"
#include "http/message.h"
#include "http/problem.h"
#include "manager/manager.h"

static const struct {
	const char *name;
	int status;
} kinds[] = {
	[FAIL_NONE] = { "internal", 500 },	 [FAIL_INVALID] = { "invalid", 400 },
	[FAIL_NOT_FOUND] = { "not_found", 404 }, [FAIL_FOREIGN] = { "not_found", 404 },
	[FAIL_LIMIT] = { "limit", 429 },	 [FAIL_BUSY] = { "busy", 409 },
	[FAIL_TIMEOUT] = { "timeout", 504 },	 [FAIL_CANCELLED] = { "cancelled", 409 },
	[FAIL_ENGINE] = { "engine", 503 },	 [FAIL_IMAGE] = { "image", 503 },
	[FAIL_DIED] = { "died", 410 },		 [FAIL_STORE] = { "store", 503 },
	[FAIL_INSTALL] = { "install", 422 },	 [FAIL_INTERNAL] = { "internal", 500 },
};

/* Causes whose status differs from that of their kind. */
static const struct {
	enum cause cause;
	int status;
} causes[] = {
	{ CAUSE_NO_RUN, 404 },	     { CAUSE_NO_TASK, 404 },	   { CAUSE_TASK_EXPIRED, 410 },
	{ CAUSE_TOO_LONG, 413 },     { CAUSE_QUEUE_FULL, 429 },	   { CAUSE_STARTING, 503 },
	{ CAUSE_ADOPTING, 503 },     { CAUSE_RECONNECTING, 503 },  { CAUSE_INPUT_SIZE, 413 },
	{ CAUSE_PATH_DENIED, 403 },  { CAUSE_NO_SESSION, 404 },	   { CAUSE_NETWORK_OFF, 403 },
	{ CAUSE_TOO_MUCH, 403 },     { CAUSE_CANNOT_ANSWER, 501 }, { CAUSE_NOT_SUPPORTED, 501 },
	{ CAUSE_PATH_OUTSIDE, 403 }, { CAUSE_FILE_DENIED, 403 },   { CAUSE_NOT_DIRECTORY, 409 },
	{ CAUSE_IS_DIRECTORY, 409 }, { CAUSE_NOT_FILE, 409 },	   { CAUSE_FILE_EXISTS, 409 },
	{ CAUSE_NOT_EMPTY, 409 },    { CAUSE_FILE_CHANGED, 412 },  { CAUSE_NO_ROOM, 507 },
	{ CAUSE_FILE_LIMIT, 422 },   { CAUSE_PORT_REFUSED, 502 },  { CAUSE_INTERPRETER_BUSY, 409 },
	{ CAUSE_RUN_TOLD, 409 },
};

int problem_status(const struct fail *f)
{
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (cause_of(f) == causes[i].cause)
			return causes[i].status;
	return kinds[f->kind].status;
}

unsigned problem_retry_after(const struct fail *f)
{
	int status = problem_status(f);
	return status == 429 || status == 503 ? 5 : 0;
}

/* The next step of a client of the API. */
static const char *hint_of(enum cause cause, int status)
{
	switch (cause) {
	case CAUSE_NO_SESSION:
		return "GET /v1/sessions?all=true lists the sessions; Husk-Conversation names a conversation.";
	case CAUSE_NO_RUN:
		return "GET /v1/sessions/ID/runs lists the runs.";
	case CAUSE_RUN_TOLD:
		return "GET on the run has its result.";
	case CAUSE_PORT_REFUSED:
		return "Start a server in the session that listens on this port, then try again.";
	case CAUSE_FILE_DENIED:
		return "Name a file that the user of the session may change.";
	case CAUSE_NO_FILE:
		return "A path that ends with a slash lists a directory.";
	default:
		return http_problem_hint(status);
	}
}

json_t *problem_body(int status, const struct fail *f, bool remote)
{
	/* A session of another tenant is answered like a missing one. */
	enum cause why = f->kind == FAIL_FOREIGN ? CAUSE_NO_SESSION : cause_of(f);
	const char *cause = why ? cause_name(why) : NULL, *kind = kinds[f->kind].name;
	AUTO(fail_release) struct fail shown = { 0 };
	fail_for_client(&shown, f, remote);
	json_t *out = json_object();
	json_object_set_new(out, "type", json_sprintf("urn:husk:problem:%s", cause ? cause : kind));
	json_object_set_new(out, "title", json_string(http_status_phrase(status)));
	json_object_set_new(out, "status", json_integer(status));
	json_object_set_new(out, "detail", json_text(shown.message ? shown.message : "The request failed."));
	json_object_set_new(out, "kind", json_string(kind));
	json_object_set_new(out, "cause", json_string(cause ? cause : kind));
	/* Programs of this user word the next step themselves. */
	const char *hint = shown.hint ? shown.hint : remote ? hint_of(why, status) : NULL;
	if (hint)
		json_object_set_new(out, "hint", json_text(hint));
	return out;
}

json_t *problem_plain(int status, const char *detail, const char *hint)
{
	return http_problem(status, /* cause= */ NULL, detail, hint);
}
