/* Counters of a server, for operators. They start at 0 with the server. A session is never a label, since labels must be
 * few. */
#ifndef HUSK_MANAGER_REGISTRY_METRICS_H
#define HUSK_MANAGER_REGISTRY_METRICS_H

#include "base/buf.h"
#include "manager/model/cause.h"
#include "manager/model/result.h"

#define METRICS_BUCKETS 14

struct histogram {
	uint64_t counts[METRICS_BUCKETS + 1]; /* the last is for all that is longer */
	uint64_t n, sum_ms;
};

struct run_count {
	const char *language, *ending; /* static */
	enum run_kind kind;
	uint64_t n;
};

enum create_how { CREATE_WARM, CREATE_COLD, CREATE_PACKAGES, CREATE_HOWS };

struct metrics {
	struct run_count *runs;
	size_t n_runs;
	struct histogram run_time, create_time[CREATE_HOWS];
	uint64_t ended[CAUSE_COUNT];	      /* sessions, by cause */
	uint64_t failed[FAIL_INTERNAL + 1];   /* operations, by kind */
	uint64_t imported, exported, printed; /* bytes */
	uint64_t connections[CAUSE_COUNT];    /* through gates, by cause; CAUSE_NONE = they worked */
	uint64_t sent, received;	      /* bytes through gates */
};

void metrics_release(struct metrics *m);
/* language and ending are static texts. */
void metrics_add_run(struct metrics *m, const char *language, enum run_kind kind, const char *ending, uint64_t ms);
void metrics_add_create(struct metrics *m, enum create_how how, uint64_t ms);

/* --- Prometheus text --- */
void metrics_head(struct buf *out, const char *name, const char *type, const char *help);
void metrics_write(const struct metrics *m, uint64_t store_failures, struct buf *out);

#endif
