/* manager/model/probe: only a complete report is accepted. */
/* evidence: probe */
#include "manager/model/probe.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void a_report_is_read(void **state)
{
	AUTO(probe_release) struct probe_report r = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(
		probe_read(&r,
			   "held\tcalls\tbpf\tEPERM\nOPEN\thost\tits ssh\tworked\ncannot tell\tcalls\tacct\tEIO\n"
			   "no peer\tsessions\tthe next ones\tno-neighbour\ndone\t4\t1\t2\n",
			   &f),
		0);
	assert_int_equal(r.n, 4);
	for (size_t i = 0; i < N_PROBE_VERDICTS; i++)
		assert_int_equal(r.counts[i], 1);
	assert_int_equal(r.v[0].verdict, ACT_HELD);
	assert_string_equal(r.v[0].why, "EPERM");
	AUTO(freep) char *open = probe_name_acts(&r, NULL, ACT_OPEN),
			 *unsure = probe_name_acts(&r, "calls", ACT_UNSURE),
			 *none = probe_name_acts(&r, "host", ACT_UNSURE);
	assert_string_equal(open, "host: its ssh (worked)");
	assert_string_equal(unsure, "acct (EIO)");
	assert_string_equal(none, "");
}

static void incomplete_reports_are_rejected(void **state)
{
	static const char *const bad[] = {
		"",
		"done\t0\t0\t0\n",
		"held\tcalls\tbpf\tEPERM\n",
		"held\tcalls\tbpf\tEPERM\ndone\t2\t0\t0\n",
		"held\tcalls\tbpf\tEPERM\ndone\t1\t1\t0\n",
		"held\tcalls\tbpf\tEPERM\ndone\t1\t0\t1\n",
		"cannot tell\tcalls\tbpf\tEIO\ndone\t1\t0\t0\n",
		"held\tcalls\tbpf\ndone\t1\t0\t0\n",
		"held\tcalls\tbpf\tEPERM\tmore\ndone\t1\t0\t0\n",
		"held\t\tbpf\tEPERM\ndone\t1\t0\t0\n",
		"perhaps\tcalls\tbpf\tEPERM\ndone\t1\t0\t0\n",
		"noise\nheld\tcalls\tbpf\tEPERM\ndone\t1\t0\t0\n",
		"held\tcalls\tbpf\tEPERM\ndone\t1\t0\n",
		"held\tcalls\tbpf\tEPERM\ndone\t1\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(probe_release) struct probe_report r = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		if (probe_read(&r, bad[i], &f) == 0)
			fail_msg("taken for a report: %s", bad[i]);
		assert_int_equal(r.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_report_is_read),
					    cmocka_unit_test(incomplete_reports_are_rejected) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
