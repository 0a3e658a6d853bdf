/* Signatures of links: loads the key once, off the loop; then signs and checks at once. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/registry/registry.h"

_Static_assert(MANAGER_SECRET_SIZE == TOKEN_SIZE, "one size of secrets");
_Static_assert(MANAGER_SIGNATURE_SIZE == SIGNATURE_SIZE, "one size of signatures");

struct sign_op {
	struct op op;
	struct signing_request request;
	struct store_job *job;
};

static struct sign_op *sign_op_of(struct op *op)
{
	return container_of(op, struct sign_op, op);
}

static void sign_op_free(struct op *op)
{
	struct sign_op *o = sign_op_of(op);
	store_cancel(o->job);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct sign_op *o = sign_op_of(op);
	o->request.on_done(o->request.ctx, f);
}

void signing_key_free(struct registry *r)
{
	if (r->signing_key)
		explicit_bzero(r->signing_key, strlen(r->signing_key));
	free(take_ptr(r->signing_key));
}

static void on_key(void *ctx, const char *text, const struct fail *f)
{
	struct sign_op *o = ctx;
	struct registry *r = o->op.registry;
	o->job = NULL;
	if (text && !r->signing_key)
		r->signing_key = xstrdup(text);
	o->request.on_done(o->request.ctx, f);
	op_end(&o->op);
}

struct op *manager_prepare_signing(struct manager *m, const struct signing_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = answer_fail, .free = sign_op_free };
	struct sign_op *o = new0(struct sign_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, &type);
	o->request = *req;
	o->job = store_derive_key(m->registry.store, "signatures", on_key, o);
	return &o->op;
}

bool manager_can_sign(const struct manager *m)
{
	return m->registry.signing_key;
}

void manager_sign(const struct manager *m, const char *text, char ret[MANAGER_SIGNATURE_SIZE])
{
	token_sign(ret, m->registry.signing_key, text);
}

bool manager_is_signed(const struct manager *m, const char *text, const char *signature)
{
	return token_is_signed(signature, m->registry.signing_key, text);
}

void manager_make_secret(char ret[MANAGER_SECRET_SIZE])
{
	token_make(ret);
}

bool manager_secrets_equal(const char *a, const char *b)
{
	return token_equal(a, b);
}
