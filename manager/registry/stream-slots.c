#include "manager/registry/stream-slots.h"

#include "base/alloc.h"
#include "manager/model/token.h"

struct stream_slots {
	struct registry *registry;
	struct timer *renew;
	size_t n; /* open streams of this server */
};

struct stream_op {
	struct op op;
	struct claim_stream_request request;
	char id[TOKEN_SIZE];
	struct store_job *job;
};

static struct stream_op *stream_op_of(struct op *op)
{
	return container_of(op, struct stream_op, op);
}

/* --- claim --------------------------------------------------------------------------------------------------------- */

static void stream_op_fail(struct op *op, const struct fail *f)
{
	struct stream_op *o = stream_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

/* A claim that is cancelled may have been recorded. */
static void stream_op_free(struct op *op)
{
	struct stream_op *o = stream_op_of(op);
	if (o->job) {
		store_cancel(o->job);
		store_stream_release(o->op.registry->store, o->id);
	}
	free(o);
}

static void on_claimed(void *ctx, const struct fail *f)
{
	struct stream_op *o = ctx;
	struct stream_slots *s = o->op.registry->streams;
	o->job = NULL;
	if (!f && !s->n++)
		timer_start(s->renew, STREAM_LEASE_MS / 4, STREAM_LEASE_MS / 4);
	o->request.on_done(o->request.ctx, f ? NULL : o->id, f);
	op_end(&o->op);
}

struct op *manager_claim_stream(struct manager *m, const struct claim_stream_request *req)
{
	static const struct op_type type = { .fail = stream_op_fail, .free = stream_op_free };
	struct stream_op *o = new0(struct stream_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, &type);
	o->request = *req;
	token_make(o->id);
	struct stream_record row = { .id = o->id, .tenant = req->tenant, .owner = m->registry.self.id };
	o->job = store_stream_claim(m->registry.store, &row, on_claimed, o);
	return &o->op;
}

void manager_release_stream(struct manager *m, const char *id)
{
	struct stream_slots *s = m->registry.streams;
	store_stream_release(m->registry.store, id);
	if (!--s->n)
		timer_stop(s->renew);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void renew(void *ctx)
{
	const struct stream_slots *s = ctx;
	store_streams_renew(s->registry->store, s->registry->self.id);
}

struct stream_slots *stream_slots_new(struct registry *r)
{
	struct stream_slots *s = new0(struct stream_slots);
	s->registry = r;
	s->renew = timer_new(r->loop, renew, s);
	return s;
}

void stream_slots_leave(struct stream_slots *s)
{
	timer_stop(s->renew);
	if (s->n)
		store_streams_leave(s->registry->store, s->registry->self.id);
}

struct stream_slots *stream_slots_free(struct stream_slots *s)
{
	if (!s)
		return NULL;
	timer_free(s->renew);
	free(s);
	return NULL;
}
