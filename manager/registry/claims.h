/* Records sessions in the store. Only the claim of a slot and the record that a session runs are waited for: while
 * the store is down no session can be created, and running sessions are unaffected. */
#ifndef HUSK_MANAGER_REGISTRY_CLAIMS_H
#define HUSK_MANAGER_REGISTRY_CLAIMS_H

#include "manager/line/run.h"
#include "manager/registry/registry.h"

/* Claims a slot, within the limits of the settings and of the conversation. With own_user, no other session may
 * have the same user. A warm member gives up its own slot in the same step, and has its user already. */
struct store_job *claim_slot(struct member *m, const char *thread, uint64_t max_of_conversation, bool own_user,
			     store_claim_fn fn, void *ctx);
/* Claims a free slot for a warm container. */
struct store_job *claim_warm(struct member *m, store_claim_fn fn, void *ctx);
/* Removes a row of this server whose id was never delivered, or the row of a warm container of any server. Fire
 * and forget. */
void claim_drop(struct registry *r, const char *id);
void claim_drop_row(struct store *store, const struct session_record *row);
/* Records that the session runs. */
struct store_job *claim_running(struct member *m, store_done_fn fn, void *ctx);
/* Renews the lease of a running session. Fire and forget. */
void claim_renew(struct member *m);
/* Records the end of a session. cause NULL = it was stopped on request. Fire and forget. */
void claim_end(struct member *m, const char *cause);
/* The stored cause of a session that a person has ended with `husk stop`. */
#define CLAIM_STOPPED_BY_HAND "stopped by husk stop"
/* Fills f with the cause that the row of an ended session has. Returns -1. */
int claim_explain(const struct session_record *row, struct fail *f);
/* Ends the row of a session that has no live server. Fire and forget. */
void claim_end_row(struct store *store, const struct session_record *row, const char *cause);
/* Fills f for a row whose seal is broken. Returns -1. */
int claim_changed_row(const struct session_record *row, struct fail *f);

/* Name of the tool that starts runs of this kind. */
const char *run_tool(enum run_kind kind);

/* --- the log of executions --------------------------------------------------------------------------------------- */
struct begun_run {
	uint32_t number;
	enum run_kind kind;
	uint64_t started, in_bytes;
	const char *env;  /* names of variables; NULL = none */
	const char *text; /* in_bytes long; kept only if the settings ask for it */
};
void log_run_began(struct member *m, const struct begun_run *run);
/* env has the names of the session's own variables; may be NULL. */
void log_created(struct member *m, const char *env);
struct ended_run {
	uint32_t number;
	enum run_kind kind;
	bool program; /* a terminal that `husk run` has started */
	uint64_t started, out_bytes;
	const char *ending;
	const struct run_result *result; /* what was delivered; NULL = nothing */
};
void log_run_ended(struct member *m, const struct ended_run *run);
/* For an adopted session: adds the runs that its former server started and did not record before it was killed. */
void log_adopted(struct member *m);
/* Records that the caller got the result so far of a run that is still running. */
void log_run_told(struct member *m, uint64_t number, const struct run_result *result);
/* Records a person's terminal. Without an ending it was opened just now. */
void log_terminal(struct member *m, const struct ended_run *terminal);
/* Records the end of a run that an earlier server or request had started. */
void log_earlier_ended(struct member *m, const struct run_result *result);

#endif
