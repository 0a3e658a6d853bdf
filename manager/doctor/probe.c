/* Verdicts on what husk-probe tried in a session. */
#include "manager/model/probe.h"
#include "base/alloc.h"
#include "manager/doctor/doctor-private.h"

#define FIX_PROBE                                                                                                      \
	"update the engine and the kernel below it; see `husk doctor` and SECURITY.md for what each act stands for"

void doctor_judge_probe(struct checks *c, const struct runtime *runtime, bool in_full, const struct run_result *result,
			const struct fail *f)
{
	AUTO(probe_release) struct probe_report report = { 0 };
	AUTO(fail_release) struct fail why = { 0 };
	AUTO(freep) char *title = xasprintf("probe %s", runtime->name);
	if (f)
		fail_copy(&why, f);
	else if (result->ending != ENDING_OK)
		fail_set(&why, FAIL_ENGINE, "the probe ended as %s: %s", ending_name(result->ending),
			 result->detail ? result->detail : result->stderr_text);
	if (why.kind || probe_read(&report, result->stdout_text, &why) < 0) {
		checks_add(c, title, CHECK_FAIL, why.hint ? why.hint : FIX_SETUP, "%s", why.message);
		return;
	}
	for (size_t i = 0; i < report.n; i++) {
		const struct probe_act *act = &report.v[i];
		AUTO(freep) char *name = xasprintf("probe %s", act->group);
		if (in_full || !act->held)
			checks_add(c, name, act->held ? CHECK_OK : CHECK_FAIL, act->held ? NULL : FIX_PROBE, "%s: %s",
				   act->name, act->why);
	}
	checks_add(c, title, report.open ? CHECK_FAIL : CHECK_OK, report.open ? FIX_PROBE : NULL,
		   "%zu forbidden acts were tried in a session; %zu held", report.n, report.n - report.open);
}
