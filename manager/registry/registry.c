#include "manager/registry/registry.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"

struct member *registry_find(struct registry *r, const char *id)
{
	list_for_each(m, &r->members, struct member, node)
		if (!*m->warm && streq(session_id(m->session), id) && !session_is_lost(m->session))
			return m;
	return NULL;
}

int registry_resolve(struct registry *r, const char *thread, const char *word, struct member **ret, struct fail *f)
{
	AUTO(fail_release) struct fail none = { 0 };
	AUTO(freep) struct handle *handles = NULL;
	AUTO(freep) struct member **members = NULL;
	size_t n = 0, at = 0, all = 0;
	*ret = registry_find(r, word);
	if (*ret || !thread)
		return 0;
	list_for_each(m, &r->members, struct member, node)
		all++;
	handles = xcalloc(all + 1, sizeof(*handles));
	members = xcalloc(all + 1, sizeof(struct member *));
	list_for_each(m, &r->members, struct member, node) {
		if (*m->warm || session_is_lost(m->session) || !streq(m->thread, thread))
			continue;
		handles[n] =
			(struct handle){ session_id(m->session), m->name, session_state(m->session) != SESSION_DEAD };
		members[n++] = m;
	}
	if (handle_find(handles, n, word, &at, &none) == 0)
		*ret = members[at];
	else if (none.kind != FAIL_NOT_FOUND)
		return fail_move(f, &none), -1;
	return 0;
}

size_t registry_live(const struct registry *r)
{
	size_t n = 0;
	list_for_each(m, &r->members, struct member, node)
		n += session_state(m->session) != SESSION_DEAD;
	return n;
}

struct session_info member_info(const struct member *m)
{
	const struct session *s = m->session;
	return (struct session_info){
		.id = session_id(s),
		.name = m->name,
		.runtime = session_runtime(s)->name,
		.status = session_state_name(session_state(s)),
		.age_seconds = session_age_ms(s) / 1000,
		.idle_seconds = session_idle_ms(s) / 1000,
		.transport = session_transport(s),
		.limits = *session_limits(s),
	};
}

void member_free(struct member *m)
{
	list_remove(&m->node);
	store_cancel(m->renewal);
	store_cancel(m->explanation);
	session_free(m->session);
	free(m->thread);
	free(m->versions);
	free(m->name);
	free(m);
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
	timer_free(op->patience);
	free(op->wanted);
	op->type->free(op);
}

void op_fail(struct op *op, const struct fail *f)
{
	/* Unlinked first: the answer may start another operation. */
	list_remove(&op->node);
	op->type->fail(op, f);
	op_end(op);
}

static void wait_over(struct op *op)
{
	op->patience = timer_free(op->patience);
	free(take_ptr(op->wanted));
}

/* Callbacks may change the list, so it is walked from the start after each one. */
static struct op *next_waiting(struct member *m)
{
	list_for_each(op, &m->registry->ops, struct op, node)
		if (op->member == m && op->wanted)
			return op;
	return NULL;
}

static struct op *next_of(struct member *m)
{
	list_for_each(op, &m->registry->ops, struct op, node)
		if (op->member == m && op->type->stopped)
			return op;
	return NULL;
}

void ops_ready(struct member *m)
{
	struct op *op;
	while ((op = next_waiting(m))) {
		AUTO(fail_release) struct fail f = { 0 };
		wait_over(op);
		if (op->type->start(op, &f) < 0)
			op_fail(op, &f);
	}
}

void ops_dead(struct member *m, const struct fail *f)
{
	struct op *op;
	while ((op = next_waiting(m)))
		if (!op->type->dead || !op->type->dead(op, f))
			op_fail(op, f);
}

bool ops_stopped(struct member *m, const struct fail *f)
{
	struct op *op;
	bool any = false;
	while ((op = next_of(m))) {
		any = true;
		list_remove(&op->node);
		op->type->stopped(op, f);
		op_end(op);
	}
	AUTO(fail_release) struct fail gone = { 0 };
	cause_no_session(&gone, session_id(m->session));
	ops_dead(m, &gone);
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

static struct op *next_looking(struct registry *r, const struct conversation *c, const char *id)
{
	list_for_each(op, &r->ops, struct op, node)
		if (!op->member && op->conversation == c && op->wanted && streq(op->wanted, id))
			return op;
	return NULL;
}

void ops_rename(struct registry *r, const struct conversation *c, const char *word, const char *id)
{
	for (struct op *op; (op = next_looking(r, c, word));) {
		free(op->wanted);
		op->wanted = xstrdup(id);
	}
}

void ops_found(struct registry *r, struct conversation *c, const char *id, struct member *m, const struct fail *f)
{
	struct op *op;
	while ((op = next_looking(r, c, id))) {
		op->member = m;
		if (!m) {
			op_fail(op, f);
		} else if (op->type->found) {
			wait_over(op);
			op->type->found(op);
		}
	}
	if (m && session_state(m->session) == SESSION_READY)
		ops_ready(m);
}
