#include "manager/registry/op.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/registry/adoption.h"
#include "manager/registry/member.h"

/* How long a request waits for its session to be taken over. */
#define PATIENCE_MS 30000

static void on_patience_over(void *ctx)
{
	struct op *op = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_BUSY, CAUSE_ADOPTING, "Session '%s' is still being taken over from a server that has ended",
		  op->wanted);
	fail_hint(&f, "Try again in a moment; if that does not help, check that the container engine answers.");
	op_fail(op, &f);
}

static struct op *wait_for(struct op *op, const char *id)
{
	op->wanted = xstrdup(id);
	op->patience = timer_new(op->registry->loop, on_patience_over, op);
	timer_start(op->patience, PATIENCE_MS, 0);
	if (op->member)
		return op;
	if (token_is_valid(id))
		adopt_one(op->conversation, id);
	else
		adopt_word(op->conversation, id);
	return op;
}

static struct op *refuse(struct op *op)
{
	op_end(op);
	return NULL;
}

/* Finds the session in this manager, if the conversation may use it. *id becomes its full id. -1 with f if it may
 * not be used. */
static int find(struct op *op, const char **id_ref, struct fail *f)
{
	struct member *m;
	if (registry_resolve(op->registry, op->conversation->id, *id_ref, &m, f) < 0)
		return -1;
	const char *id = *id_ref = m ? session_id(m->session) : *id_ref;
	/* The store is not queried for a word that cannot be an id, the beginning of one, or a name. */
	if (!m && !token_is_valid(id) && !handle_is_word(id))
		return cause_no_session(f, id);
	if (m && conversation_check(op->conversation, m->thread, id, f) < 0)
		return -1;
	op->member = m && session_state(m->session) != SESSION_STOPPING ? m : NULL;
	return 0;
}

struct op *op_begin(struct op *op, const char *session_id, struct fail *f)
{
	if (find(op, &session_id, f) < 0)
		return refuse(op);
	if (!op->member || session_state(op->member->session) == SESSION_ADOPTING)
		return wait_for(op, session_id);
	if (member_check(op->member, f) < 0 || op->type->start(op, f) < 0)
		return refuse(op);
	return op;
}

struct op *op_seek(struct op *op, const char *session_id, struct fail *f)
{
	if (find(op, &session_id, f) < 0)
		return refuse(op);
	if (!op->member)
		return wait_for(op, session_id);
	op->type->found(op);
	return op;
}
