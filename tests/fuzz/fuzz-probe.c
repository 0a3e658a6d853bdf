/* manager/model/probe: what a container prints in the prober's place is a whole report, or none. */
#include "manager/model/probe.h"

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

#define ACTS_MAX 1000
/* Ten acts are named, and how many more there are. */
#define OPEN_SHOWN 10

static void check_report(const struct probe_report *r, size_t n)
{
	size_t open = 0, bytes = 0;
	CHECK(r->n > 0 && r->n <= ACTS_MAX);
	for (size_t i = 0; i < r->n; i++) {
		const struct probe_act *act = &r->v[i];
		CHECK(act->group && *act->group && act->name && *act->name && act->why);
		CHECK(!strpbrk(act->group, "\t\n") && !strpbrk(act->name, "\t\n") && !strpbrk(act->why, "\t\n"));
		bytes += strlen(act->group) + strlen(act->name) + strlen(act->why);
		open += !act->held;
	}
	CHECK(open == r->open && bytes <= n);
	AUTO(freep) char *acts = probe_open_acts(r);
	CHECK(acts && (open > 0) == (*acts != '\0'));
	CHECK(open <= OPEN_SHOWN || strstr(acts, "; and "));
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
