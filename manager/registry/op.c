#include "manager/registry/op.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/registry/adoption.h"
#include "manager/registry/session-entry.h"

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
	op->timer = timer_new(op->registry->loop, on_patience_over, op);
	timer_start(op->timer, PATIENCE_MS, 0);
	if (op->entry)
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

/* Sets op->entry and *id_ref, the full id, if this manager has the session. -1 with f if the conversation must not use
 * the session. */
static int find(struct op *op, const char **id_ref, struct fail *f)
{
	struct session_entry *entry;
	if (registry_resolve(op->registry, op->conversation->id, *id_ref, &entry, f) < 0)
		return -1;
	const char *id = *id_ref = entry ? session_id(entry->session) : *id_ref;
	/* The store is not queried for a word that cannot be an id, the beginning of one, or a name. */
	if (!entry && !token_is_valid(id) && !handle_is_word(id))
		return cause_no_session(f, id);
	if (entry && conversation_check(op->conversation, entry->conversation, id, f) < 0)
		return -1;
	op->entry = entry && session_state(entry->session) != SESSION_STOPPING ? entry : NULL;
	return 0;
}

struct op *op_begin(struct op *op, const char *session_id, struct fail *f)
{
	if (find(op, &session_id, f) < 0)
		return refuse(op);
	if (!op->entry || session_state(op->entry->session) == SESSION_ADOPTING)
		return wait_for(op, session_id);
	if (session_entry_check(op->entry, f) < 0 || op->type->start(op, f) < 0)
		return refuse(op);
	return op;
}

struct op *op_seek(struct op *op, const char *session_id, struct fail *f)
{
	if (find(op, &session_id, f) < 0)
		return refuse(op);
	if (!op->entry)
		return wait_for(op, session_id);
	op->type->found(op);
	return op;
}
