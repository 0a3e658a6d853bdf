/* Sessions behind plain calls; knows nothing of MCP. One manager a process, on the one loop.
 *
 * Every operation is asynchronous. A start function either returns an `struct op *` and later calls its callback exactly
 * once (never from inside the start function), or returns NULL with `f` filled and never calls it. The op belongs to
 * the manager: it is gone once the callback has returned. op_cancel() before that guarantees that the callback
 * is not called; the work behind it is interrupted and cleaned up (a cancelled create leaves no container). */
#ifndef HUSK_MANAGER_MANAGER_H
#define HUSK_MANAGER_MANAGER_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/result.h"
#include "manager/model/runtime.h"

struct manager;
struct op;

/* The config must outlive the manager. Contacts nothing and writes nothing. */
struct manager *manager_new(struct loop *loop, const struct config *config);
/* Drops everything at once, in milliseconds: calls are not answered. Sessions stay, with what runs on them, until their lease is
 * over or another server adopts them; half-made ones are told to go and not waited for. Accepts NULL, returns NULL. */
struct manager *manager_free(struct manager *m);
/* Nobody will come back for its sessions: manager_free() tells all of them to go. */
void manager_leave_nothing(struct manager *m);

/* The client does more than to introduce itself: from now on sessions that a former server of this thread left are taken
 * over, in the background. */
void manager_wake(struct manager *m);

/* Before manager_free(): calls fn once, on the loop, when what the store was told is written, and after ms at the latest. */
void manager_settle(struct manager *m, uint64_t ms, void (*fn)(void *ctx), void *ctx);

void op_cancel(struct op *op);

struct session_info {
	const char *id;
	const char *runtime;
	const char *status; /* starting, adopting, running, dead */
	uint64_t age_seconds;
	uint64_t idle_seconds;
	const char *dependencies; /* JSON, name -> version as installed; NULL if there are none */
};

/* Calls fn for each session of this thread that this server has, oldest first; while a create is answered that hit a limit,
 * also for those of other servers. */
void manager_each_session(struct manager *m, void (*fn)(void *ctx, const struct session_info *info), void *ctx);

/* version "" = any. */
struct dependency {
	const char *name;
	const char *version;
};

/* --- create ------------------------------------------------------------------------------------------------------ */
struct create_request {
	const struct runtime *runtime;
	bool network;
	const struct dependency *dependencies; /* borrowed for the call */
	size_t n_dependencies;
	/* What the installer says, as it says it; may be NULL. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* Exactly one of the two outcomes: info, or NULL and a failure. Both valid during the call. */
	void (*on_done)(void *ctx, const struct session_info *info, const struct fail *f);
	void *ctx;
};
struct op *manager_create(struct manager *m, const struct create_request *req, struct fail *f);

/* --- execute ----------------------------------------------------------------------------------------------------- */
enum run_kind { RUN_CODE, RUN_TERMINAL };

struct run_request {
	enum run_kind kind;
	const char *session_id;
	const char *text; /* the cell or the command; copied */
	size_t len;
	uint64_t timeout_seconds; /* 1 to 300 */
	/* Live output, as it comes, cleaned; may be NULL. stream is 1 or 2. */
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	/* result is set if something ran, however it ended; else f says why nothing did. Both valid during the call. */
	void (*on_done)(void *ctx, const struct run_result *result, const struct fail *f);
	void *ctx;
};
struct op *manager_run(struct manager *m, const struct run_request *req, struct fail *f);

/* --- stop -------------------------------------------------------------------------------------------------------- */
struct stop_request {
	const char *session_id;
	/* f is NULL when the container is really gone. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_stop(struct manager *m, const struct stop_request *req, struct fail *f);

#endif
