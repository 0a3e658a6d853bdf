/* manager/model/probe: a container's output is either accepted as a complete report or rejected. */
#include "manager/model/probe.h"

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

#define ACTS_MAX 1000
/* A message names ten acts, and gives the number of the others. */
#define OPEN_SHOWN 10

static void check_report(const struct probe_report *r, size_t n)
{
	size_t counts[N_PROBE_VERDICTS] = { 0 }, bytes = 0;
	CHECK(r->n > 0 && r->n <= ACTS_MAX);
	for (size_t i = 0; i < r->n; i++) {
		const struct probe_act *act = &r->v[i];
		CHECK(act->group && *act->group && act->name && *act->name && act->why);
		CHECK(!strpbrk(act->group, "\t\n") && !strpbrk(act->name, "\t\n") && !strpbrk(act->why, "\t\n"));
		bytes += strlen(act->group) + strlen(act->name) + strlen(act->why);
		CHECK(act->verdict < N_PROBE_VERDICTS);
		counts[act->verdict]++;
	}
	CHECK(bytes <= n);
	for (enum probe_verdict verdict = 0; verdict < N_PROBE_VERDICTS; verdict++) {
		AUTO(freep) char *acts = probe_name_acts(r, NULL, verdict),
				 *some = probe_name_acts(r, r->v[0].group, verdict);
		CHECK(counts[verdict] == r->counts[verdict]);
		CHECK(acts && some && (counts[verdict] > 0) == (*acts != '\0'));
		CHECK(counts[verdict] <= OPEN_SHOWN || strstr(acts, "; and "));
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(probe_release) struct probe_report r = { 0 };
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	if (probe_read(&r, text, &f) == 0)
		check_report(&r, n);
	else
		CHECK(f.kind == FAIL_ENGINE && f.message && !r.v && !r.n);
	return 0;
}
