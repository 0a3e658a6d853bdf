/* Checks from the report of husk-probe, which tries forbidden acts in a session: one check for each group of acts, or
 * one for each act. */
#include "manager/model/probe.h"
#include "base/alloc.h"
#include "manager/doctor/doctor-private.h"

#define FIX_OPEN "update the engine and the kernel that it runs on; `husk doctor` and SECURITY.md explain each act"
#define FIX_UNSURE                                                                                                     \
	"an unexpected error proves nothing: check what the engine, the kernel or a firewall does; "                   \
	"SESSION_PROBE=require rejects such sessions"

static const struct {
	enum check_status status;
	const char *fix, *word; /* word: prefix of the reason */
} kinds[] = {
	[ACT_HELD] = { CHECK_OK, NULL, "" },
	[ACT_OPEN] = { CHECK_FAIL, FIX_OPEN, "open: " },
	[ACT_UNSURE] = { CHECK_WARN, FIX_UNSURE, "cannot tell: " },
	[ACT_NO_PEER] = { CHECK_WARN, NULL, "not testable without another session: " },
};

static void add_acts(struct checks *c, const struct probe_report *report, bool all)
{
	for (size_t i = 0; i < report->n; i++) {
		const struct probe_act *act = &report->v[i];
		AUTO(freep) char *name = xasprintf("probe %s", act->group);
		if (all || act->verdict != ACT_HELD)
			checks_add(c, name, kinds[act->verdict].status, kinds[act->verdict].fix, "%s: %s%s", act->name,
				   kinds[act->verdict].word, act->why);
	}
}

/* Adds a check for each bad verdict in the group, the worst first, with the names of its acts. */
static void add_group(struct checks *c, const struct probe_report *report, const char *group, bool all)
{
	static const enum probe_verdict worst_first[] = { ACT_OPEN, ACT_UNSURE, ACT_NO_PEER };
	size_t counts[N_PROBE_VERDICTS] = { 0 }, n = 0;
	AUTO(freep) char *name = xasprintf("probe %s", group);
	for (size_t i = 0; i < report->n; i++)
		if (streq(report->v[i].group, group)) {
			counts[report->v[i].verdict]++;
			n++;
		}
	for (size_t i = 0; i < ARRAY_LEN(worst_first); i++) {
		enum probe_verdict verdict = worst_first[i];
		AUTO(freep) char *acts = probe_name_acts(report, group, verdict);
		if (counts[verdict])
			checks_add(c, name, kinds[verdict].status, kinds[verdict].fix, "%s%zu of %zu: %s",
				   kinds[verdict].word, counts[verdict], n, acts);
	}
	if (all && counts[ACT_HELD] == n && n == 1)
		checks_add(c, name, CHECK_OK, NULL, "its only act was blocked");
	else if (all && counts[ACT_HELD] == n)
		checks_add(c, name, CHECK_OK, NULL, "all %zu were blocked", n);
}

/* The acts of a group are not always adjacent. A group is shown at its first act. */
static void add_groups(struct checks *c, const struct probe_report *report, bool all)
{
	for (size_t i = 0; i < report->n; i++) {
		size_t first = 0;
		while (!streq(report->v[first].group, report->v[i].group))
			first++;
		if (first == i)
			add_group(c, report, report->v[i].group, all);
	}
}

void doctor_judge_probe(struct checks *c, const struct runtime *runtime, const struct probe_detail *detail,
			const struct run_result *result, const struct fail *f)
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
	if (detail->verbose)
		add_acts(c, &report, detail->all);
	else
		add_groups(c, &report, detail->all);
	size_t open = report.counts[ACT_OPEN], held = report.counts[ACT_HELD];
	enum probe_verdict worst = open ? ACT_OPEN : report.counts[ACT_UNSURE] ? ACT_UNSURE : ACT_HELD;
	if (!open && report.counts[ACT_NO_PEER])
		worst = worst == ACT_HELD ? ACT_NO_PEER : worst;
	checks_add(
		c, title, kinds[worst].status, kinds[worst].fix,
		"%zu forbidden acts were tried in a session: %zu were blocked, %zu worked, %zu have an unknown outcome",
		report.n, held, open, report.n - held - open);
}
