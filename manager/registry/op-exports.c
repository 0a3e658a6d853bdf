/* Lists the stored exports of one conversation or of all, and deletes one. */
#include "base/alloc.h"
#include "manager/files/exports.h"
#include "manager/files/unpack.h"
#include "manager/registry/conversation.h"
#include "manager/registry/registry.h"

struct exports_op {
	struct op op;
	struct exports_request request;
	struct conversation_wait wait;
	char *before_id;
	struct store_job *job;
};

static struct exports_op *exports_op_of(struct op *op)
{
	return container_of(op, struct exports_op, op);
}

static void exports_op_free(struct op *op)
{
	struct exports_op *o = exports_op_of(op);
	list_remove(&o->wait.node);
	store_cancel(o->job);
	free(o->before_id);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct exports_op *o = exports_op_of(op);
	o->request.on_done(o->request.ctx, NULL, 0, f);
}

static void on_exports(void *ctx, const struct export_list *list, const struct fail *f)
{
	struct exports_op *o = ctx;
	size_t n = list ? list->n : 0;
	struct export_info *v = xcalloc(n + 1, sizeof(*v));
	o->job = NULL;
	for (size_t i = 0; i < n; i++)
		export_info_fill(&v[i], o->op.registry->config, &list->v[i]);
	o->request.on_done(o->request.ctx, v, n, f);
	for (size_t i = 0; i < n; i++)
		export_info_release(&v[i]);
	free(v);
	op_end(&o->op);
}

static void on_nothing(void *ctx)
{
	on_exports(ctx, NULL, NULL);
}

static void load(struct exports_op *o, const char *conversation)
{
	o->job = store_exports(o->op.registry->store, conversation, o->request.before_ms, o->before_id,
			       o->request.limit, on_exports, o);
}

static void on_known(void *ctx, const char *id)
{
	struct exports_op *o = ctx;
	/* A user without a conversation has no exports. */
	if (id)
		load(o, id);
	else
		op_soon(&o->op, on_nothing, o);
}

static struct exports_op *exports_op_new(struct registry *r, struct conversation *c, const struct exports_request *req)
{
	static const struct op_type type = { .fail = answer_fail, .free = exports_op_free };
	struct exports_op *o = new0(struct exports_op);
	op_init(&o->op, r, c, &type);
	o->request = *req;
	o->request.before_id = NULL;
	o->before_id = req->before_id ? xstrdup(req->before_id) : NULL;
	list_init(&o->wait.node);
	return o;
}

struct op *manager_exports(struct conversation *c, const struct exports_request *req, struct fail *f UNUSED)
{
	struct exports_op *o = exports_op_new(c->registry, c, req);
	if (c->id) {
		load(o, c->id);
		return &o->op;
	}
	o->wait.fn = on_known;
	o->wait.ctx = o;
	conversation_prepare(c, &o->wait);
	return &o->op;
}

struct op *manager_all_exports(struct manager *m, const char *conversation, const struct exports_request *req,
			       struct fail *f UNUSED)
{
	struct registry *r = &m->registry;
	struct exports_op *o = exports_op_new(r, /* c= */ NULL, req);
	/* A listing must not create a store; without one there are no exports. */
	if (store_is_there(r->config))
		load(o, conversation);
	else
		op_soon(&o->op, on_nothing, o);
	return &o->op;
}

/* --- delete ------------------------------------------------------------------------------------------------------ */

struct delete_op {
	struct op op;
	struct delete_export_request request;
	char *id, *tenant;
	struct store_job *job;
};

static struct delete_op *delete_op_of(struct op *op)
{
	return container_of(op, struct delete_op, op);
}

static void delete_op_free(struct op *op)
{
	struct delete_op *o = delete_op_of(op);
	store_cancel(o->job);
	free(o->id);
	free(o->tenant);
	free(o);
}

static void delete_fail(struct op *op, const struct fail *f)
{
	struct delete_op *o = delete_op_of(op);
	o->request.on_done(o->request.ctx, f);
}

static void on_deleted(void *ctx, const struct fail *f)
{
	struct delete_op *o = ctx;
	o->job = NULL;
	o->request.on_done(o->request.ctx, f);
	op_end(&o->op);
}

static void on_missing(void *ctx)
{
	struct delete_op *o = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_NOT_FOUND, "there is no export '%.64s'", o->id);
	fail_hint(&f, "`husk exports --all` lists them with their ids.");
	on_deleted(o, &f);
}

static void on_found(void *ctx, const struct export_record *found, const struct fail *f)
{
	struct delete_op *o = ctx;
	struct registry *r = o->op.registry;
	o->job = NULL;
	if (f) {
		on_deleted(o, f);
	} else if (!found || (o->tenant && !tenant_owns(o->tenant, found->thread))) {
		on_missing(o);
	} else {
		AUTO(freep) char *content = export_file(r->config, found);
		o->job = store_export_delete(r->store, found, content, on_deleted, o);
	}
}

struct op *manager_delete_export(struct manager *m, const struct delete_export_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = delete_fail, .free = delete_op_free };
	struct registry *r = &m->registry;
	struct delete_op *o = new0(struct delete_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->request.id = NULL;
	o->id = xstrdup(req->id);
	o->tenant = req->tenant ? xstrdup(req->tenant) : NULL;
	if (store_is_there(r->config))
		o->job = store_export_get(r->store, /* thread= */ NULL, o->id, on_found, o);
	else
		op_soon(&o->op, on_missing, o);
	return &o->op;
}

int export_bring(const struct export_info *info, const char *to, struct strv *notices, struct fail *f)
{
	return info->directory ? unpack_folder(info->host_path, to, notices, f) :
				 unpack_file(info->host_path, to, info->mode, info->mtime_ms, f);
}
