#include "cli/report.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/exit.h"
#include "cli/next-step.h"
#include "manager/manager.h"

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
	const char *step = next_step_for_person(f), *hint = f->hint;
	/* One log event: the hint and the next step are indented below the message. */
	log_error("%s%s%s%s%s", message, hint ? "\n" : "", hint ? hint : "", step ? "\n" : "", step ? step : "");
	return report_code(f);
}
