#include "manager/gate/verify.h"

#include "base/alloc.h"
#include "base/work.h"

struct verify_load {
	struct work *work;
	char *ca_file;
	struct tls_context *context;
	struct fail fail;
	void (*on_done)(void *ctx, struct tls_context *context, const struct fail *f);
	void *ctx;
};

static void load(void *ctx)
{
	struct verify_load *l = ctx;
	l->context = tls_context_client(l->ca_file, &l->fail);
	if (l->context)
		tls_context_offer_http1(l->context);
}

static void on_loaded(void *ctx, bool forgotten)
{
	struct verify_load *l = ctx;
	if (!forgotten)
		l->on_done(l->ctx, l->context, l->fail.kind ? &l->fail : NULL);
	tls_context_free(l->context);
	fail_release(&l->fail);
	free(l->ca_file);
	free(l);
}

struct verify_load *verify_load_start(struct loop *loop, const char *ca_file,
				      void (*on_done)(void *ctx, struct tls_context *context, const struct fail *f),
				      void *ctx)
{
	struct verify_load *l = new0(struct verify_load);
	l->ca_file = ca_file ? xstrdup(ca_file) : NULL;
	l->on_done = on_done;
	l->ctx = ctx;
	l->work = work_start(loop, &(struct work_spec){ .fn = load, .on_done = on_loaded, .ctx = l });
	return l;
}

struct verify_load *verify_load_cancel(struct verify_load *l)
{
	if (l)
		work_forget(l->work);
	return NULL;
}
