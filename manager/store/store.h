/* Persistent state: conversations, sessions, executions, cells, tasks, exports, receipts, dependency sets. SQLite in
 * the state folder by default, Postgres if DATABASE_URL or POSTGRES_* is set: one schema, one set of statements, two
 * adapters (db.h).
 *
 * Nothing here blocks the loop. Every operation is a job that runs off the loop, one at a time on one connection, and
 * ends in one callback on the loop within its deadline. If the store is down, each job fails with FAIL_STORE and a
 * sentence that says what to do, and reconnecting backs off. store_new() touches nothing; the first job opens the
 * store.
 *
 * Times are wall-clock milliseconds since 1970 (`now_ms` of the calling server). Leases are short, so the clocks
 * of servers that share a store must be within a second of each other. */
#ifndef HUSK_MANAGER_STORE_STORE_H
#define HUSK_MANAGER_STORE_STORE_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/model/config.h"
#include "manager/model/secret.h"
#include "manager/model/state.h"
#include "manager/model/tenant.h"
#include "manager/model/verdict.h"

struct store;
struct store_job;

/* config must outlive the store. */
struct store *store_new(struct loop *loop, const struct config *config);
/* Drops queued jobs without an answer and does not wait for a running job. Accepts NULL, returns NULL. */
struct store *store_free(struct store *s);

/* For the end of a process: calls fn once, on the loop, when everything is written, when the store is known to be
 * unreachable, or after `ms` milliseconds. store_free() cancels the call. */
void store_settle(struct store *s, uint64_t ms, void (*fn)(void *ctx), void *ctx);

/* A random name that a store gets at its creation. Containers carry it, so servers that share a store recognize
 * their containers. NULL until a job has succeeded; then valid as long as the store. */
const char *store_id(const struct store *s);
/* Number of jobs so far that failed because of the store. */
uint64_t store_failures(const struct store *s);

/* The callback is not called after this returns. A running job may still take effect. Accepts NULL. */
void store_cancel(struct store_job *job);
uint64_t store_now_ms(void);
/* False for an embedded store that does not exist yet, so there is nothing to read. */
bool store_is_there(const struct config *config);
/* For people: the database and its location, without secrets. The caller owns it. */
char *store_describe(const struct config *config);

/* The callback of jobs that only succeed or fail. f is NULL on success. All callbacks here are called exactly once
 * unless cancelled, and never from inside the function that made the job. The job is freed afterwards, and the
 * arguments are valid during the callback. A NULL callback is allowed: the failure is then logged. */
typedef void (*store_done_fn)(void *ctx, const struct fail *f);

/* Only opens the store; afterwards store_id() is known. */
struct store_job *store_identify(struct store *s, store_done_fn fn, void *ctx);

/* --- sessions ---------------------------------------------------------------------------------------------------- */
/* A row holds a slot while its state is starting or running and its lease is valid. A warm row is a container
 * without a session. Its thread is "". It takes up a free slot until a session needs that slot. */
enum row_seal {
	SEAL_NONE, /* written by a server that does not seal rows */
	SEAL_GOOD,
	SEAL_BROKEN, /* changed without the key, or written with another key */
};
/* The engine of rows that name none: servers that knew only Docker wrote them. */
#define STORE_DEFAULT_ENGINE "docker"

struct session_record {
	const char *id;
	const char *thread;
	const char *runtime;
	const char *container; /* NULL if the seal does not match */
	const char *mark;      /* the container's label; NULL = no label, or the seal does not match */
	const char *image;
	const char *owner;	/* the server's id */
	const char *owner_host; /* host name, boot id and pid: for people, and to detect a dead owner */
	uint64_t owner_pid;
	uint64_t epoch; /* incremented by each take-over; starts at 1 */
	enum row_state state;
	const char *cause;	      /* why it ended; NULL before */
	const char *limits;	      /* JSON: memory, cpus, network … as created; may be NULL */
	uint64_t lease_until;	      /* ms */
	uint64_t created, used, ends; /* ms; ends = created + the hard lifetime */
	uint64_t ended;		      /* ms; 0 = not yet */
	bool busy;		      /* a run was active at the last renewal: not idle */
	const char *transport;	      /* how its owner reaches it, for people; NULL = unknown */
	/* Whether the columns that never change were written with the store's key: id, thread, runtime, container,
	 * mark, image, limits, created, ends and engine. Set when a row is read. */
	enum row_seal seal;
	const char *name;   /* its name in the conversation; NULL = none */
	const char *labels; /* JSON object of texts; NULL = none */
	uint64_t memory;    /* its limit in bytes, for the limits of tenants; 0 = unknown */
	const char *engine; /* the engine of its container; never NULL in a row that was read */
	const char *sealed; /* as stored; private to the store */
};

struct session_list {
	const struct session_record *v;
	size_t n;
};

struct claim_limits {
	uint64_t sessions; /* in all conversations */
	uint64_t sessions_per_thread;
	uint64_t threads; /* conversations that have a session */
	unsigned users;	  /* container names map to this many user numbers (token_number); 0 = sessions may share one */
};

/* Checks the limits and the name and writes the row in one transaction, so the limits hold with any number of
 * servers. A warm row is written only if a slot is free; limits per conversation do not apply to it.
 *
 * Refused: FAIL_LIMIT with the reference's words, and the list has this conversation's sessions that hold slots.
 * FAIL_BUSY with CAUSE_USER_TAKEN: another container's name gives the same number, so choose another name.
 * FAIL_INVALID: another session of this conversation has the name and holds a slot.
 *
 * Granted: the list has the warm rows that were evicted. The caller removes their containers. */
typedef void (*store_claim_fn)(void *ctx, const struct session_list *list, const struct fail *f);
/* warm: the row of the warm container that this session gets; it is removed in the same transaction.
 * FAIL_NOT_FOUND if the row and its container are gone. NULL = none. */
struct store_job *store_session_claim(struct store *s, const struct session_record *row, const char *warm,
				      const struct claim_limits *limits, store_claim_fn fn, void *ctx);
/* Removes a row, warm or not, that was never reported to a client. FAIL_NOT_FOUND if this owner has no such row. */
struct store_job *store_session_drop(struct store *s, const char *id, const char *owner, store_done_fn fn, void *ctx);

/* Updates state, lease and use of one session, if this owner still holds it with this epoch. */
struct session_update {
	const char *id;
	const char *owner;
	uint64_t epoch;
	enum row_state state;
	const char *cause; /* with ROW_ENDED */
	uint64_t lease_until;
	uint64_t used;
	bool busy;
	const char *transport; /* NULL = unchanged */
	const char *labels;    /* NULL = unchanged */
};
/* FAIL_FOREIGN if another server has taken the session over. */
struct store_job *store_session_update(struct store *s, const struct session_update *u, store_done_fn fn, void *ctx);

/* Replaces the limits of a session of this owner and epoch, and seals its row again. FAIL_FOREIGN if another server has
 * taken it over; FAIL_STORE if the row has no valid seal. */
struct store_job *store_session_set_limits(struct store *s, const struct session_update *u, const char *limits,
					   store_done_fn fn, void *ctx);

/* By id, for any owner: `found` is NULL if there is no such row. */
typedef void (*store_session_fn)(void *ctx, const struct session_record *found, const struct fail *f);
struct store_job *store_session_get(struct store *s, const char *id, store_session_fn fn, void *ctx);

/* thread NULL = all conversations. `all` false = only sessions that hold a slot. Newest first, 1000 at most. */
typedef void (*store_sessions_fn)(void *ctx, const struct session_list *list, const struct fail *f);
struct store_job *store_sessions(struct store *s, const char *thread, bool all, store_sessions_fn fn, void *ctx);

/* Compare and swap: if the row still has this owner and epoch and has not ended, it gets the new owner, epoch + 1
 * and the lease. `found` is then the new row; NULL if another server was faster. */
struct take_over {
	const char *id;
	const char *old_owner;
	uint64_t old_epoch;
	const char *new_owner, *new_owner_host;
	uint64_t new_owner_pid;
	uint64_t lease_until;
};
struct store_job *store_session_take_over(struct store *s, const struct take_over *t, store_session_fn fn, void *ctx);

/* --- executions: one event log per session ----------------------------------------------------------------------- */
#define TOOL_UNKNOWN "unknown"
struct execution_record {
	const char *session;
	uint64_t seq;	  /* the run's number, increasing within the session */
	const char *tool; /* execute_code, execute_terminal, import_files, export_files; create_session has number 0 */
	uint64_t started, ended; /* ms; ended 0 = not known yet */
	const char *ending;	 /* ok, error, timeout …; NULL = not known yet */
	uint64_t in_bytes, out_bytes;
	const char *env; /* names of the run's environment variables, separated by spaces, never values; NULL = none */
	bool up_to;	 /* also record the numbers before it that are missing because a server was killed */
	bool at_once;	 /* write it now, without waiting for other records */
};

/* Inserts a row, or completes the row of the same session and seq. Fire and forget: the queue is bounded, and if the
 * store is down for long the oldest records are dropped and counted in the log. Records are gathered for some
 * milliseconds before they are written. */
void store_execution_put(struct store *s, const struct execution_record *e);

struct execution_list {
	const struct execution_record *v;
	size_t n;
};
typedef void (*store_executions_fn)(void *ctx, const struct execution_list *list, const struct fail *f);
/* The last `limit` executions of the session with a lower seq than `before` (0 = all), in order of seq. */
struct store_job *store_executions(struct store *s, const char *session, uint64_t before, uint64_t limit,
				   store_executions_fn fn, void *ctx);

/* --- cells: code and output of runs; empty unless HISTORY_KEEPS_CODE is set ---------------------------------------- */
/* Pieces are stored sealed, and removed with the executions of their session. */
struct cell_piece {
	const char *session;
	uint64_t seq;
	bool output;	     /* false: the code or command */
	const char *content; /* any text */
	uint64_t at;	     /* bytes of output that the run had written so far */
	/* For content that takes time to build: a thread of the store calls `make` once before writing. If it
	 * returns NULL, nothing is written. `release` frees ctx in any case. */
	char *(*make)(void *ctx);
	void (*release)(void *ctx);
	void *ctx;
	/* Called once, from the loop, when the piece is stored or cannot be stored; not called if the store is freed
	 * before. NULL = fire and forget. */
	void (*on_stored)(void *ctx, const char *session, uint64_t seq, const struct fail *f);
	void *stored_ctx;
};
/* Appends a piece to its run, unless a killed server already added the same piece at the same place. */
void store_cell_put(struct store *s, const struct cell_piece *piece);
struct cell_list {
	const struct cell_piece *v;
	size_t n;
	bool cut; /* there are more pieces than one answer holds */
};
typedef void (*store_cells_fn)(void *ctx, const struct cell_list *list, const struct fail *f);
/* The pieces of one run, or of all runs if seq is 0. Ordered by seq, and within a run as they were added. */
struct store_job *store_cells(struct store *s, const char *session, uint64_t seq, store_cells_fn fn, void *ctx);

/* --- tasks: runs whose caller was given a handle ------------------------------------------------------------------ */
struct task_record {
	const char *id; /* random handle */
	const char *thread;
	const char *session;
	uint64_t seq; /* the run */
	const char *tool;
	const char *face; /* the face that words its result; NULL = the task of an older server */
	uint64_t timeout; /* seconds */
	enum task_state state;
	uint64_t started, created, changed; /* ms */
	uint64_t expires;		    /* ms; 0 = never */
	const char *result;		    /* any text, sealed; NULL until the task has ended, and in lists */
};
struct task_list {
	const struct task_record *v;
	size_t n;
};
/* On disk when the callback reports success. */
struct store_job *store_task_add(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx);
/* Records state, time and result, unless the task's end is already recorded; fn may be NULL. On disk when the
 * callback reports success. */
struct store_job *store_task_change(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx);
/* Fire and forget. */
void store_task_remove(struct store *s, const char *id);
/* `found` is NULL if this conversation has no such task. An expired task is still found for a day. */
typedef void (*store_task_fn)(void *ctx, const struct task_record *found, const struct fail *f);
struct store_job *store_task_get(struct store *s, const char *thread, const char *id, store_task_fn fn, void *ctx);
/* All tasks of a session in any state; the newest 1000. */
typedef void (*store_tasks_fn)(void *ctx, const struct task_list *list, const struct fail *f);
struct store_job *store_tasks(struct store *s, const char *session, store_tasks_fn fn, void *ctx);

/* --- exports ----------------------------------------------------------------------------------------------------- */
struct export_record {
	const char *id; /* random, as in husk://exports/ID/NAME */
	const char *thread;
	const char *session;
	const char *path; /* absolute, in the session; bytes that are not UTF-8 are stored percent-encoded */
	const char *name; /* last component, for people */
	bool directory;	  /* the content is a tar archive */
	uint64_t size;	  /* size of the file, or the sum of all files */
	uint64_t stored;  /* bytes in the content-addressed folder */
	const char *hash; /* lower-case hex, of the stored bytes */
	const char *file; /* its file name in the folder of that hash; NULL = an older export */
	const char *mime;
	uint64_t mode, mtime_ms;
	uint64_t created;
};

struct export_list {
	const struct export_record *v;
	size_t n;
};

/* Limits for stored exports: bytes of the conversation, and of all conversations. Each content (hash and file)
 * counts once. */
struct export_limits {
	uint64_t conversation, total;
	uint64_t count; /* exports of the conversation; 0 = no limit */
};
/* On disk when the callback reports success: an acknowledged export is never lost. `content` is the path of the
 * content, which must still exist. With limits (NULL = none), content above a limit is refused with FAIL_LIMIT and
 * removed, unless another export uses it; the limit of the conversation's tenant, which the store has, holds too.
 * Counting and removing share the transaction, so limits hold with any number of servers. */
struct store_job *store_export_add(struct store *s, const struct export_record *e, const char *content,
				   const struct export_limits *limits, store_done_fn fn, void *ctx);
/* Removes the content of an export, unless another export has the same content, and hides the export from all
 * lists. Its record stays in the log, without a hash and with nothing stored. */
struct store_job *store_export_delete(struct store *s, const struct export_record *e, const char *content,
				      store_done_fn fn, void *ctx);

/* `found` is the newest export with this conversation, session and exact path. If there is none, it is the newest
 * export of the closest parent directory, whose path is then a proper prefix. NULL if there is neither. */
typedef void (*store_export_fn)(void *ctx, const struct export_record *found, const struct fail *f);
struct store_job *store_export_find(struct store *s, const char *thread, const char *session, const char *path,
				    store_export_fn fn, void *ctx);
/* thread NULL = any conversation. */
struct store_job *store_export_get(struct store *s, const char *thread, const char *id, store_export_fn fn, void *ctx);

/* Newest first. before_created and before_id are those of the last record of the previous page (NULL id = from the
 * start). thread NULL = all conversations. */
typedef void (*store_exports_fn)(void *ctx, const struct export_list *list, const struct fail *f);
struct store_job *store_exports(struct store *s, const char *thread, uint64_t before_created, const char *before_id,
				uint64_t limit, store_exports_fn fn, void *ctx);

/* --- receipts: results of probes ---------------------------------------------------------------------------------- */
/* A receipt is valid for one image, one version of the engine, and one boot of the engine's machine. */
struct receipt_record {
	const char *image, *engine, *boot;
	const char *result; /* any text */
	uint64_t created;   /* ms */
};
/* Replaces an earlier receipt for the same image, engine and boot. On disk when the callback reports success. */
struct store_job *store_receipt_put(struct store *s, const struct receipt_record *r, store_done_fn fn, void *ctx);
/* `found` is NULL if there is no such receipt, or if it was not written with this key. */
typedef void (*store_receipt_fn)(void *ctx, const struct receipt_record *found, const struct fail *f);
struct store_job *store_receipt_get(struct store *s, const char *image, const char *engine, const char *boot,
				    store_receipt_fn fn, void *ctx);

/* --- chains of records (chain.h) ---------------------------------------------------------------------------------- */
/* Names of all chains of which the database has any trace: "" for the store itself, then the sessions. */
typedef void (*store_names_fn)(void *ctx, char *const *names, size_t n, const struct fail *f);
struct store_job *store_chains(struct store *s, store_names_fn fn, void *ctx);
/* Compares the executions and exports of a session ("" = the receipts and the list of sessions) with their chain. */
typedef void (*store_verdict_fn)(void *ctx, const struct log_verdict *verdict, const struct fail *f);
struct store_job *store_verify(struct store *s, const char *session, store_verdict_fn fn, void *ctx);
/* Removes the executions of sessions that ended before this time, and leaves a tombstone in the chain of each.
 * Chains with faults are left alone. Handles a few sessions at a time: `n` records were removed, 0 = done. */
typedef void (*store_count_fn)(void *ctx, uint64_t n, const struct fail *f);
struct store_job *store_prune(struct store *s, uint64_t ended_before, store_count_fn fn, void *ctx);

/* --- dependency sets --------------------------------------------------------------------------------------------- */
struct set_record {
	const char *key; /* hash of runtime image and dependency set */
	const char *image;
	const char *runtime;
	const char *wanted;   /* JSON: name -> requested version */
	const char *versions; /* JSON: name -> installed version; NULL while it is being built */
	bool unpinned;
	uint64_t size;		/* bytes in addition to the runtime image */
	uint64_t built, used;	/* ms */
	const char *builder;	/* the owner that is building it; NULL = built */
	uint64_t builder_until; /* ms: the builder's lease */
};

struct set_list {
	const struct set_record *v;
	size_t n;
};

/* `found` is the row after the claim. If there was no row, or its builder's lease was over, or it was built before
 * `stale_before` and is unpinned, then the caller's row was written and `yours` is true: build the set, then call
 * store_set_built(). */
typedef void (*store_set_fn)(void *ctx, const struct set_record *found, bool yours, const struct fail *f);
struct store_job *store_set_claim(struct store *s, const struct set_record *row, uint64_t stale_before, store_set_fn fn,
				  void *ctx);
/* For the builder: renews its lease (versions NULL) or records the result. FAIL_FOREIGN if another server is
 * building the set now. */
struct store_job *store_set_built(struct store *s, const struct set_record *row, store_done_fn fn, void *ctx);
/* Records that the set was used now. */
struct store_job *store_set_used(struct store *s, const char *key, store_done_fn fn, void *ctx);
struct store_job *store_set_remove(struct store *s, const char *key, store_done_fn fn, void *ctx);
typedef void (*store_sets_fn)(void *ctx, const struct set_list *list, const struct fail *f);
/* Least recently used first. */
struct store_job *store_sets(struct store *s, store_sets_fn fn, void *ctx);

/* --- keys of the API, and tenants --------------------------------------------------------------------------------- */
struct key_record {
	const char *id;
	const char *name; /* for people; unique in the tenant */
	const char *tenant;
	const char *scopes;	  /* names, separated by blanks */
	const char *conversation; /* full id, for requests that name none; NULL = the user's own */
	uint64_t created, used;	  /* ms; used 0 = never */
	uint64_t streams;	  /* limit of the tenant, set by store_key_check(); 0 = none */
	const char *hash;	  /* private to the store */
};
/* Stores a key. `text` is the key itself, of which only a keyed hash is stored. FAIL_INVALID: the tenant has a key with
 * this name. FAIL_LIMIT: there are too many keys. */
struct store_job *store_key_add(struct store *s, const struct key_record *row, const char *text, store_done_fn fn,
				void *ctx);
/* By id or name; tenant NULL = of all tenants. FAIL_NOT_FOUND if there is none. */
struct store_job *store_key_remove(struct store *s, const char *tenant, const char *word, store_done_fn fn, void *ctx);
/* found is NULL if there is no key with this id, or if its text or its row is not the stored one. */
typedef void (*store_key_fn)(void *ctx, const struct key_record *found, const struct fail *f);
struct store_job *store_key_check(struct store *s, const char *id, const char *text, store_key_fn fn, void *ctx);
/* Oldest first; tenant NULL = of all tenants. */
typedef void (*store_keys_fn)(void *ctx, const struct key_record *v, size_t n, const struct fail *f);
struct store_job *store_keys(struct store *s, const char *tenant, store_keys_fn fn, void *ctx);
typedef void (*store_text_fn)(void *ctx, const char *text, const struct fail *f);

/* --- secrets ------------------------------------------------------------------------------------------------------- */
struct secret_record {
	struct secret_info info;
	const char *value;  /* only of store_secret_put() and store_secrets_open(); wiped with the job */
	const char *sealed; /* private to the store */
};
/* Stores a secret, or replaces the one of this name. FAIL_LIMIT: the tenant has too many. */
struct store_job *store_secret_put(struct store *s, const struct secret_record *row, store_done_fn fn, void *ctx);
/* FAIL_NOT_FOUND if there is none. */
struct store_job *store_secret_remove(struct store *s, const char *tenant, const char *name, store_done_fn fn,
				      void *ctx);
/* All secrets of a tenant, by name, without values. */
typedef void (*store_secrets_fn)(void *ctx, const struct secret_record *v, size_t n, const struct fail *f);
struct store_job *store_secrets(struct store *s, const char *tenant, store_secrets_fn fn, void *ctx);
/* Those with these names (separated by blanks) that exist, with their values. A row that was changed without the
 * store's key is a failure. */
struct store_job *store_secrets_open(struct store *s, const char *tenant, const char *names, store_secrets_fn fn,
				     void *ctx);
/* A text that is different after any secret was added, changed or removed. */
struct store_job *store_secrets_version(struct store *s, store_text_fn fn, void *ctx);

/* --- answers to requests that may be repeated ---------------------------------------------------------------------- */
#define ANSWERS_KEPT_MS 86400000ull
struct answer_record {
	const char *id;			    /* a hash of the caller and its Idempotency-Key */
	const char *request;		    /* a hash of the request */
	int status;			    /* 0 = the first request is under way, or its server was killed */
	const char *type, *location, *body; /* any text, or NULL; the body is sealed */
};
/* Reserves the id for a request. `found` is NULL if it was free; else it is the row of an earlier request. On disk when
 * the callback is called. */
typedef void (*store_answer_fn)(void *ctx, const struct answer_record *found, const struct fail *f);
struct store_job *store_answer_begin(struct store *s, const char *id, const char *request, store_answer_fn fn,
				     void *ctx);
/* Records the answer, for ANSWERS_KEPT_MS from the reservation. On disk when the callback is called. */
struct store_job *store_answer_keep(struct store *s, const struct answer_record *row, store_done_fn fn, void *ctx);
/* Frees the id if no answer was recorded. Fire and forget. */
void store_answer_drop(struct store *s, const char *id);

/* A key for one purpose, derived from the store's own key: all servers with that key get the same text. */
struct store_job *store_derive_key(struct store *s, const char *purpose, store_text_fn fn, void *ctx);
/* --- open streams of tenants --------------------------------------------------------------------------------------- */
/* How long a stream counts unless its server renews it. */
#define STREAM_LEASE_MS 60000
struct stream_record {
	const char *id, *tenant, *owner;
};
/* Counts a stream, on all servers together. FAIL_LIMIT: the tenant has as many as it may. */
struct store_job *store_stream_claim(struct store *s, const struct stream_record *row, store_done_fn fn, void *ctx);
/* The rest is fire and forget. */
void store_stream_release(struct store *s, const char *id);
void store_streams_renew(struct store *s, const char *owner);
/* Releases all streams of this server. */
void store_streams_leave(struct store *s, const char *owner);

/* The limits of a tenant; all are 0 if none were set. */
struct store_job *store_tenant_set(struct store *s, const char *tenant, const struct tenant_limits *limits,
				   store_done_fn fn, void *ctx);
typedef void (*store_tenant_fn)(void *ctx, const struct tenant_limits *limits, const struct fail *f);
struct store_job *store_tenant_get(struct store *s, const char *tenant, store_tenant_fn fn, void *ctx);

#endif
