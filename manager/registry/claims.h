/* What the store is told of our sessions. Nothing is waited for but the claim and the record that a session runs: a store
 * that is away costs new sessions, never a running one. */
#ifndef HUSK_MANAGER_REGISTRY_CLAIMS_H
#define HUSK_MANAGER_REGISTRY_CLAIMS_H

#include "manager/line/run.h"
#include "manager/registry/registry.h"

/* Takes a slot, within the limits of the settings and of a conversation, and if own_user is set no other session's user. A warm
 * member gives its own slot in the same step, and has its user already. */
struct store_job *claim_slot(struct member *m, const char *thread, uint64_t max_of_conversation, bool own_user,
			     store_claim_fn fn, void *ctx);
/* Takes one that is left over, for a container that is to be warm. */
struct store_job *claim_warm(struct member *m, store_claim_fn fn, void *ctx);
/* Forgets a row of ours that nobody was told of; or a warm one of whomever. Fire and forget. */
void claim_drop(struct registry *r, const char *id);
void claim_drop_row(struct store *store, const struct session_record *row);
/* It is running now. */
struct store_job *claim_running(struct member *m, store_done_fn fn, void *ctx);
/* It is still running. Fire and forget. */
void claim_renew(struct member *m);
/* It has ended. cause NULL = somebody stopped it. Fire and forget. */
void claim_end(struct member *m, const char *cause);
/* The stored cause of a session that a person has ended. */
#define CLAIM_STOPPED_BY_HAND "stopped by husk stop"
/* The failure of a session whose row ended with a cause. Returns -1. */
int claim_explain(const struct session_record *row, struct fail *f);
/* Ends a row that no longer belongs to anybody. Fire and forget. */
void claim_end_row(struct store *store, const struct session_record *row, const char *cause);
/* The failure of acting on a row whose seal is broken. Returns -1. */
int claim_changed_row(const struct session_record *row, struct fail *f);

/* What the tools are called that start runs. */
const char *run_tool(enum run_kind kind);

/* --- the log of executions --------------------------------------------------------------------------------------- */
struct begun_run {
	uint32_t number;
	enum run_kind kind;
	uint64_t started, in_bytes;
	const char *env;  /* names; NULL = none */
	const char *text; /* in_bytes of it; kept only where the settings want that */
};
void log_run_began(struct member *m, const struct begun_run *run);
/* A session's own variables; env may be NULL. */
void log_created(struct member *m, const char *env);
struct ended_run {
	uint32_t number;
	enum run_kind kind;
	bool program; /* of a terminal: husk run has started it */
	uint64_t started, out_bytes;
	const char *ending;
	const struct run_result *result; /* what is told of it; NULL = nothing */
};
void log_run_ended(struct member *m, const struct ended_run *run);
/* For a session that was adopted: numbers that its former server gave, and did not record before it was killed. */
void log_adopted(struct member *m);
/* Its caller was told what there is so far; it goes on. */
void log_run_told(struct member *m, uint64_t number, const struct run_result *result);
/* A person's terminal: no ending = it was opened. */
void log_terminal(struct member *m, const struct ended_run *terminal);
/* What an earlier server or call had started, now that its end is known. */
void log_earlier_ended(struct member *m, const struct run_result *result);

#endif
