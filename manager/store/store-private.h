/* What the files of the store share: jobs. Private to manager/store. */
#ifndef HUSK_MANAGER_STORE_STORE_PRIVATE_H
#define HUSK_MANAGER_STORE_STORE_PRIVATE_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/strv.h"
#include "manager/store/db.h"
#include "manager/store/key.h"
#include "manager/store/store.h"

/* The longest that anybody waits for an answer of the store, queue included. */
#define STORE_DEADLINE_MS 10000

/* Embedded as the first member of what each operation needs. */
struct store_job {
	struct list node;
	struct store *store; /* valid while the job is queued */
	struct timer *timer;
	uint64_t deadline_ms;
	/* In a thread: may use the job and the database, nothing else. Runs once more if the connection broke, so it
	 * begins by forgetting what it found and finds its own traces harmless. */
	int (*run)(struct store_job *job, struct db *db, struct fail *f);
	/* On the loop, unless cancelled. */
	void (*finish)(struct store_job *job, const struct fail *f);
	/* Frees what the job owns beside strings and rows; may be NULL. */
	void (*release)(struct store_job *job);
	struct strv strings; /* arguments and results */
	void *rows;	     /* results */
	size_t n, size;	     /* how many, and of what size */
	struct key *key;     /* of the sealed settings; borrowed */
	struct fail fail;
	atomic_bool dropped; /* overdue or cancelled: nobody waits any more */
	bool in_use;	     /* by a thread, or by its own callback: not to be freed */
	bool queued, retried;
};

/* size: of the struct that embeds it. */
void *job_new(struct store *s, size_t size, int (*run)(struct store_job *job, struct db *db, struct fail *f),
	      void (*finish)(struct store_job *job, const struct fail *f));
/* Queues it. Returns it. */
struct store_job *job_submit(struct store_job *job);
/* A copy that lives as long as the job; NULL stays NULL. */
const char *job_keep(struct store_job *job, const char *text);
/* A new row of job->size bytes at the end of job->rows, zeroed. */
void *job_row(struct store_job *job);
/* Forgets rows of an earlier attempt. */
void job_reset(struct store_job *job);
/* body in an exclusive transaction that is rolled back if nobody waits for it any more. */
int job_transaction(struct store_job *job, struct db *db, enum db_durability durability,
		    int (*body)(struct db *db, void *job, struct fail *f), struct fail *f);
/* Answers a job whose callback only hears of success and failure; logs for one without. */
void job_answer(store_done_fn fn, void *ctx, const char *what, const struct fail *f);

/* Columns of a row. */
static inline const char *column_text(struct store_job *job, const struct db_value *v)
{
	return v->kind == DB_TEXT ? job_keep(job, v->text) : NULL;
}

static inline uint64_t column_int(const struct db_value *v)
{
	return v->kind == DB_INT && v->number > 0 ? (uint64_t)v->number : 0;
}

/* Called by the store: what waits is offered to it again, what it holds is dropped (store-executions.c). */
struct execution_log;
struct execution_log *execution_log_new(struct store *s, struct loop *loop);
struct execution_log *execution_log_free(struct execution_log *log);
/* Begins to write what has waited for more. */
void execution_log_flush(struct execution_log *log);
/* Nothing waits, or only because the store cannot be reached. */
bool execution_log_is_idle(const struct execution_log *log);
struct execution_log *store_log(struct store *s);

#endif
