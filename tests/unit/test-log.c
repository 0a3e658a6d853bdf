/* base/log: the line of an event, which untrusted text cannot forge. */
#include "tests/unit/unit.h"

#include <regex.h>

#include "base/alloc.h"
#include "base/log.h"

static char got[4096];

/* Stores what fn logs in `got`. */
static void capture(void (*fn)(void))
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	assert_true(file && saved >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	fn();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
}

static void log_lines(void)
{
	log_error("%s", "pip failed:\n  no such package\nhusk: forged\n");
	log_warning("bell \a escape \033[1m tab \t cr \r.");
}

static void line_breaks_are_kept_and_other_control_characters_are_not(void **state)
{
	capture(log_lines);
	assert_string_equal(got, "husk: pip failed:\n    no such package\n  husk: forged\n"
				 "husk: warning: bell ? escape ?[1m tab ? cr ?.\n");
}

static void log_at_debug(void)
{
	log_set_level(LOG_DEBUG);
	log_debug("request %d", 7);
	log_error("broken");
	log_set_level(LOG_WARNING);
	log_debug("not shown");
}

static void debug_logs_have_times(void **state)
{
	static const char time[] = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";
	AUTO(freep) char *pattern = xasprintf("^husk: %s debug: request 7\nhusk: %s broken\n$", time, time);
	regex_t re;
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	capture(log_at_debug);
	assert_int_equal(regexec(&re, got, 0, NULL, 0), 0);
	regfree(&re);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_breaks_are_kept_and_other_control_characters_are_not),
		cmocka_unit_test(debug_logs_have_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
