#include "cli/outcome.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/exit.h"

bool outcome_is_exit(const struct run_result *result)
{
	return result->ending == ENDING_ERROR && result->error_type && result->has_exit_code;
}

int outcome_code(const struct run_result *result)
{
	switch (result->ending) {
	case ENDING_OK:
		return EXIT_DONE;
	case ENDING_ERROR:
		return outcome_is_exit(result) ? result->exit_code & 0xff : EXIT_NO;
	case ENDING_TIMEOUT:
		return EXIT_TIME;
	case ENDING_INTERRUPTED:
		return EXIT_INTERRUPTED;
	case ENDING_OOM:
		return EXIT_MEMORY;
	case ENDING_KERNEL_DIED:
		if (result->has_exit_code)
			return result->exit_code & 0xff;
		return result->signal ? EXIT_SIGNALLED + result->signal : EXIT_NO;
	default:
		return EXIT_SYSTEM;
	}
}

/* Python prints the text of sys.exit("a text"), so husk prints it too. */
static void explain_exit(const char *message)
{
	static const char number[] = "exit status ";
	const char *end = strstr(message, " (the cell ended here");
	if (end && strncmp(message, number, strlen(number)) != 0)
		fprintf(stderr, "%.*s\n", (int)(end - message), message);
}

/* The message must be a line of its own or follow a colon; elsewhere it may be part of the code that raised it. */
const char *outcome_find_message(const char *text, const char *message)
{
	size_t n = strlen(message);
	for (const char *at = text; n && (at = strstr(at, message)); at++) {
		bool line = (at == text || at[-1] == '\n') && (at[n] == '\0' || at[n] == '\n');
		if (line || (at - text > 1 && at[-2] == ':' && at[-1] == ' '))
			return at;
	}
	return NULL;
}

/* Some tracebacks contain the message; those of R do not. */
char *outcome_error(const struct run_result *result)
{
	const char *message = result->error_message ? result->error_message : "";
	const char *traceback = result->error_traceback ? result->error_traceback : "";
	if (*traceback && (!*message || outcome_find_message(traceback, message)))
		return xstrdup(traceback);
	return xasprintf("Error: %s%s%s", message, *traceback ? "\n" : "", traceback);
}

void outcome_explain(const struct run_result *result)
{
	const char *message = result->error_message ? result->error_message : "";
	if (result->ending == ENDING_OK || (result->ending == ENDING_KERNEL_DIED && result->has_exit_code))
		return;
	if (outcome_is_exit(result)) {
		if (streq(result->error_type, "SystemExit"))
			explain_exit(message);
	} else if (result->ending == ENDING_ERROR) {
		AUTO(freep) char *text = outcome_error(result);
		fprintf(stderr, "%s\n", text);
	} else {
		log_error("%s", result->detail ? result->detail : ending_name(result->ending));
	}
}
