/* kernels/probe/trial: what the result of a forbidden act proves. tests/e2e/test_probe.py tries the acts themselves. */
#include "kernels/probe/trial.h"

#include <errno.h>
#include <signal.h>

#include "kernels/probe/probe.h"
#include "kernels/protocol.h"
#include "tests/unit/unit.h"

#define HELD "EPERM EACCES no-effect"
#define OPEN "ESTALE EINVAL SIGSEGV"

/* evidence: probe-verdicts */
static void each_result_has_its_verdict(void **state)
{
	static const struct {
		struct trial trial;
		const char *verdict;
	} cases[] = {
		{ { .error = 0 }, PROBE_OPEN },
		{ { .error = EINVAL }, PROBE_OPEN },
		{ { .error = NOT_TRIED, .signal = SIGSEGV }, PROBE_OPEN },
		{ { .error = EPERM }, PROBE_HELD },
		{ { .error = NO_EFFECT }, PROBE_HELD },
		{ { .error = NOT_TRIED, .signal = SIGSYS }, PROBE_HELD },
		{ { .error = ENOENT }, PROBE_UNSURE },
		{ { .error = FILTERED }, PROBE_UNSURE },
		{ { .error = NOT_TRIED }, PROBE_UNSURE },
		{ { .error = NOT_TRIED, .signal = SIGALRM }, PROBE_UNSURE },
		/* The process was killed after it had written its result. */
		{ { .error = 0, .signal = SIGKILL }, PROBE_UNSURE },
		{ { .error = NO_NEIGHBOUR, .signal = SIGKILL }, PROBE_UNSURE },
		{ { .error = NO_NEIGHBOUR }, PROBE_NO_PEER },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(trial_judge(cases[i].trial, HELD, OPEN), cases[i].verdict);
}

/* evidence: probe-verdicts */
static void an_error_matches_whole_names_only(void **state)
{
	struct trial again = { .error = EAGAIN }, permission = { .error = EPERM };
	assert_string_equal(trial_judge(again, "EAGAINST XEAGAIN", "NOEAGAIN EAGAIN2"), PROBE_UNSURE);
	assert_string_equal(trial_judge(again, "XEAGAIN EAGAIN", ""), PROBE_HELD);
	assert_string_equal(trial_judge(permission, "", "EPERMX EPERM"), PROBE_OPEN);
	assert_string_equal(trial_judge(permission, "EPERM", "EPERM"), PROBE_OPEN);
}

static void results_are_named(void **state)
{
	static const struct {
		struct trial trial;
		const char *name;
	} cases[] = {
		{ { .error = 0 }, "worked" },
		{ { .error = EPERM }, "EPERM" },
		{ { .error = 3999 }, "unknown-error" },
		{ { .error = NO_EFFECT }, "no-effect" },
		{ { .error = NOT_TRIED }, "not-tried" },
		{ { .error = NOT_TRIED, .signal = SIGALRM }, "no-answer" },
		{ { .error = NOT_TRIED, .signal = SIGSYS }, "SIGSYS" },
		{ { .error = NOT_TRIED, .signal = 99 }, "SIG?" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[TRIAL_NAME_SIZE];
		trial_name(cases[i].trial, name);
		assert_string_equal(name, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_result_has_its_verdict),
		cmocka_unit_test(an_error_matches_whole_names_only),
		cmocka_unit_test(results_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
