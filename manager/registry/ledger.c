/* What the store is told of the sessions of this server. Nothing here is waited for but the claim: a store that is away
 * costs new sessions, never a running one. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/registry/manager-private.h"

static uint64_t lease_until(const struct manager *m)
{
	return store_now_ms() + m->config->lease * 1000;
}

struct store_job *ledger_claim(struct manager *m, const struct session *s, store_claim_fn fn, void *ctx)
{
	const struct config *c = m->config;
	uint64_t now = store_now_ms();
	AUTO(freep) char *limits = xasprintf("{\"memory\":%llu,\"cpu_quota\":%llu,\"pids\":%llu,\"network\":%s}",
					     (unsigned long long)c->memory_limit, (unsigned long long)c->cpu_quota,
					     (unsigned long long)c->pids_limit, s->network ? "true" : "false");
	struct session_record row = {
		.id = s->id,
		.thread = m->thread,
		.runtime = s->runtime->name,
		.container = s->container,
		.image = s->image,
		.owner = m->self.id,
		.owner_host = m->self.place,
		.owner_pid = m->self.pid,
		.fence = s->fence,
		.state = "starting",
		.limits = limits,
		.lease_until = lease_until(m),
		.created = now,
		.used = now,
		.ends = now + c->max_lifetime * 1000,
	};
	struct claim_limits most = {
		.sessions = c->max_sessions,
		.sessions_per_thread = c->max_sessions_per_thread,
		.threads = c->max_active_threads,
	};
	return store_session_claim(m->store, &row, &most, fn, ctx);
}

static void on_renewed(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	s->renewal = NULL;
	if (!f)
		return;
	log_debug("session %s: lease not renewed in the store: %s", s->id, f->message);
	if (f->kind == FAIL_FOREIGN)
		session_lose(s);
}

static struct session_update now_of(struct manager *m, const struct session *s)
{
	bool busy = session_is_busy(s);
	return (struct session_update){
		.id = s->id,
		.owner = m->self.id,
		.fence = s->fence,
		.state = s->state == SESSION_READY ? "running" : NULL,
		.lease_until = lease_until(m),
		.used = store_now_ms() - (busy ? 0 : loop_now_ms() - s->used_ms),
		.busy = busy,
	};
}

struct store_job *ledger_running(struct manager *m, const struct session *s, store_done_fn fn, void *ctx)
{
	struct session_update update = now_of(m, s);
	return store_session_update(m->store, &update, fn, ctx);
}

void ledger_renew(struct manager *m, struct session *s)
{
	struct session_update update = now_of(m, s);
	/* One at a time: a store that is slow is not asked faster than it answers. */
	if (!s->renewal && (s->state == SESSION_READY || s->state == SESSION_STARTING))
		s->renewal = store_session_update(m->store, &update, on_renewed, s);
}

/* A session whose claim was cancelled has no row; one that was taken over is somebody else's to end. */
static void on_end_recorded(void *ctx UNUSED, const struct fail *f)
{
	if (f && f->kind != FAIL_NOT_FOUND && f->kind != FAIL_FOREIGN)
		log_warning("the end of a session was not recorded: %s", f->message);
}

void ledger_end(struct manager *m, const struct session *s, const char *cause)
{
	uint64_t now = store_now_ms();
	struct session_update update = {
		.id = s->id,
		.owner = m->self.id,
		.fence = s->fence,
		.state = "ended",
		.cause = cause,
		.lease_until = now,
		.used = now,
	};
	(void)store_session_update(m->store, &update, on_end_recorded, /* ctx= */ NULL);
}

static struct execution_record record_of(const struct run *run, uint64_t started)
{
	return (struct execution_record){ .session = run->session->id,
					  .seq = run->call,
					  .tool = run->terminal ? "execute_terminal" : "execute_code",
					  .started = started };
}

void ledger_earlier_ended(struct manager *m, const struct session *s, const struct run_result *result)
{
	uint64_t now = store_now_ms();
	for (size_t i = 0; i < result->n_earlier; i++) {
		const struct earlier_result *e = &result->earlier[i];
		if (!e->ended)
			continue;
		struct execution_record record = {
			.session = s->id,
			.seq = e->seq,
			.tool = e->terminal ? "execute_terminal" : "execute_code",
			.started = now - e->result.duration_ms,
			.ended = now,
			.ending = ending_name(e->result.ending),
			.out_bytes = e->result.stdout_bytes + e->result.stderr_bytes,
		};
		store_execution_put(m->store, &record);
	}
}

void ledger_run_began(struct manager *m, const struct run *run, uint64_t started, uint64_t in_bytes)
{
	struct execution_record record = record_of(run, started);
	record.in_bytes = in_bytes;
	store_execution_put(m->store, &record);
}

void ledger_run_ended(struct manager *m, const struct run *run, uint64_t started, const char *ending,
		      uint64_t out_bytes)
{
	struct execution_record record = record_of(run, started);
	record.ended = store_now_ms();
	record.ending = ending;
	record.out_bytes = out_bytes;
	store_execution_put(m->store, &record);
}

void manager_settle(struct manager *m, uint64_t ms, void (*fn)(void *ctx), void *ctx)
{
	store_settle(m->store, ms, fn, ctx);
}
