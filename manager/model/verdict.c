#include "manager/model/verdict.h"

#include "base/alloc.h"

/* After this many findings the log is clearly not trustworthy. */
#define FINDINGS_MAX 100

const char *log_fault_name(enum log_fault fault)
{
	static const char *const names[N_LOG_FAULTS] = {
		[LOG_CHANGED] = "changed",     [LOG_REMOVED] = "removed", [LOG_ADDED] = "added",
		[LOG_BROKEN] = "broken",       [LOG_HEAD] = "head",	  [LOG_TOMBSTONE] = "tombstone",
		[LOG_RESTARTED] = "restarted", [LOG_GAP] = "gap",	  [LOG_SCHEMA] = "schema",
	};
	return names[fault];
}

void verdict_add(struct log_verdict *v, enum log_fault fault, const char *record, const char *item)
{
	if (v->n == FINDINGS_MAX) {
		v->more++;
		return;
	}
	if (!v->v)
		v->v = xcalloc(FINDINGS_MAX, sizeof(*v->v));
	v->v[v->n++] = (struct log_finding){ fault, xstrdup(record), xstrdup(item) };
}

void verdict_release(struct log_verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->v[i].record);
		free(v->v[i].item);
	}
	free(v->v);
	*v = (struct log_verdict){ 0 };
}
