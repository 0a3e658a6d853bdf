#include "cli/outcome.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/exit.h"

/* How the kernels report an exit() in a cell: the error's type, and the text before the number. */
static const struct {
	const char *type, *before;
} exits[] = { { "SystemExit", "exit status " },
	      { "ProcessExit", "process.exit(" },
	      { "quit", "q() was called with status " } };
#define EXIT_WORDS "the cell ended here"

bool outcome_is_exit(const struct run_result *result, int *ret)
{
	const char *message = result->error_message;
	for (size_t i = 0; result->error_type && message && i < ARRAY_LEN(exits); i++) {
		if (!streq(result->error_type, exits[i].type) || !strstr(message, EXIT_WORDS))
			continue;
		size_t n = strlen(exits[i].before);
		bool has_number = strncmp(message, exits[i].before, n) == 0;
		*ret = has_number ? (int)(strtoul(message + n, NULL, 10) & 0xff) : EXIT_NO;
		return true;
	}
	return false;
}

int outcome_code(const struct run_result *result)
{
	int code;
	switch (result->ending) {
	case ENDING_OK:
		return EXIT_DONE;
	case ENDING_ERROR:
		return outcome_is_exit(result, &code) ? code : EXIT_NO;
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

/* sys.exit("a text") prints it. */
static void explain_exit(const char *message)
{
	const char *end = strstr(message, " (" EXIT_WORDS);
	if (end && strncmp(message, exits[0].before, strlen(exits[0].before)) != 0)
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
	int code;
	if (result->ending == ENDING_OK || (result->ending == ENDING_KERNEL_DIED && result->has_exit_code))
		return;
	if (outcome_is_exit(result, &code)) {
		if (streq(result->error_type, exits[0].type))
			explain_exit(message);
	} else if (result->ending == ENDING_ERROR) {
		AUTO(freep) char *text = outcome_error(result);
		fprintf(stderr, "%s\n", text);
	} else {
		log_error("%s", result->detail ? result->detail : ending_name(result->ending));
	}
}
