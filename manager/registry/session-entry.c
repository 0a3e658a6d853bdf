#include "manager/registry/session-entry.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"

#include "base/alloc.h"
#include "base/log.h"
#include "manager/deps/set.h"
#include "manager/gate/gate.h"
#include "manager/model/cause.h"
#include "manager/model/pool.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"
#include "manager/registry/conversation.h"
#include "manager/registry/journal.h"
#include "manager/registry/keeper.h"
#include "manager/registry/secret-values.h"
#include "manager/registry/task.h"

static void tell_conversation(const struct session_entry *entry)
{
	AUTO(fail_release) struct fail foreign = { 0 };
	list_for_each(c, &entry->registry->conversations, struct conversation, node) {
		if (conversation_check(c, entry->conversation, session_id(entry->session), &foreign) < 0)
			continue;
		list_for_each(w, &c->watches, struct conversation_watch, node)
			w->fn(w->ctx);
	}
}

static void on_ready(void *ctx, struct session *s UNUSED)
{
	struct session_entry *entry = ctx;
	if (*entry->warm) {
		entry->on_warm(entry);
		return;
	}
	journal_ready(entry->journal);
	/* A new session is recorded by its create before its id is delivered. */
	if (entry->adopted) {
		claim_renew(entry);
		log_adopted(entry);
	}
	tasks_ready(entry);
	tell_conversation(entry);
	ops_ready(entry);
}

static void on_dead(void *ctx, struct session *s)
{
	struct session_entry *entry = ctx;
	store_cancel(take_ptr(entry->explanation));
	/* The keeper also forgets the oldest dead sessions. That must not happen here, where a caller may be
	 * walking the list. */
	keeper_check_soon(entry->registry->keeper);
	if (*entry->warm) {
		entry->on_warm(entry);
		return;
	}
	journal_ended(entry->journal, session_death(s));
	if (!session_is_lost(s))
		claim_end(entry, session_death(s)->message);
	tasks_dead(entry, session_death(s));
	ops_dead(entry, session_death(s));
}

static void on_explained(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct session_entry *entry = ctx;
	AUTO(fail_release) struct fail cause = { 0 };
	entry->explanation = NULL;
	if (!f && row && row->state == ROW_ENDED && row->cause)
		claim_explain(row, &cause);
	session_end_explained(entry->session, cause.kind ? &cause : NULL);
}

/* `husk stop` records the end of a session before it removes the container, so the row may have the cause. */
static bool on_unexplained(void *ctx, struct session *s)
{
	struct session_entry *entry = ctx;
	if (*entry->warm)
		return false;
	store_cancel(entry->explanation);
	entry->explanation = store_session_get(entry->registry->store, session_id(s), on_explained, entry);
	return true;
}

static void on_stopped(void *ctx, struct session *s, const struct fail *f)
{
	struct session_entry *entry = ctx;
	keeper_check_soon(entry->registry->keeper);
	if (*entry->warm) {
		session_entry_free(entry);
		return;
	}
	bool requested = ops_stopped(entry, f);
	/* If the removal failed, it can be requested again. */
	if (f && requested) {
		session_keep_dead(s, f);
		return;
	}
	journal_ended(entry->journal, /* why= */ NULL);
	claim_end(entry, /* cause= */ NULL);
	tasks_leave(entry);
	session_entry_free(entry);
}

static void on_detached_end(void *ctx, const struct detached_end *end)
{
	log_detached_ended(ctx,
			   &(struct ended_run){
				   .number = end->number,
				   .kind = end->kind,
				   .started = end->started,
				   .ending = end->ending,
				   .out_bytes = end->result ? end->result->stdout_bytes + end->result->stderr_bytes : 0,
				   .result = end->result });
}

static void start_journal(struct session_entry *entry)
{
	struct session *s = entry->session;
	entry->journal = journal_new(&(struct journal_spec){ .journals = entry->registry->journals,
							     .session = session_id(s),
							     .conversation = entry->conversation,
							     .language = session_runtime(s)->name,
							     .epoch = session_epoch(s),
							     .adopted = entry->adopted,
							     .dispatch = session_dispatch(s),
							     .on_detached_end = on_detached_end,
							     .ctx = entry });
}

/* --- the gate ---------------------------------------------------------------------------------------------------- */

static void on_connection(void *ctx, const struct gate_event *event)
{
	struct session_entry *entry = ctx;
	struct journal_network network = {
		.count = event->count, .up = event->up, .down = event->down, .duration_ms = event->duration_ms
	};
	snprintf(network.secret, sizeof(network.secret), "%s", event->secret ? event->secret : "");
	if (entry->journal)
		journal_network(entry->journal, event->name, event->port, event->cause, &network);
}

/* Each session has one, so that a warm container can become a session with rules. */
static void make_gate(struct session_entry *entry)
{
	struct registry *r = entry->registry;
	entry->gate = gate_new(&(struct gate_spec){ .loop = r->loop,
						    .session = session_id(entry->session),
						    .private_networks = &r->config->private_networks,
						    .on_event = on_connection,
						    .ctx = entry });
	gate_attach(entry->gate, session_dispatch(entry->session));
}

/* The settings of this server bound what the previous server allowed. Rules that cannot be lowered allow nothing. */
static void lower_rules(const struct session_entry *entry, struct rules *rules)
{
	const struct config *c = entry->registry->config;
	static const struct rules none;
	AUTO(fail_release) struct fail f = { 0 };
	struct rules before = { 0 };
	if (c->network_enabled && !c->network_allow)
		return;
	rules_copy(&before, rules);
	if (rules_lower(rules, c->network_enabled ? &c->network_rules : &none, &f) < 0) {
		log_warning("session %s: its network rules cannot be kept: %s", session_id(entry->session), f.message);
		rules_release(rules);
	}
	if (!rules_equal(rules, &before))
		log_info("session %s: its network reaches less, because the settings allow less",
			 session_id(entry->session));
	rules_release(&before);
}

/* Before the claim, so that no code runs without rules. Rules that cannot be read allow nothing. */
static void open_gate(struct session_entry *entry)
{
	struct rules rules = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (!entry->rules)
		return;
	if (rules_from_text(&rules, entry->rules, &f) < 0) {
		log_warning("session %s: its network rules cannot be read: %s", session_id(entry->session), f.message);
		rules_release(&rules);
	}
	if (entry->adopted) {
		lower_rules(entry, &rules);
		free(entry->rules);
		entry->rules = rules_to_text(&rules);
	}
	if (gate_set_rules(entry->gate, &rules, &f) < 0)
		log_warning("session %s: %s", session_id(entry->session), f.message);
	rules_release(&rules);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static struct session_spec spec_for(struct session_entry *entry, const struct session_entry_spec *spec)
{
	struct registry *r = entry->registry;
	return (struct session_spec){
		.loop = r->loop,
		.engine = r->engine,
		.config = r->config,
		.runtime = spec->runtime,
		.image = spec->image ? spec->image : runtime_image(spec->runtime, r->config),
		.network = spec->network,
		.limits = spec->limits,
		.handler = { .on_ready = on_ready,
			     .on_dead = on_dead,
			     .on_stopped = on_stopped,
			     .on_unexplained = on_unexplained,
			     .ctx = entry },
	};
}

static struct session_entry *join(struct registry *r, const char *conversation)
{
	struct session_entry *entry = new0(struct session_entry);
	entry->registry = r;
	entry->conversation = xstrdup(conversation);
	list_append(&r->entries, &entry->node);
	return entry;
}

struct session_entry *session_entry_new(struct registry *r, const struct session_entry_spec *spec)
{
	char token[CONTAINER_NAME_SIZE];
	token_make_container(token);
	AUTO(freep) char *container =
		spec->host ? xasprintf("%s%c%s", token, POOL_SEPARATOR, spec->host) : xstrdup(token);
	struct session_entry *entry = join(r, spec->conversation);
	struct session_spec session = spec_for(entry, spec);
	session.container = container;
	entry->session = session_new(&session);
	make_gate(entry);
	return entry;
}

static void start(struct session_entry *entry, struct session_start spec)
{
	struct registry *r = entry->registry;
	AUTO(strv_release) struct strv sources = { 0 };
	spec.gated = entry->rules || (spec.unclaimed && r->config->network_allow);
	if (session_network(entry->session) || spec.gated)
		deps_sources(&sources, session_runtime(entry->session), r->config, /* with_logins= */ false);
	keeper_start(r->keeper);
	spec.store = store_id(r->store);
	spec.owner = r->self.id;
	spec.env = &sources;
	/* A warm container without a network may become a session with a gate. */
	spec.reaches_hosts = session_network(entry->session) || entry->rules || spec.unclaimed;
	session_start(entry->session, &spec);
}

void session_entry_start(struct session_entry *entry, const struct session_terms *terms)
{
	start_journal(entry);
	open_gate(entry);
	start(entry, (struct session_start){ .terms = *terms });
}

void session_entry_start_warm(struct session_entry *entry)
{
	start(entry, (struct session_start){ .unclaimed = true });
}

void session_entry_claim(struct session_entry *entry, const char *conversation, const struct session_terms *terms)
{
	*entry->warm = '\0';
	entry->reserved = false;
	free(entry->conversation);
	entry->conversation = xstrdup(conversation);
	/* The list is ordered by age, and the age of this session begins now. */
	list_remove(&entry->node);
	list_append(&entry->registry->entries, &entry->node);
	start_journal(entry);
	open_gate(entry);
	session_claim(entry->session, terms);
}

bool session_entry_fits(const struct session_entry *entry, const struct session_entry_spec *spec)
{
	const struct session *s = entry->session;
	const char *image = spec->image ? spec->image : runtime_image(spec->runtime, entry->registry->config);
	return session_runtime(s) == spec->runtime && streq(session_image(s), image) &&
	       session_network(s) == spec->network &&
	       memcmp(session_limits(s), &spec->limits, sizeof(spec->limits)) == 0;
}

/* The names are kept in the entry, for its row. */
static void use_secrets(struct session_entry *entry, const char *conversation)
{
	session_secrets_free(entry->own_secrets);
	entry->own_secrets = entry->secrets ? session_secrets_new(entry->registry->values, session_id(entry->session),
								  conversation, entry->secrets) :
					      NULL;
	gate_set_filters(entry->gate, entry->own_secrets ? session_secrets_filter : NULL, entry->own_secrets);
}

void session_entry_add_secrets(struct session_entry *entry, const char *conversation, const char *names)
{
	free(entry->secrets);
	entry->secrets = names ? xstrdup(names) : NULL;
	use_secrets(entry, conversation);
}

struct session_entry *session_entry_adopt(struct registry *r, const struct session_record *row)
{
	struct session_entry *entry = join(r, row->thread);
	entry->adopted = true;
	entry->name = row->name ? xstrdup(row->name) : NULL;
	entry->labels = row->labels ? xstrdup(row->labels) : NULL;
	entry->rules = limits_json_text(row->limits, "rules");
	entry->secrets = limits_json_text(row->limits, "secrets");
	struct session_spec session =
		spec_for(entry, &(struct session_entry_spec){ .runtime = runtime_find(row->runtime),
							      .image = row->image,
							      .network = limits_json_has_network(row->limits),
							      .limits = limits_from_json(row->limits, r->config) });
	uint64_t now = store_now_ms();
	entry->session = session_adopt(&session, &(struct session_past){
							 .id = row->id,
							 .container = row->container ? row->container : "",
							 .store = store_id(r->store),
							 .mark = row->mark,
							 .sealed = row->seal == SEAL_GOOD,
							 .epoch = row->epoch,
							 .age_ms = now - MIN(row->created, now),
							 .idle_ms = row->busy ? 0 : now - MIN(row->used, now),
						 });
	make_gate(entry);
	use_secrets(entry, entry->conversation);
	if (entry->own_secrets)
		session_secrets_read(entry->own_secrets);
	open_gate(entry);
	start_journal(entry);
	keeper_start(r->keeper);
	return entry;
}

int session_entry_check(const struct session_entry *entry, struct fail *f)
{
	switch (session_state(entry->session)) {
	case SESSION_DEAD:
		fail_copy(f, session_death(entry->session));
		return -1;
	case SESSION_STARTING:
		return cause_set(f, FAIL_BUSY, CAUSE_STARTING, "session '%s' is still starting",
				 session_id(entry->session));
	case SESSION_STOPPING:
	case SESSION_WARM:
		return cause_no_session(f, session_id(entry->session));
	case SESSION_READY:
	case SESSION_ADOPTING:
		break;
	}
	return 0;
}
