#include "manager/registry/registry.h"

#include "base/alloc.h"
#include "manager/gate/gate.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/registry/journal.h"
#include "manager/registry/rows.h"
#include "manager/registry/secret-values.h"

struct session_entry *registry_find(struct registry *r, const char *id)
{
	list_for_each(entry, &r->entries, struct session_entry, node)
		if (!*entry->warm && streq(session_id(entry->session), id) && !session_is_lost(entry->session))
			return entry;
	return NULL;
}

int registry_resolve(struct registry *r, const char *conversation, const char *word, struct session_entry **ret,
		     struct fail *f)
{
	AUTO(fail_release) struct fail none = { 0 };
	AUTO(freep) struct handle *handles = NULL;
	AUTO(freep) struct session_entry **entries = NULL;
	size_t n = 0, at = 0, all = 0;
	*ret = registry_find(r, word);
	if (*ret || !conversation)
		return 0;
	list_for_each(entry, &r->entries, struct session_entry, node)
		all++;
	handles = xcalloc(all + 1, sizeof(*handles));
	entries = xcalloc(all + 1, sizeof(struct session_entry *));
	list_for_each(entry, &r->entries, struct session_entry, node) {
		if (*entry->warm || session_is_lost(entry->session) || !streq(entry->conversation, conversation))
			continue;
		handles[n] = (struct handle){ session_id(entry->session), entry->name,
					      session_state(entry->session) != SESSION_DEAD };
		entries[n++] = entry;
	}
	if (handle_find(handles, n, word, &at, &none) == 0)
		*ret = entries[at];
	else if (none.kind != FAIL_NOT_FOUND)
		return fail_move(f, &none), -1;
	return 0;
}

size_t registry_live(const struct registry *r)
{
	size_t n = 0;
	list_for_each(entry, &r->entries, struct session_entry, node)
		n += session_state(entry->session) != SESSION_DEAD;
	return n;
}

struct session_info session_entry_info(const struct session_entry *entry)
{
	const struct session *s = entry->session;
	return (struct session_info){
		.id = session_id(s),
		.name = entry->name,
		.labels = entry->labels,
		.runtime = session_runtime(s)->name,
		.status = session_state_name(session_state(s)),
		.age_seconds = session_age_ms(s) / 1000,
		.idle_seconds = session_idle_ms(s) / 1000,
		.transport = session_transport(s),
		.rules = entry->rules,
		.limits = *session_limits(s),
	};
}

char *session_entry_notice(struct session_entry *entry)
{
	const struct config *c = entry->registry->config;
	if (session_state(entry->session) != SESSION_READY)
		return NULL;
	AUTO(freep) char *time = session_notice(session_left_ms(entry->session), c->max_lifetime, c->idle_ttl);
	AUTO(freep) char *gate = gate_rules(entry->gate) ? gate_take_note(entry->gate) : NULL;
	if (!time || !gate)
		return take_ptr(time) ?: take_ptr(gate);
	return xasprintf("%s %s", gate, time);
}

void session_entry_free(struct session_entry *entry)
{
	list_remove(&entry->node);
	store_cancel(entry->renewal);
	store_cancel(entry->explanation);
	journal_leave(entry->journal);
	gate_free(entry->gate);
	session_free(entry->session);
	session_secrets_free(entry->own_secrets);
	free(entry->conversation);
	free(entry->versions);
	free(entry->name);
	free(entry->labels);
	free(entry->rules);
	free(entry->secrets);
	free(entry->usage);
	free(entry);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

void op_init(struct op *op, struct registry *r, struct conversation *c, const struct op_type *type)
{
	op->registry = r;
	op->conversation = c;
	op->type = type;
	list_append(&r->ops, &op->node);
	r->active_ms = loop_now_ms();
}

void op_end(struct op *op)
{
	op->registry->active_ms = loop_now_ms();
	list_remove(&op->node);
	timer_free(op->timer);
	rows_load_cancel(op->load);
	free(op->wanted);
	op->type->free(op);
}

void op_fail(struct op *op, const struct fail *f)
{
	/* The operation is unlinked first, since the answer may start another one. */
	list_remove(&op->node);
	op->registry->metrics.failed[f->kind]++;
	op->type->fail(op, f);
	op_end(op);
}

void op_cancel(struct op *op)
{
	list_remove(&op->node);
	if (op->type->cancel)
		op->type->cancel(op);
	op_end(op);
}

void op_interrupt(struct op *op)
{
	if (op->type->interrupt)
		op->type->interrupt(op);
}

void op_soon(struct op *op, void (*fn)(void *ctx), void *ctx)
{
	op->timer = timer_new(op->registry->loop, fn, ctx);
	timer_start(op->timer, 0, 0);
}

static void on_rows(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct op *op = ctx;
	op->load = NULL;
	if (f)
		op_fail(op, f);
	else
		op->type->rows(op, rows);
}

void op_load_rows(struct op *op)
{
	struct registry *r = op->registry;
	op->load = rows_load(&(struct rows_spec){
		.loop = r->loop, .config = r->config, .store = r->store, .fn = on_rows, .ctx = op });
}

static void wait_over(struct op *op)
{
	op->timer = timer_free(op->timer);
	free(take_ptr(op->wanted));
}

/* Callbacks may change the list, so it is walked from the start after each one. */
static struct op *next_waiting(struct session_entry *entry)
{
	list_for_each(op, &entry->registry->ops, struct op, node)
		if (op->entry == entry && op->wanted)
			return op;
	return NULL;
}

static struct op *next_of(struct session_entry *entry)
{
	list_for_each(op, &entry->registry->ops, struct op, node)
		if (op->entry == entry && op->type->stopped)
			return op;
	return NULL;
}

void ops_ready(struct session_entry *entry)
{
	struct op *op;
	while ((op = next_waiting(entry))) {
		AUTO(fail_release) struct fail f = { 0 };
		wait_over(op);
		if (op->type->start(op, &f) < 0)
			op_fail(op, &f);
	}
}

void ops_dead(struct session_entry *entry, const struct fail *f)
{
	struct op *op;
	while ((op = next_waiting(entry)))
		if (!op->type->dead || !op->type->dead(op, f))
			op_fail(op, f);
}

bool ops_stopped(struct session_entry *entry, const struct fail *f)
{
	struct op *op;
	bool any = false;
	while ((op = next_of(entry))) {
		any = true;
		list_remove(&op->node);
		op->type->stopped(op, f);
		op_end(op);
	}
	AUTO(fail_release) struct fail gone = { 0 };
	cause_no_session(&gone, session_id(entry->session));
	ops_dead(entry, &gone);
	return any;
}

void ops_swept(struct registry *r)
{
	list_for_each(op, &r->ops, struct op, node)
		if (op->type->swept)
			op->type->swept(op);
}

void ops_adopted(struct registry *r)
{
	list_for_each(op, &r->ops, struct op, node)
		if (op->type->adopted)
			op->type->adopted(op);
}

static struct op *next_searching(struct registry *r, const struct conversation *c, const char *id)
{
	list_for_each(op, &r->ops, struct op, node)
		if (!op->entry && op->conversation == c && op->wanted && streq(op->wanted, id))
			return op;
	return NULL;
}

void ops_rename(struct registry *r, const struct conversation *c, const char *word, const char *id)
{
	for (struct op *op; (op = next_searching(r, c, word));) {
		free(op->wanted);
		op->wanted = xstrdup(id);
	}
}

void ops_found(struct registry *r, struct conversation *c, const char *id, struct session_entry *entry,
	       const struct fail *f)
{
	struct op *op;
	while ((op = next_searching(r, c, id))) {
		op->entry = entry;
		if (!entry) {
			op_fail(op, f);
		} else if (op->type->found) {
			wait_over(op);
			op->type->found(op);
		}
	}
	if (entry && session_state(entry->session) == SESSION_READY)
		ops_ready(entry);
}
