#include "cli/report.h"

#include "base/log.h"
#include "cli/exit.h"
#include "cli/next-step.h"

int report_refusal(const struct fail *f, enum verb verb)
{
	int code = report_fail(f);
	if (code == EXIT_USAGE)
		options_usage_line(stderr, verb);
	return code;
}

int report_fail(const struct fail *f)
{
	const char *step = next_step_for_person(f);
	log_error("%s", f->message ? f->message : "failed");
	if (f->hint)
		log_error("%s", f->hint);
	if (step)
		log_error("%s", step);
	if (f->kind == FAIL_INVALID)
		return EXIT_USAGE;
	return f->kind == FAIL_NOT_FOUND ? EXIT_NO : EXIT_SYSTEM;
}
