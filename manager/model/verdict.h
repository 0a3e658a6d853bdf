/* What a look at the log's chain of keyed hashes found: plain data. */
#ifndef HUSK_MANAGER_MODEL_VERDICT_H
#define HUSK_MANAGER_MODEL_VERDICT_H

#include "base/defs.h"

enum log_fault {
	LOG_CHANGED,   /* a record is not what was written */
	LOG_REMOVED,   /* a record that was written is gone */
	LOG_ADDED,     /* a record that Husk did not write */
	LOG_BROKEN,    /* a link of the chain does not follow from the one before it */
	LOG_HEAD,      /* where the chain ends is missing or not what was written */
	LOG_TOMBSTONE, /* what says that records were pruned is not what was written */
	LOG_RESTARTED, /* a chain was removed and begun anew */
	LOG_GAP,       /* numbers of a session that no record has: swallowed, or lost with a server that was killed */
	LOG_SCHEMA, /* the database has a trigger, rule, policy or view where Husk has none: it may swallow records */
	N_LOG_FAULTS,
};
/* "changed", "removed", …: stable, as shown. */
const char *log_fault_name(enum log_fault fault);

struct log_finding {
	enum log_fault fault;
	char *record; /* "execution", "export", "receipt", "session"; "trigger" …; "" = of the chain itself */
	char *item;   /* which one */
};

struct log_verdict {
	uint64_t records;   /* that are what was written */
	uint64_t uncovered; /* from before the store had a chain: nobody can tell */
	uint64_t pruned;    /* removed by Husk, which a tombstone says */
	struct log_finding *v;
	size_t n;
	uint64_t more; /* further findings, not listed */
};

void verdict_add(struct log_verdict *v, enum log_fault fault, const char *record, const char *item);
static inline bool verdict_is_good(const struct log_verdict *v)
{
	return v->n == 0;
}
void verdict_release(struct log_verdict *v);

#endif
