/* Jobs, shared by the files of the store. Private to manager/store. */
#ifndef HUSK_MANAGER_STORE_STORE_PRIVATE_H
#define HUSK_MANAGER_STORE_STORE_PRIVATE_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/strv.h"
#include "manager/store/db.h"
#include "manager/store/key.h"
#include "manager/store/store.h"

/* The longest that a caller waits for the store, including the queue. */
#define STORE_DEADLINE_MS 10000

/* The first member of each operation's struct. */
struct store_job {
	struct list node;
	struct store *store; /* valid while the job is queued */
	struct timer *timer;
	uint64_t deadline_ms;
	/* Called in a thread. May use only the job and the database. Called again if the connection broke, so it
	 * first resets its results, and it must tolerate its own earlier writes. */
	int (*run)(struct store_job *job, struct db *db, struct fail *f);
	bool writes; /* run is called in an exclusive transaction */
	enum db_durability durability;
	/* Called on the loop, unless cancelled. */
	void (*finish)(struct store_job *job, const struct fail *f);
	/* Frees what the job owns other than strings and rows; may be NULL. */
	void (*release)(struct store_job *job);
	struct strv strings; /* arguments and results */
	void *rows;	     /* results */
	size_t n, size;	     /* number and size of rows */
	struct key *key;     /* for sealed values; borrowed */
	struct fail fail;
	atomic_bool dropped; /* overdue or cancelled */
	bool in_use;	     /* by a thread or its own callback: do not free */
	bool queued, retried;
};

/* size: bytes of the struct that embeds the job. */
void *job_new(struct store *s, size_t size, int (*run)(struct store_job *job, struct db *db, struct fail *f),
	      void (*finish)(struct store_job *job, const struct fail *f));
/* Queues the job and returns it. */
struct store_job *job_submit(struct store_job *job);
/* Likewise, and runs the job in an exclusive transaction. */
struct store_job *job_submit_write(struct store_job *job, enum db_durability durability);
/* Copies the text for the lifetime of the job; NULL stays NULL. */
const char *job_keep(struct store_job *job, const char *text);
/* A new row of job->size bytes at the end of job->rows, zeroed. */
void *job_row(struct store_job *job);
/* Forgets rows of an earlier attempt. */
void job_reset(struct store_job *job);
/* Runs a query whose rows are the results of the job: on_row gets the job as ctx and adds each row with job_row(). */
int job_select(struct store_job *job, struct db *db, struct db_query q, db_row_fn on_row, struct fail *f);
/* Calls body in an exclusive transaction, which is rolled back if the job was dropped. For a job that has work to do
 * before it blocks other writers; the others use job_submit_write(). */
int job_transaction(struct store_job *job, struct db *db, enum db_durability durability,
		    int (*body)(struct store_job *job, struct db *db, struct fail *f), struct fail *f);
/* Calls the callback of a job that only succeeds or fails; without a callback, logs the failure. */
void job_answer(store_done_fn fn, void *ctx, const char *what, const struct fail *f);

/* Columns of a row. */
static inline const char *column_text(struct store_job *job, const struct db_value *v)
{
	return v->kind == DB_TEXT ? job_keep(job, v->text) : NULL;
}

/* Reads the limits of a tenant; all are 0 if none were set. */
int tenant_limits_read(struct db *db, const char *tenant, struct tenant_limits *ret, struct fail *f);

/* For the store: the queue of records (store-executions.c). execution_log_free() drops the waiting records. */
struct execution_log;
struct execution_log *execution_log_new(struct store *s, struct loop *loop);
struct execution_log *execution_log_free(struct execution_log *log);
/* Starts to write the records that wait. */
void execution_log_flush(struct execution_log *log);
/* True if no records wait, or if they wait only because the store cannot be reached. */
bool execution_log_is_idle(const struct execution_log *log);
struct execution_log *store_log(struct store *s);

#endif
