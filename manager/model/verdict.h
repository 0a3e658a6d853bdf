/* The result of verifying the log's chain of keyed hashes: plain data. */
#ifndef HUSK_MANAGER_MODEL_VERDICT_H
#define HUSK_MANAGER_MODEL_VERDICT_H

#include "base/defs.h"

enum log_fault {
	LOG_CHANGED,   /* a record was changed */
	LOG_REMOVED,   /* a record is missing */
	LOG_ADDED,     /* a record that Husk did not write */
	LOG_BROKEN,    /* a link of the chain does not follow from the one before it */
	LOG_HEAD,      /* the head of the chain is missing or was changed */
	LOG_TOMBSTONE, /* a tombstone of pruned records was changed */
	LOG_RESTARTED, /* a chain was removed and restarted */
	LOG_GAP,       /* a session's numbers have a gap: records were dropped, or lost with a killed server */
	LOG_SCHEMA,    /* the database has a trigger, rule, policy or view that is not Husk's and may drop records */
	N_LOG_FAULTS,
};
/* "changed", "removed", …: stable, as shown. */
const char *log_fault_name(enum log_fault fault);

struct log_finding {
	enum log_fault fault;
	char *record; /* "execution", "export", "receipt", "session"; "trigger" …; "" = the chain itself */
	char *item;   /* identifies the record */
};

struct log_verdict {
	uint64_t records;   /* unchanged records */
	uint64_t uncovered; /* records from before the store had a chain, which cannot be verified */
	uint64_t pruned;    /* removed by Husk, as a tombstone states */
	struct log_finding *v;
	size_t n;
	uint64_t more; /* number of further findings, which are not listed */
};

void verdict_add(struct log_verdict *v, enum log_fault fault, const char *record, const char *item);
static inline bool verdict_is_good(const struct log_verdict *v)
{
	return v->n == 0;
}
void verdict_release(struct log_verdict *v);

#endif
