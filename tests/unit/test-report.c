/* cli/report: exit codes of failures, and their messages. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/manager.h"

static int code_of(enum fail_kind kind, enum cause cause)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, kind, cause, "it failed");
	return report_code(&f);
}

static void usage_errors_and_system_errors_have_different_codes(void **state)
{
	assert_int_equal(EXIT_USAGE, 64);
	assert_int_equal(code_of(FAIL_INVALID, CAUSE_NONE), EXIT_USAGE);
	assert_int_equal(code_of(FAIL_LIMIT, CAUSE_LIMIT_SESSIONS), EXIT_USAGE);
	assert_int_equal(code_of(FAIL_FOREIGN, CAUSE_OTHER_CONVERSATION), EXIT_USAGE);
	assert_int_equal(code_of(FAIL_INSTALL, CAUSE_INSTALL_FAILED), EXIT_USAGE);
	assert_int_equal(code_of(FAIL_INSTALL, CAUSE_INSTALL_SIZE), EXIT_USAGE);
	assert_int_equal(code_of(FAIL_INSTALL, CAUSE_INSTALL_INDEX), EXIT_SYSTEM);
	assert_int_equal(code_of(FAIL_INSTALL, CAUSE_INSTALL_LOST), EXIT_SYSTEM);
	assert_int_equal(code_of(FAIL_ENGINE, CAUSE_NO_ENGINE), EXIT_SYSTEM);
	assert_int_equal(code_of(FAIL_STORE, CAUSE_NONE), EXIT_SYSTEM);
	assert_int_equal(code_of(FAIL_TIMEOUT, CAUSE_INSTALL_TIME), EXIT_SYSTEM);
	assert_int_equal(code_of(FAIL_NOT_FOUND, CAUSE_NO_SESSION), EXIT_NO);
}

static const char words[] = "ERROR: no version of nothing\n";

static void report_failed_install(FILE *to)
{
	AUTO(fail_release) struct fail f = { 0 };
	int saved = dup(STDERR_FILENO);
	cause_set(&f, FAIL_INSTALL, CAUSE_INSTALL_FAILED, "the dependencies could not be installed\n%s", words);
	fflush(stderr);
	dup2(fileno(to), STDERR_FILENO);
	report_fail(&f);
	report_install_output(words, strlen(words));
	report_fail(&f);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

/* The installer's output is part of the report only if it was not printed before. */
static void an_install_failure_is_printed_once(void **state)
{
	char got[4096];
	FILE *file = tmpfile();
	assert_non_null(file);
	report_failed_install(file);
	rewind(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(got, "husk: the dependencies could not be installed\n  ERROR: no version of nothing\n"
				 "ERROR: no version of nothing\n"
				 "husk: the dependencies could not be installed\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usage_errors_and_system_errors_have_different_codes),
		cmocka_unit_test(an_install_failure_is_printed_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
