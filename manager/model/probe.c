#include "manager/model/probe.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"

/* Several times of what there is to try. */
#define ACTS_MAX 1000
#define SHOWN_MAX 10

void probe_release(struct probe_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].group);
		free(r->v[i].name);
		free(r->v[i].why);
	}
	free(r->v);
	*r = (struct probe_report){ 0 };
}

static int read_act(struct probe_report *r, bool held, char *rest)
{
	char *group = strsep(&rest, "\t"), *name = strsep(&rest, "\t"), *why = strsep(&rest, "\t");
	if (!why || rest || !*group || !*name || r->n == ACTS_MAX)
		return -1;
	r->v = xrealloc(r->v, (r->n + 1) * sizeof(*r->v));
	r->v[r->n++] =
		(struct probe_act){ .held = held, .group = xstrdup(group), .name = xstrdup(name), .why = xstrdup(why) };
	r->open += !held;
	return 0;
}

/* The last line counts what came before it. */
static bool is_complete(const struct probe_report *r, char *rest)
{
	uint64_t n, open;
	char *all = strsep(&rest, "\t");
	return all && rest && parse_u64(all, &n) == 0 && parse_u64(rest, &open) == 0 && n == r->n && open == r->open &&
	       n > 0;
}

int probe_read(struct probe_report *ret, const char *text, struct fail *f)
{
	AUTO(probe_release) struct probe_report r = { 0 };
	AUTO(freep) char *copy = xstrdup(text);
	bool complete = false, good = true;
	for (char *rest = copy, *line; good && !complete && (line = strsep(&rest, "\n"));) {
		char *verdict = strsep(&line, "\t");
		if (!line)
			good = !*verdict && !rest;
		else if (streq(verdict, "done"))
			complete = is_complete(&r, line);
		else
			good = (streq(verdict, "held") || streq(verdict, "OPEN")) &&
			       read_act(&r, *verdict == 'h', line) == 0;
	}
	if (!good || !complete)
		return fail_set(f, FAIL_ENGINE, "the probe of the sandbox did not get to its end");
	*ret = r;
	r = (struct probe_report){ 0 };
	return 0;
}

char *probe_open_acts(const struct probe_report *r)
{
	struct buf b = { 0 };
	size_t shown = 0;
	for (size_t i = 0; i < r->n; i++)
		if (!r->v[i].held && shown++ < SHOWN_MAX)
			buf_printf(&b, "%s%s: %s", shown > 1 ? "; " : "", r->v[i].group, r->v[i].name);
	if (shown > SHOWN_MAX)
		buf_printf(&b, "; and %zu more", shown - SHOWN_MAX);
	return buf_steal_str(&b);
}
