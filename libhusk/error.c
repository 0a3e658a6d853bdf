#include "libhusk/error.h"

#include "base/alloc.h"

static const char *const kinds[] = {
	[FAIL_NONE] = "none",	    [FAIL_INVALID] = "invalid",	    [FAIL_NOT_FOUND] = "not_found",
	[FAIL_FOREIGN] = "foreign", [FAIL_LIMIT] = "limit",	    [FAIL_BUSY] = "busy",
	[FAIL_TIMEOUT] = "timeout", [FAIL_CANCELLED] = "cancelled", [FAIL_ENGINE] = "engine",
	[FAIL_IMAGE] = "image",	    [FAIL_DIED] = "died",	    [FAIL_STORE] = "store",
	[FAIL_INSTALL] = "install", [FAIL_INTERNAL] = "internal",
};

static const char *const own_causes[] = {
	[ERROR_MISUSE - CAUSE_COUNT] = "misuse",       [ERROR_CLOSED - CAUSE_COUNT] = "closed",
	[ERROR_FORKED - CAUSE_COUNT] = "forked",       [ERROR_DEADLINE - CAUSE_COUNT] = "deadline",
	[ERROR_CANCELLED - CAUSE_COUNT] = "cancelled",
};

#define SET_UP "Run `husk setup`, then `husk doctor`."
#define NEW_SESSION "Create a new session with husk_create()."
#define REPLACE "Free it with husk_stop() and create a new session with husk_create()."
#define MAKE_ROOM "End sessions with husk_stop(); husk_list_all() lists all of them."
#define AGAIN "Call again in a few seconds."

/* The next step for each cause, in the terms of this library; NULL where the manager's hint is enough. */
static const char *const steps[CAUSE_COUNT] = {
	[CAUSE_NO_CLIENT] = SET_UP,
	[CAUSE_NO_ENGINE] = SET_UP,
	[CAUSE_NO_IMAGE] = SET_UP,
	[CAUSE_ENGINE_SILENT] = "`husk doctor` shows what the engine answers; sessions are kept for their lease.",
	[CAUSE_ENGINE_REFUSED] = "`husk doctor` shows what the engine answers.",
	[CAUSE_NO_CONTAINER] = REPLACE,
	[CAUSE_STOPPED] = NEW_SESSION,
	[CAUSE_STOPPED_BY_HAND] = NEW_SESSION,
	[CAUSE_IDLE] = REPLACE,
	[CAUSE_LIFETIME] = REPLACE,
	[CAUSE_LEASE] = REPLACE,
	[CAUSE_OOM] = REPLACE,
	[CAUSE_EXITED] = REPLACE,
	[CAUSE_REMOVED] = REPLACE,
	[CAUSE_NODE] = REPLACE,
	[CAUSE_ENGINE_RESTARTED] = REPLACE,
	[CAUSE_UNWATCHED] = REPLACE,
	[CAUSE_TAKEN_OVER] = NEW_SESSION,
	[CAUSE_KERNEL_FAILED] = REPLACE,
	[CAUSE_PROTOCOL] = REPLACE,
	[CAUSE_HALF_MADE] = NEW_SESSION,
	[CAUSE_NO_SESSION] = "husk_list() lists the sessions of a conversation; husk_create() creates one.",
	[CAUSE_OTHER_CONVERSATION] = "Use the session through the conversation that created it.",
	[CAUSE_OTHER_SERVER] = NEW_SESSION,
	[CAUSE_OTHER_ENGINE] = NEW_SESSION,
	[CAUSE_STARTING] = AGAIN,
	[CAUSE_ADOPTING] = AGAIN,
	[CAUSE_RECONNECTING] = AGAIN,
	[CAUSE_QUEUE_FULL] = "Wait for earlier calls to return.",
	[CAUSE_TOO_LONG] = "Import it as a file with husk_import() and run the file.",
	[CAUSE_CANNOT_ANSWER] = "Continue without the answer.",
	[CAUSE_OLD_SESSION] = NEW_SESSION,
	[CAUSE_LIMIT_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATION_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_TENANT] = MAKE_ROOM,
	[CAUSE_INSTALL_FAILED] = "Correct the names or versions of the dependencies.",
	[CAUSE_INSTALL_TIME] = "Use fewer dependencies, or raise DEPENDENCY_INSTALL_TIMEOUT_SECONDS.",
	[CAUSE_INSTALL_MEMORY] = "Use versions that need no compiling.",
	[CAUSE_INSTALL_SIZE] = "Use fewer or smaller dependencies.",
	[CAUSE_INSTALL_LOST] = "Call husk_create() again.",
	[CAUSE_NOT_EXPORTED] = "Call husk_export() in that session first.",
};

static const char *const own_steps[] = {
	[ERROR_MISUSE - CAUSE_COUNT] = "husk.h describes the arguments of each call.",
	[ERROR_CLOSED - CAUSE_COUNT] = "Open another manager with husk_open().",
	[ERROR_FORKED - CAUSE_COUNT] = "A child of fork opens its own manager with husk_open().",
	[ERROR_DEADLINE - CAUSE_COUNT] =
		"The call's work was interrupted. Use a later deadline, or give the run a timeout.",
	[ERROR_CANCELLED - CAUSE_COUNT] = NULL,
};

static const char *cause_word(int cause)
{
	if (cause >= CAUSE_COUNT && cause - CAUSE_COUNT < (int)ARRAY_LEN(own_causes))
		return own_causes[cause - CAUSE_COUNT];
	return cause > 0 && cause < CAUSE_COUNT ? cause_name((enum cause)cause) : cause_name(CAUSE_NONE);
}

static const char *step_of(int cause)
{
	if (cause >= CAUSE_COUNT && cause - CAUSE_COUNT < (int)ARRAY_LEN(own_steps))
		return own_steps[cause - CAUSE_COUNT];
	return cause > 0 && cause < CAUSE_COUNT ? steps[cause] : NULL;
}

struct owned_error {
	struct husk_error error; /* must be first: the caller gets its address, and frees it */
	struct pool pool;
};

static void fill(struct pool *p, struct husk_error *e, const struct fail *f)
{
	const char *step = step_of(f->cause), *between = f->hint && step ? " " : "";
	AUTO(freep) char *hint = xasprintf("%s%s%s", f->hint ? f->hint : "", between, step ? step : "");
	e->kind = kinds[f->kind];
	e->cause = cause_word(f->cause);
	e->message = pool_text(p, f->message ? f->message : "failed");
	e->hint = pool_text(p, hint);
}

struct husk_error *error_of(const struct fail *f)
{
	if (!f->kind)
		return NULL;
	struct owned_error *o = new0(struct owned_error);
	fill(&o->pool, &o->error, f);
	return &o->error;
}

const struct husk_error *error_in(struct pool *p, const struct fail *f)
{
	if (!f->kind)
		return NULL;
	struct husk_error *e = pool_new(p, struct husk_error);
	fill(p, e, f);
	return e;
}

void husk_error_free(struct husk_error *e)
{
	if (!e)
		return;
	struct owned_error *o = container_of(e, struct owned_error, error);
	pool_release(&o->pool);
	free(o);
}

int error_set(struct fail *f, enum fail_kind kind, int cause, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *message = xvasprintf(fmt, ap);
	va_end(ap);
	fail_set(f, kind, "%s", message);
	f->cause = cause;
	return -1;
}

struct husk_error *error_misuse(const char *fmt, ...)
{
	AUTO(fail_release) struct fail f = { 0 };
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *message = xvasprintf(fmt, ap);
	va_end(ap);
	error_set(&f, FAIL_INVALID, ERROR_MISUSE, "%s", message);
	return error_of(&f);
}

struct husk_error *error_missing(const char *function, const char *argument)
{
	return error_misuse("%s(): %s is missing", function, argument);
}
