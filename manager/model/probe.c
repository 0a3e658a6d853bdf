#include "manager/model/probe.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "kernels/protocol.h"

/* Several times the number of acts that husk-probe tries. */
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

static const char *const words[] = {
	[ACT_HELD] = PROBE_HELD, [ACT_OPEN] = PROBE_OPEN, [ACT_UNSURE] = PROBE_UNSURE, [ACT_NO_PEER] = PROBE_NO_PEER
};

static int read_act(struct probe_report *r, const char *word, char *rest)
{
	enum probe_verdict verdict = 0;
	char *group = strsep(&rest, "\t"), *name = strsep(&rest, "\t"), *why = strsep(&rest, "\t");
	while (verdict < N_PROBE_VERDICTS && !streq(words[verdict], word))
		verdict++;
	if (verdict == N_PROBE_VERDICTS || !why || rest || !*group || !*name || r->n == ACTS_MAX)
		return -1;
	r->v = xrealloc(r->v, (r->n + 1) * sizeof(*r->v));
	r->v[r->n++] = (struct probe_act){
		.verdict = verdict, .group = xstrdup(group), .name = xstrdup(name), .why = xstrdup(why)
	};
	r->counts[verdict]++;
	return 0;
}

/* The last line counts the lines before it. */
static bool is_complete(const struct probe_report *r, char *rest)
{
	uint64_t n, open, unsure;
	char *all = strsep(&rest, "\t"), *worked = strsep(&rest, "\t");
	return worked && rest && parse_u64(all, &n) == 0 && parse_u64(worked, &open) == 0 &&
	       parse_u64(rest, &unsure) == 0 && n == r->n && open == r->counts[ACT_OPEN] &&
	       unsure == r->counts[ACT_UNSURE] + r->counts[ACT_NO_PEER] && n > 0;
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
		else if (streq(verdict, PROBE_DONE))
			complete = is_complete(&r, line);
		else
			good = read_act(&r, verdict, line) == 0;
	}
	if (!good || !complete)
		return fail_set(f, FAIL_ENGINE, "the probe of the session did not finish");
	*ret = r;
	r = (struct probe_report){ 0 };
	return 0;
}

char *probe_name_acts(const struct probe_report *r, const char *group, enum probe_verdict verdict)
{
	struct buf b = { 0 };
	size_t shown = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct probe_act *act = &r->v[i];
		if (act->verdict != verdict || (group && !streq(act->group, group)) || shown++ >= SHOWN_MAX)
			continue;
		buf_printf(&b, "%s%s%s%s (%s)", shown > 1 ? "; " : "", group ? "" : act->group, group ? "" : ": ",
			   act->name, act->why);
	}
	if (shown > SHOWN_MAX)
		buf_printf(&b, "; and %zu more", shown - SHOWN_MAX);
	return buf_steal_str(&b);
}
