/* Answers to requests that a client may repeat. */
#include <assert.h>

#include "base/alloc.h"
#include "manager/files/digest.h"
#include "manager/model/token.h"
#include "manager/registry/answer-budget.h"
#include "manager/registry/registry.h"

struct answer_op {
	struct op op;
	struct begin_answer_request begin;
	struct keep_answer_request keep;
	char id[TOKEN_HASH_SIZE], request[TOKEN_HASH_SIZE];
	struct store_job *job;
};

static struct answer_op *answer_op_of(struct op *op)
{
	return container_of(op, struct answer_op, op);
}

static void answer_op_free(struct op *op)
{
	struct answer_op *o = answer_op_of(op);
	store_cancel(o->job);
	free(o);
}

static struct answer_op *answer_op_new(struct manager *m, const struct op_type *type)
{
	struct answer_op *o = new0(struct answer_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, type);
	return o;
}

/* --- begin --------------------------------------------------------------------------------------------------------- */

static void begin_fail(struct op *op, const struct fail *f)
{
	struct answer_op *o = answer_op_of(op);
	o->begin.on_done(o->begin.ctx, ANSWER_NEW, NULL, NULL, f);
}

static void on_begun(void *ctx, const struct answer_record *found, const struct fail *f)
{
	struct answer_op *o = ctx;
	struct kept_answer answer = { 0 };
	enum answer_state state = ANSWER_NEW;
	AUTO(fail_release) struct fail full = { 0 };
	struct registry *r = o->op.registry;
	o->job = NULL;
	if (!f && !found && answer_budget_take(&r->answers, o->begin.tenant, &full) < 0) {
		store_answer_drop(r->store, o->id);
		f = &full;
	} else if (found && !streq(found->request, o->request)) {
		state = ANSWER_OTHER;
	} else if (found && !found->status) {
		state = ANSWER_UNDER_WAY;
	} else if (found) {
		state = ANSWER_KEPT;
		answer = (struct kept_answer){ found->status, found->type, found->location, found->body };
	}
	o->begin.on_done(o->begin.ctx, state, o->id, &answer, f);
	op_end(&o->op);
}

struct op *manager_begin_answer(struct manager *m, const struct begin_answer_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = begin_fail, .free = answer_op_free };
	struct answer_op *o = answer_op_new(m, &type);
	o->begin = *req;
	token_hash(o->id, (const char *const[]){ req->tenant, req->key ? req->key : "", req->name }, 3);
	token_hash(o->request, (const char *const[]){ req->request, req->body }, 2);
	o->job = store_answer_begin(m->registry.store, o->id, o->request, on_begun, o);
	return &o->op;
}

void manager_hash(const void *data, size_t n, char ret[MANAGER_HASH_SIZE])
{
	static_assert(MANAGER_HASH_SIZE == DIGEST_SIZE, "the same text");
	struct digest *d = digest_new(n);
	digest_add(d, data, n);
	digest_end(d, ret);
	digest_free(d);
}

/* --- end ----------------------------------------------------------------------------------------------------------- */

static void keep_fail(struct op *op, const struct fail *f)
{
	struct answer_op *o = answer_op_of(op);
	o->keep.on_done(o->keep.ctx, f);
}

static void on_kept(void *ctx, const struct fail *f)
{
	struct answer_op *o = ctx;
	o->job = NULL;
	o->keep.on_done(o->keep.ctx, f);
	op_end(&o->op);
}

struct op *manager_keep_answer(struct manager *m, const struct keep_answer_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = keep_fail, .free = answer_op_free };
	struct answer_op *o = answer_op_new(m, &type);
	o->keep = *req;
	if (req->answer.body)
		answer_budget_add(&m->registry.answers, req->tenant, strlen(req->answer.body));
	struct answer_record row = { .id = req->id,
				     .status = req->answer.status,
				     .type = req->answer.type,
				     .location = req->answer.location,
				     .body = req->answer.body };
	o->job = store_answer_keep(m->registry.store, &row, on_kept, o);
	return &o->op;
}

void manager_drop_answer(struct manager *m, const char *id)
{
	store_answer_drop(m->registry.store, id);
}
