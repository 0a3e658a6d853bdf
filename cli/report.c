#include "cli/report.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/exit.h"
#include "manager/manager.h"

#define SET_UP "Run `husk setup`, then `husk doctor`."
#define CHECK_ENGINE "Run `husk doctor` to check the engine."
#define MAKE_ROOM "`husk ps` lists the sessions, `husk stop ID` ends one."

static const char *const steps[CAUSE_COUNT] = {
	[CAUSE_NO_CLIENT] = SET_UP,
	[CAUSE_NO_ENGINE] = SET_UP,
	[CAUSE_NO_IMAGE] = SET_UP,
	[CAUSE_ENGINE_SILENT] = CHECK_ENGINE,
	[CAUSE_ENGINE_REFUSED] = CHECK_ENGINE,
	[CAUSE_NO_ANSWER] = CHECK_ENGINE,

	[CAUSE_NO_SESSION] = "`husk ps` lists the sessions.",
	[CAUSE_OTHER_SERVER] = "`husk stop ID` ends it anyway.",
	[CAUSE_LIMIT_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATION_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_TENANT] = MAKE_ROOM,

	[CAUSE_ATTACH_OFF] = "End that program and attach again. For a server, set HUSK_ATTACH=on and restart it.",
	[CAUSE_OTHER_VERSION] = "Use the `husk` of the same version, or restart that server with this one.",
	[CAUSE_NO_SERVER] = "Attach again: a session keeps running without its server until its lease ends.",

	[CAUSE_NOT_EXPORTED] = "`husk exports` lists what was exported.",
};

static bool install_is_shown;

void report_install_output(const char *text, size_t n)
{
	install_is_shown = install_is_shown || n > 0;
	fwrite(text, 1, n, stderr);
	fflush(stderr);
}

int report_refusal(const struct fail *f, enum verb verb)
{
	int code = report_fail(f);
	if (code == EXIT_USAGE)
		options_usage(stderr, verb);
	return code;
}

int report_code(const struct fail *f)
{
	switch (f->kind) {
	case FAIL_NOT_FOUND:
		return EXIT_NO;
	case FAIL_INVALID:
	case FAIL_FOREIGN:
	case FAIL_LIMIT:
		return EXIT_USAGE;
	case FAIL_INSTALL:
		return f->cause == CAUSE_INSTALL_FAILED || f->cause == CAUSE_INSTALL_SIZE ? EXIT_USAGE : EXIT_SYSTEM;
	default:
		return EXIT_SYSTEM;
	}
}

const char *report_next_step(const struct fail *f)
{
	return steps[cause_of(f)];
}

/* The message of a failed install ends with the installer's output. */
static char *message_of(const struct fail *f)
{
	const char *text = f->message ? f->message : "failed";
	bool installer = f->kind == FAIL_INSTALL || f->cause == CAUSE_INSTALL_TIME;
	return installer && install_is_shown ? xstrndup(text, strcspn(text, "\n")) : xstrdup(text);
}

int report_fail(const struct fail *f)
{
	AUTO(freep) char *message = message_of(f);
	const char *step = report_next_step(f), *hint = f->hint;
	/* One log event: the hint and the next step are indented below the message. */
	log_error("%s%s%s%s%s", message, hint ? "\n" : "", hint ? hint : "", step ? "\n" : "", step ? step : "");
	return report_code(f);
}
