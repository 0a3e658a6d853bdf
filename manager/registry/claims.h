/* Records sessions in the store. Callers wait only for the claim of a slot and for the record that a session runs. So
 * while the store is down no session can be created, and running sessions are unaffected. */
#ifndef HUSK_MANAGER_REGISTRY_CLAIMS_H
#define HUSK_MANAGER_REGISTRY_CLAIMS_H

#include "manager/line/run.h"
#include "manager/registry/registry.h"

/* Claims a slot, within the limits of the settings and of the conversation. own_user: no other session may have the
 * same user id. A warm container gives up its own slot in the same step; its user id was checked when it started. */
struct store_job *claim_slot(struct session_entry *entry, const char *conversation, uint64_t max_of_conversation,
			     bool own_user, store_claim_fn fn, void *ctx);
/* Claims a free slot for a warm container. */
struct store_job *claim_warm(struct session_entry *entry, store_claim_fn fn, void *ctx);
/* The first removes a row of this server whose id was never delivered. The second removes the row of a warm container
 * of any server. Fire and forget. */
void claim_drop(struct registry *r, const char *id);
void claim_drop_row(struct store *store, const struct session_record *row);
/* Records that the session runs. */
struct store_job *claim_running(struct session_entry *entry, store_done_fn fn, void *ctx);
/* Records the rules of its gate. */
struct store_job *claim_rules(struct session_entry *entry, store_done_fn fn, void *ctx);
/* Renews the lease of a running session. Fire and forget. */
void claim_renew(struct session_entry *entry);
/* Records the end of a session. cause NULL = it was stopped on request. Fire and forget. */
void claim_end(struct session_entry *entry, const char *cause);
/* The stored cause of a session that a person has ended with `husk stop`. */
#define CLAIM_STOPPED_BY_HAND "stopped by husk stop"
/* Fills f with the cause from the row of an ended session. Returns -1. */
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
	const char *text; /* in_bytes long; stored only if HISTORY_KEEPS_CODE is set */
};
void log_run_began(struct session_entry *entry, const struct begun_run *run);
/* env has the names of the session's own variables; may be NULL. */
void log_created(struct session_entry *entry, const char *env);
struct ended_run {
	uint32_t number;
	enum run_kind kind;
	bool program; /* a terminal that `husk run` has started */
	uint64_t started, out_bytes;
	const char *ending;
	const struct run_result *result; /* what was delivered; NULL = nothing */
};
void log_run_ended(struct session_entry *entry, const struct ended_run *run);
/* Likewise for a detached run. Once its output is stored, PID 1 may forget the run. */
void log_detached_ended(struct session_entry *entry, const struct ended_run *run);
/* For an adopted session: adds the runs that its former server started and did not record before it was killed. */
void log_adopted(struct session_entry *entry);
/* Stores the outputs of a result that was delivered, if HISTORY_KEEPS_CODE is set. The run may still be active. */
void log_run_delivered(struct session_entry *entry, uint64_t number, const struct run_result *result);
/* Records that a person's terminal was closed or, if `ending` is NULL, opened. */
void log_terminal(struct session_entry *entry, const struct ended_run *terminal);
/* Records the ends of earlier runs that this result reports. */
void log_earlier_ended(struct session_entry *entry, const struct run_result *result);

#endif
