/* What is remembered: threads, sessions, executions, cells, tasks, exports, receipts, dependency sets. SQLite in the state folder by
 * default, Postgres when DATABASE_URL or POSTGRES_* is set: one schema, one set of statements, two adapters (db.h).
 *
 * Nothing here blocks the loop: every operation is a job that runs off it, one after the other on one connection, and ends
 * in one callback on the loop within its deadline. A store that is down fails each job with FAIL_STORE and a sentence that
 * says what to do; the connection is made again with back-off. The first job opens the store: store_new() touches nothing.
 *
 * Times are wall-clock milliseconds since 1970 (`now_ms` of the calling server; leases are short and servers that share a
 * store are expected to have clocks within a second of each other). */
#ifndef HUSK_MANAGER_STORE_STORE_H
#define HUSK_MANAGER_STORE_STORE_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/model/config.h"
#include "manager/model/state.h"
#include "manager/model/verdict.h"

struct store;
struct store_job;

/* The config must outlive the store. */
struct store *store_new(struct loop *loop, const struct config *config);
/* Drops what is queued without an answer; a job that is running is not waited for. Accepts NULL, returns NULL. */
struct store *store_free(struct store *s);

/* Before the end of a process: calls fn once, on the loop, when everything was written, when the store is known to be away, or after
 * ms at the latest. store_free() forgets it. */
void store_settle(struct store *s, uint64_t ms, void (*fn)(void *ctx), void *ctx);

/* A random name that a store gets when it is made and keeps: containers carry it, so that servers which share a store know
 * whose they are. NULL until a job has succeeded; then valid as long as the store. */
const char *store_id(const struct store *s);

/* From the return on, the callback is not called. A job that had begun may still take effect. NULL is fine. */
void store_cancel(struct store_job *job);
uint64_t store_now_ms(void);
/* False for an embedded store that nobody has made yet: there is nothing to find. */
bool store_is_there(const struct config *config);
/* For people: which database, and where, without secrets. The caller owns it. */
char *store_describe(const struct config *config);

/* The callback of jobs that only succeed or fail. f is NULL on success. Like all callbacks here: exactly once unless
 * cancelled, never from inside the call that made the job, which is gone afterwards; arguments are valid during the
 * call. A NULL callback is allowed where the caller does not care: the failure is logged. */
typedef void (*store_done_fn)(void *ctx, const struct fail *f);

/* Does nothing but open the store: afterwards store_id() is known. */
struct store_job *store_identify(struct store *s, store_done_fn fn, void *ctx);

/* --- sessions ---------------------------------------------------------------------------------------------------- */
/* A row holds a slot while its state is starting or running and its lease is not over. One that is warm, a container that is nobody's yet,
 * holds one too, until somebody needs it; its thread is "". */
enum row_seal {
	SEAL_NONE, /* written by a server that does not seal rows */
	SEAL_GOOD,
	SEAL_BROKEN, /* changed by somebody without the key, or written under another one */
};
struct session_record {
	const char *id;
	const char *thread;
	const char *runtime;
	const char *container; /* NULL if the seal does not match */
	const char *mark;      /* the container's label; NULL = it has none, or the seal does not match */
	const char *image;
	const char *owner;	/* the server's id */
	const char *owner_host; /* host name, boot id and pid: for people, and for telling a dead owner */
	uint64_t owner_pid;
	uint64_t epoch; /* raised by each take-over; starts at 1 */
	enum row_state state;
	const char *cause;	      /* of the end; NULL before */
	const char *limits;	      /* JSON: memory, cpus, network … as created; may be NULL */
	uint64_t lease_until;	      /* ms */
	uint64_t created, used, ends; /* ms; ends = created + the hard lifetime */
	uint64_t ended;		      /* ms; 0 = not yet */
	bool busy;		      /* something ran at the last renewal: not idle */
	const char *transport;	      /* how its owner reaches it, for people; NULL = not known yet */
	/* Whether a husk with the store's key wrote the columns that never change: id, thread, runtime, container, mark, image, limits,
	 * created and ends. Set when a row is read. */
	enum row_seal seal;
	const char *name;   /* what its conversation calls it; NULL = nothing */
	const char *sealed; /* as it is stored: for the store alone */
};

struct session_list {
	const struct session_record *v;
	size_t n;
};

struct claim_limits {
	uint64_t sessions; /* of all threads */
	uint64_t sessions_per_thread;
	uint64_t threads; /* that have a session */
	unsigned users;	  /* so many numbers that containers' names give (token_number); 0 = sessions may share one */
};

/* Checks the limits and the name and writes the row in one transaction: however many servers ask at once, the limits hold. A row that
 * is warm is written only where a slot is left over, of whatever thread.
 * Refused: FAIL_LIMIT with the reference's words, and the list has the sessions of this thread that hold slots; or FAIL_BUSY with
 * CAUSE_USER_TAKEN, since another container has the number of this one's name: another name will do; or FAIL_INVALID, since a
 * session of this thread that holds a slot has the name.
 * Granted: it has those that were warm and had to make way; their rows are gone, their containers are the caller's to remove. */
typedef void (*store_claim_fn)(void *ctx, const struct session_list *list, const struct fail *f);
/* warm: the row of the warm container that this session gets, which goes in the same transaction; FAIL_NOT_FOUND if it is gone
 * already, and the container with it. NULL = none. */
struct store_job *store_session_claim(struct store *s, const struct session_record *row, const char *warm,
				      const struct claim_limits *limits, store_claim_fn fn, void *ctx);
/* Removes a row that nobody was told of, warm or not. FAIL_NOT_FOUND if this owner has none. */
struct store_job *store_session_drop(struct store *s, const char *id, const char *owner, store_done_fn fn, void *ctx);

/* State, lease, use: of one session, if this owner still holds it with this epoch. */
struct session_update {
	const char *id;
	const char *owner;
	uint64_t epoch;
	enum row_state state;
	const char *cause; /* with ROW_ENDED */
	uint64_t lease_until;
	uint64_t used;
	bool busy;
	const char *transport; /* NULL = as it was */
};
/* FAIL_FOREIGN if somebody else has taken the session over. */
struct store_job *store_session_update(struct store *s, const struct session_update *u, store_done_fn fn, void *ctx);

/* By id, whoever owns it: `found` NULL if there is no such row. */
typedef void (*store_session_fn)(void *ctx, const struct session_record *found, const struct fail *f);
struct store_job *store_session_get(struct store *s, const char *id, store_session_fn fn, void *ctx);

/* thread NULL = of all threads. `all` false = only those that hold a slot. Newest first, 1000 at most. */
typedef void (*store_sessions_fn)(void *ctx, const struct session_list *list, const struct fail *f);
struct store_job *store_sessions(struct store *s, const char *thread, bool all, store_sessions_fn fn, void *ctx);

/* Compare and swap: if the row still has this owner and epoch and has not ended, it gets the new owner, epoch + 1 and the
 * lease; `found` is the row as it is then, NULL if somebody was faster. */
struct take_over {
	const char *id;
	const char *old_owner;
	uint64_t old_epoch;
	const char *new_owner, *new_owner_host;
	uint64_t new_owner_pid;
	uint64_t lease_until;
};
struct store_job *store_session_take_over(struct store *s, const struct take_over *t, store_session_fn fn, void *ctx);

/* --- executions: an event log a session -------------------------------------------------------------------------- */
#define TOOL_UNKNOWN "unknown"
struct execution_record {
	const char *session;
	uint64_t seq;	  /* the call number, rising within the session */
	const char *tool; /* execute_code, execute_terminal, import_files, export_files; create_session has number 0 */
	uint64_t started, ended; /* ms; ended 0 = not yet known */
	const char *ending;	 /* ok, error, timeout …; NULL = not yet known */
	uint64_t in_bytes, out_bytes;
	const char *
		env; /* names of the variables that it was given, with a blank between them; NULL = none. Never values */
	bool up_to; /* all numbers up to this one that follow the last record: a former server was killed before it recorded them */
	bool at_once; /* nobody else knows of it: not kept back for others */
};

/* Inserts, or completes the row of the same session and seq. Fire and forget: a bounded queue, the oldest dropped and counted
 * in the log when the store is away for long. Records are gathered for some milliseconds. */
void store_execution_put(struct store *s, const struct execution_record *e);

struct execution_list {
	const struct execution_record *v;
	size_t n;
};
typedef void (*store_executions_fn)(void *ctx, const struct execution_list *list, const struct fail *f);
/* In order of seq, the last `limit` of them. */
struct store_job *store_executions(struct store *s, const char *session, uint64_t limit, store_executions_fn fn,
				   void *ctx);

/* --- cells: what was run, and what it left; empty unless the settings want it kept (HISTORY_KEEPS_CODE) ------------ */
/* Kept sealed, and gone with the executions of its session. */
struct cell_piece {
	const char *session;
	uint64_t seq;
	bool output;	     /* false: the text that was run */
	const char *content; /* any text */
	uint64_t at;	     /* how much the run had written by then */
	/* Instead of a content that takes time to make: a thread of the store calls this once, before it is written. NULL adds nothing.
	 * `release` frees ctx in any case. */
	char *(*make)(void *ctx);
	void (*release)(void *ctx);
	void *ctx;
};
/* Adds it behind what there is of this run, unless the same was added at the same place: a server that was killed may have told it
 * before. Fire and forget. */
void store_cell_put(struct store *s, const struct cell_piece *piece);
struct cell_list {
	const struct cell_piece *v;
	size_t n;
	bool cut; /* there is more than is read at once */
};
typedef void (*store_cells_fn)(void *ctx, const struct cell_list *list, const struct fail *f);
/* In order of seq, and of a run as they were added. */
struct store_job *store_cells(struct store *s, const char *session, store_cells_fn fn, void *ctx);

/* --- tasks: runs whose caller was given a handle ------------------------------------------------------------------ */
struct task_record {
	const char *id; /* random: the handle */
	const char *thread;
	const char *session;
	uint64_t seq; /* the run */
	const char *tool;
	uint64_t timeout; /* seconds */
	enum task_state state;
	uint64_t started, created, changed; /* ms */
	uint64_t expires;		    /* ms; 0 = never */
	const char *result;		    /* any text, kept sealed; NULL until it has ended, and in a list */
};
struct task_list {
	const struct task_record *v;
	size_t n;
};
/* Synced to disk when the callback says success. */
struct store_job *store_task_add(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx);
/* State, time and result, unless its end is recorded already; fn may be NULL. Synced as above. */
struct store_job *store_task_change(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx);
/* Fire and forget. */
void store_task_remove(struct store *s, const char *id);
/* NULL if this thread has none of that id; also one that has expired. */
typedef void (*store_task_fn)(void *ctx, const struct task_record *found, const struct fail *f);
struct store_job *store_task_get(struct store *s, const char *thread, const char *id, store_task_fn fn, void *ctx);
/* Of a session, whatever their state; the newest 1000. */
typedef void (*store_tasks_fn)(void *ctx, const struct task_list *list, const struct fail *f);
struct store_job *store_tasks(struct store *s, const char *session, store_tasks_fn fn, void *ctx);

/* --- exports ----------------------------------------------------------------------------------------------------- */
struct export_record {
	const char *id; /* random, as in husk://exports/ID/NAME */
	const char *thread;
	const char *session;
	const char *
		path; /* absolute, in the sandbox; bytes, not always UTF-8: stored percent-encoded where they are not */
	const char *name; /* last component, for people */
	bool directory;	  /* the content is a tar of it */
	uint64_t size;	  /* of the file, or the sum of the files */
	uint64_t stored;  /* bytes in the content-addressed folder */
	const char *hash; /* lower-case hex, of what is stored */
	const char *file; /* its name in the folder of that hash; NULL = from before it had one */
	const char *mime;
	uint64_t mode, mtime_ms;
	uint64_t created;
};

struct export_list {
	const struct export_record *v;
	size_t n;
};

/* What is kept may take this much, each content (hash and file) counted once: of the conversation, and of all. */
struct export_limits {
	uint64_t conversation, total;
	uint64_t count; /* of the conversation's exports; 0 = no limit */
};
/* Synced to disk when the callback says success: an acknowledged export is never lost. `content` is where the export's content is, and
 * must still be there. With limits (NULL = none), new content beyond one of them is refused with FAIL_LIMIT and removed, unless
 * another export has it: both within the transaction that counts, so that limits hold however many servers export at once. */
struct store_job *store_export_add(struct store *s, const struct export_record *e, const char *content,
				   const struct export_limits *limits, store_done_fn fn, void *ctx);
/* Removes the content of an export, unless another one has the same, and the export from all lists; its record stays in the log,
 * without a hash and with nothing stored. */
struct store_job *store_export_delete(struct store *s, const struct export_record *e, const char *content,
				      store_done_fn fn, void *ctx);

/* The newest of this thread, this session, and exactly this path; or of the path's closest exported parent directory, in
 * which case the record's path is a proper prefix. NULL if there is none. */
typedef void (*store_export_fn)(void *ctx, const struct export_record *found, const struct fail *f);
struct store_job *store_export_find(struct store *s, const char *thread, const char *session, const char *path,
				    store_export_fn fn, void *ctx);
/* thread NULL = of any. */
struct store_job *store_export_get(struct store *s, const char *thread, const char *id, store_export_fn fn, void *ctx);

/* Newest first; `before` is a page mark: created and id of the last record of the page before (NULL id = from the start).
 * thread NULL = all. */
typedef void (*store_exports_fn)(void *ctx, const struct export_list *list, const struct fail *f);
struct store_job *store_exports(struct store *s, const char *thread, uint64_t before_created, const char *before_id,
				uint64_t limit, store_exports_fn fn, void *ctx);

/* --- receipts: what a probe of the sandbox has shown -------------------------------------------------------------- */
/* For one image, on one version of an engine, since one boot of its machine. */
struct receipt_record {
	const char *image, *engine, *boot;
	const char *result; /* any text */
	uint64_t created;   /* ms */
};
/* Replaces an earlier one for the same three. Synced to disk when the callback says success. */
struct store_job *store_receipt_put(struct store *s, const struct receipt_record *r, store_done_fn fn, void *ctx);
/* NULL if there is none, or if it is not what a husk with this key has written. */
typedef void (*store_receipt_fn)(void *ctx, const struct receipt_record *found, const struct fail *f);
struct store_job *store_receipt_get(struct store *s, const char *image, const char *engine, const char *boot,
				    store_receipt_fn fn, void *ctx);

/* --- the chain of what was recorded (chain.h) --------------------------------------------------------------------- */
/* Names of all chains, by whatever is left of them: sessions, and "" for the store itself, which comes first. */
typedef void (*store_names_fn)(void *ctx, char *const *names, size_t n, const struct fail *f);
struct store_job *store_chains(struct store *s, store_names_fn fn, void *ctx);
/* Compares the executions and exports of a session ("" = the receipts, and the list of sessions) with their chain. */
typedef void (*store_verdict_fn)(void *ctx, const struct log_verdict *verdict, const struct fail *f);
struct store_job *store_verify(struct store *s, const char *session, store_verdict_fn fn, void *ctx);
/* Removes the executions of sessions that ended before then, and leaves a tombstone in the chain of each; a chain in which something
 * is wrong is left alone. Some sessions at a time: `n` records were removed, 0 = there are no more. */
typedef void (*store_count_fn)(void *ctx, uint64_t n, const struct fail *f);
struct store_job *store_prune(struct store *s, uint64_t ended_before, store_count_fn fn, void *ctx);

/* --- dependency sets --------------------------------------------------------------------------------------------- */
struct set_record {
	const char *key; /* hash of runtime image and dependency set */
	const char *image;
	const char *runtime;
	const char *wanted;   /* JSON: name -> version as asked */
	const char *versions; /* JSON: name -> version as installed; NULL while it is being built */
	bool unpinned;
	uint64_t size;		/* bytes on top of the runtime image */
	uint64_t built, used;	/* ms */
	const char *builder;	/* owner that builds it now; NULL = built */
	uint64_t builder_until; /* ms: the builder's own lease on the build */
};

struct set_list {
	const struct set_record *v;
	size_t n;
};

/* The row as it is after the call. If there was none, or its builder's lease was over, or it was built before `stale_before`
 * and is unpinned, the caller's row was written and `yours` is true: build it, then store_set_built(). */
typedef void (*store_set_fn)(void *ctx, const struct set_record *found, bool yours, const struct fail *f);
struct store_job *store_set_claim(struct store *s, const struct set_record *row, uint64_t stale_before, store_set_fn fn,
				  void *ctx);
/* The builder renews its lease while it builds (versions NULL), or says what came out. FAIL_FOREIGN if somebody else builds it now. */
struct store_job *store_set_built(struct store *s, const struct set_record *row, store_done_fn fn, void *ctx);
/* A set that was used now. */
struct store_job *store_set_used(struct store *s, const char *key, store_done_fn fn, void *ctx);
struct store_job *store_set_remove(struct store *s, const char *key, store_done_fn fn, void *ctx);
typedef void (*store_sets_fn)(void *ctx, const struct set_list *list, const struct fail *f);
/* Least recently used first. */
struct store_job *store_sets(struct store *s, store_sets_fn fn, void *ctx);

#endif
