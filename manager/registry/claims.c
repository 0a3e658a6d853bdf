#include "manager/registry/claims.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manager/registry/journal.h"
#include "manager/registry/kept-outputs.h"

/* Longest cause that the store keeps. */
#define CAUSE_CHARS 500

static uint64_t lease_until(const struct registry *r)
{
	return store_now_ms() + r->config->lease * 1000;
}

/* The caller owns the text. */
static char *limits_of(const struct session_entry *entry, bool warm)
{
	const struct session *s = entry->session;
	return limits_to_json(session_limits(s), &(struct limits_row){ .network = session_network(s),
								       .rules = warm ? NULL : entry->rules,
								       .secrets = warm ? NULL : entry->secrets });
}

static struct store_job *claim(struct session_entry *entry, struct session_record row, uint64_t max_of_conversation,
			       bool own_user, store_claim_fn fn, void *ctx)
{
	struct registry *r = entry->registry;
	const struct config *c = r->config;
	const struct session *s = entry->session;
	uint64_t now = store_now_ms();
	bool warm = row.state == ROW_WARM;
	AUTO(freep) char *limits = limits_of(entry, warm);
	row.runtime = session_runtime(s)->name;
	row.container = session_container(s);
	row.mark = session_mark(s);
	row.name = warm ? NULL : entry->name;
	row.labels = warm ? NULL : entry->labels;
	row.image = session_image(s);
	row.engine = r->engine->ops->name;
	row.owner = r->self.id;
	row.owner_host = r->self.place;
	row.owner_pid = r->self.pid;
	row.epoch = session_epoch(s);
	row.limits = limits;
	row.memory = session_limits(s)->memory;
	row.lease_until = lease_until(r);
	row.created = row.used = now;
	row.ends = now + c->max_lifetime * 1000;
	struct claim_limits most = {
		.sessions = c->max_sessions,
		.sessions_per_thread = max_of_conversation,
		.threads = c->max_active_threads,
		/* The store does not know the node of a container, and user numbers are unique only within one. */
		.users = own_user && !engine_capabilities(r->engine).several_nodes ? SESSION_USERS : 0,
	};
	bool takes_warm = !warm && *entry->warm;
	return store_session_claim(r->store, &row, takes_warm ? entry->warm : NULL, &most, fn, ctx);
}

struct store_job *claim_slot(struct session_entry *entry, const char *conversation, uint64_t max_of_conversation,
			     bool own_user, store_claim_fn fn, void *ctx)
{
	return claim(entry,
		     (struct session_record){
			     .id = session_id(entry->session), .thread = conversation, .state = ROW_STARTING },
		     max_of_conversation, own_user && !*entry->warm, fn, ctx);
}

struct store_job *claim_warm(struct session_entry *entry, store_claim_fn fn, void *ctx)
{
	return claim(entry, (struct session_record){ .id = entry->warm, .thread = "", .state = ROW_WARM },
		     /* max_of_conversation= */ 0, /* own_user= */ true, fn, ctx);
}

static void on_dropped(void *ctx UNUSED, const struct fail *f)
{
	if (f && f->kind != FAIL_NOT_FOUND)
		log_debug("a row was not dropped: %s", f->message);
}

void claim_drop(struct registry *r, const char *id)
{
	(void)store_session_drop(r->store, id, r->self.id, on_dropped, /* ctx= */ NULL);
}

void claim_drop_row(struct store *store, const struct session_record *row)
{
	(void)store_session_drop(store, row->id, row->owner, on_dropped, /* ctx= */ NULL);
}

static struct session_update now_of(const struct session_entry *entry)
{
	const struct session *s = entry->session;
	bool up = session_state(s) == SESSION_READY || session_state(s) == SESSION_WARM;
	return (struct session_update){
		.id = *entry->warm ? entry->warm : session_id(s),
		.owner = entry->registry->self.id,
		.epoch = session_epoch(s),
		.state = session_state(s) == SESSION_READY ? ROW_RUNNING : ROW_KEEP,
		.lease_until = lease_until(entry->registry),
		.used = store_now_ms() - session_idle_ms(s),
		.busy = session_is_busy(s),
		.transport = up ? session_transport(s) : NULL,
		.labels = entry->labels,
	};
}

struct store_job *claim_rules(struct session_entry *entry, store_done_fn fn, void *ctx)
{
	struct session_update update = now_of(entry);
	AUTO(freep) char *limits = limits_of(entry, /* warm= */ false);
	return store_session_set_limits(entry->registry->store, &update, limits, fn, ctx);
}

struct store_job *claim_running(struct session_entry *entry, store_done_fn fn, void *ctx)
{
	struct session_update update = now_of(entry);
	return store_session_update(entry->registry->store, &update, fn, ctx);
}

static void on_renewed(void *ctx, const struct fail *f)
{
	struct session_entry *entry = ctx;
	entry->renewal = NULL;
	if (!f)
		return;
	log_debug("session %s: lease not renewed in the store: %s", session_id(entry->session), f->message);
	/* Another server has taken the slot or the session. */
	if (*entry->warm && !entry->reserved && (f->kind == FAIL_FOREIGN || f->kind == FAIL_NOT_FOUND))
		session_stop(entry->session);
	else if (!*entry->warm && f->kind == FAIL_FOREIGN)
		session_lose(entry->session);
}

void claim_renew(struct session_entry *entry)
{
	enum session_state state = session_state(entry->session);
	struct session_update update = now_of(entry);
	/* One renewal at a time, so that a slow store does not collect a backlog. */
	if (!entry->renewal && (state == SESSION_READY || state == SESSION_STARTING || state == SESSION_WARM))
		entry->renewal = store_session_update(entry->registry->store, &update, on_renewed, entry);
}

/* Two failures are normal: a session whose claim was cancelled has no row, and the end of a session that was taken
 * over is recorded by its new server. */
static void on_end_recorded(void *ctx UNUSED, const struct fail *f)
{
	if (f && f->kind != FAIL_NOT_FOUND && f->kind != FAIL_FOREIGN)
		log_warning("the end of a session was not recorded: %s", f->message);
}

void claim_end(struct session_entry *entry, const char *cause)
{
	uint64_t now = store_now_ms();
	struct session_update update = {
		.id = session_id(entry->session),
		.owner = entry->registry->self.id,
		.epoch = session_epoch(entry->session),
		.state = ROW_ENDED,
		.cause = cause,
		.lease_until = now,
		.used = now,
	};
	(void)store_session_update(entry->registry->store, &update, on_end_recorded, /* ctx= */ NULL);
}

/* The cause is cleaned, since anybody with write access to the database can change it. */
int claim_explain(const struct session_record *row, struct fail *f)
{
	AUTO(buf_release) struct buf clean = { 0 };
	bool by_hand = streq(row->cause, CLAIM_STOPPED_BY_HAND);
	utf8_clean_name(&clean, row->cause);
	const char *text = buf_str(&clean);
	return cause_set(f, FAIL_DIED, by_hand ? CAUSE_STOPPED_BY_HAND : CAUSE_UNWATCHED, "%.*s",
			 (int)utf8_head(text, clean.len, CAUSE_CHARS), text);
}

void claim_end_row(struct store *store, const struct session_record *row, const char *cause)
{
	struct session_update update = {
		.id = row->id,
		.owner = row->owner,
		.epoch = row->epoch,
		.state = ROW_ENDED,
		.cause = cause,
		.lease_until = store_now_ms(),
		.used = row->used,
	};
	(void)store_session_update(store, &update, on_end_recorded, /* ctx= */ NULL);
}

int claim_changed_row(const struct session_record *row, struct fail *f)
{
	fail_set(f, FAIL_STORE,
		 "the store's record of session '%s' does not have this server's seal, so its container is not touched",
		 row->id);
	return fail_hint(
		f,
		"The record was changed, or was written with another key. Servers that share a store need the same ENCRYPTION_KEY.");
}

/* --- the log of executions --------------------------------------------------------------------------------------- */

/* The tools have the names that the reference uses. */
const char *run_tool(enum run_kind kind)
{
	return kind == RUN_TERMINAL ? "execute_terminal" : "execute_code";
}

void log_created(struct session_entry *entry, const char *env)
{
	uint64_t now = store_now_ms();
	if (env)
		store_execution_put(entry->registry->store,
				    &(struct execution_record){ .session = session_id(entry->session),
								.tool = "create_session",
								.started = now,
								.ended = now,
								.env = env });
}

static void keep_text(struct session_entry *entry, const struct begun_run *run)
{
	if (!entry->registry->config->history_keeps_code || !run->text)
		return;
	AUTO(freep) char *text = xstrndup(run->text, run->in_bytes);
	store_cell_put(entry->registry->store, &(struct cell_piece){ .session = session_id(entry->session),
								     .seq = run->number,
								     .content = text });
}

static void put_outputs(struct session_entry *entry, uint64_t number, const struct run_result *result,
			void (*on_stored)(void *ctx, const char *session, uint64_t seq, const struct fail *f))
{
	if (!entry->registry->config->history_keeps_code || !result)
		return;
	struct run_result *outputs = kept_outputs_take(result);
	if (outputs)
		store_cell_put(entry->registry->store,
			       &(struct cell_piece){ .session = session_id(entry->session),
						     .seq = number,
						     .output = true,
						     .at = result->stdout_bytes + result->stderr_bytes,
						     .make = kept_outputs_text,
						     .release = kept_outputs_free,
						     .ctx = outputs,
						     .on_stored = on_stored,
						     .stored_ctx = entry->registry });
}

void log_run_delivered(struct session_entry *entry, uint64_t number, const struct run_result *result)
{
	put_outputs(entry, number, result, /* on_stored= */ NULL);
}

void log_run_began(struct session_entry *entry, const struct begun_run *run)
{
	keep_text(entry, run);
	store_execution_put(entry->registry->store, &(struct execution_record){ .session = session_id(entry->session),
										.seq = run->number,
										.tool = run_tool(run->kind),
										.started = run->started,
										.in_bytes = run->in_bytes,
										.env = run->env });
}

void log_adopted(struct session_entry *entry)
{
	uint64_t now = store_now_ms();
	store_execution_put(entry->registry->store,
			    &(struct execution_record){ .session = session_id(entry->session),
							.seq = session_dispatch(entry->session)->last_call,
							.tool = TOOL_UNKNOWN,
							.started = now,
							.ended = now,
							.ending = "unrecorded",
							.up_to = true });
}

static void put_ended(struct session_entry *entry, const struct ended_run *run)
{
	store_execution_put(entry->registry->store, &(struct execution_record){ .session = session_id(entry->session),
										.seq = run->number,
										.tool = run_tool(run->kind),
										.started = run->started,
										.ended = store_now_ms(),
										.ending = run->ending,
										.out_bytes = run->out_bytes });
}

void log_run_ended(struct session_entry *entry, const struct ended_run *run)
{
	log_run_delivered(entry, run->number, run->result);
	put_ended(entry, run);
}

static void on_outputs_stored(void *ctx, const char *session, uint64_t number, const struct fail *f)
{
	struct registry *r = ctx;
	struct session_entry *entry = f ? NULL : registry_find(r, session);
	if (entry)
		journal_stored(entry->journal, number);
}

void log_detached_ended(struct session_entry *entry, const struct ended_run *run)
{
	put_outputs(entry, run->number, run->result, on_outputs_stored);
	put_ended(entry, run);
}

void log_terminal(struct session_entry *entry, const struct ended_run *terminal)
{
	store_execution_put(entry->registry->store,
			    &(struct execution_record){ .session = session_id(entry->session),
							.seq = terminal->number,
							.tool = terminal->program ? "run" : "shell",
							.started = terminal->started,
							.ended = terminal->ending ? store_now_ms() : 0,
							.ending = terminal->ending,
							.out_bytes = terminal->out_bytes });
}

void log_earlier_ended(struct session_entry *entry, const struct run_result *result)
{
	uint64_t now = store_now_ms();
	for (size_t i = 0; i < result->n_earlier; i++) {
		const struct earlier_result *e = &result->earlier[i];
		if (!e->ended)
			continue;
		log_run_delivered(entry, e->seq, &e->result);
		store_execution_put(
			entry->registry->store,
			&(struct execution_record){ .session = session_id(entry->session),
						    .seq = e->seq,
						    .tool = run_tool(e->kind),
						    .started = now - e->result.duration_ms,
						    .ended = now,
						    .ending = ending_name(e->result.ending),
						    .out_bytes = e->result.stdout_bytes + e->result.stderr_bytes });
	}
}
