/* Secrets of tenants: set, list and remove. */
#include <ctype.h>

#include "base/alloc.h"
#include "manager/registry/registry.h"
#include "manager/registry/secret-values.h"

/* One struct for all kinds; each uses the request of its own. */
struct secret_op {
	struct op op;
	struct set_secret_request set;
	struct secrets_request list;
	struct remove_secret_request remove;
	struct secret_info info; /* owned strings */
	struct store_job *job;
};

static struct secret_op *secret_op_of(struct op *op)
{
	return container_of(op, struct secret_op, op);
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void secret_op_free(struct op *op)
{
	struct secret_op *o = secret_op_of(op);
	store_cancel(o->job);
	free((char *)o->info.name);
	free((char *)o->info.tenant);
	free((char *)o->info.hosts);
	free((char *)o->info.header);
	free((char *)o->info.query);
	free((char *)o->info.basic);
	free(o);
}

static struct secret_op *secret_op_new(struct manager *m, const struct op_type *type, const struct secret_info *info)
{
	struct secret_op *o = new0(struct secret_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, type);
	o->info = (struct secret_info){ .name = copy(info->name),
					.tenant = copy(info->tenant),
					.hosts = copy(info->hosts),
					.header = copy(info->header),
					.query = copy(info->query),
					.basic = copy(info->basic) };
	return o;
}

/* --- set ----------------------------------------------------------------------------------------------------------- */

static void set_fail(struct op *op, const struct fail *f)
{
	struct secret_op *o = secret_op_of(op);
	o->set.on_done(o->set.ctx, NULL, f);
}

static void on_set(void *ctx, const struct fail *f)
{
	struct secret_op *o = ctx;
	o->job = NULL;
	if (!f)
		secret_values_changed(o->op.registry->values);
	o->set.on_done(o->set.ctx, f ? NULL : &o->info, f);
	op_end(&o->op);
}

static int check_hosts(const struct set_secret_request *req, struct buf *hosts, struct fail *f)
{
	if (req->n_hosts < 1 || req->n_hosts > SECRET_HOSTS_MAX)
		return fail_set(f, FAIL_INVALID, "a secret needs 1 to %d hosts", SECRET_HOSTS_MAX);
	for (size_t i = 0; i < req->n_hosts; i++)
		if (secret_host_add(hosts, req->hosts[i], f) < 0)
			return -1;
	return 0;
}

struct op *manager_set_secret(struct manager *m, const struct set_secret_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = set_fail, .free = secret_op_free };
	AUTO(buf_release) struct buf hosts = { 0 };
	struct secret_info info = req->info;
	if (secret_check(&info, req->value, f) < 0 || check_hosts(req, &hosts, f) < 0)
		return NULL;
	AUTO(freep) char *header = copy(info.header);
	for (char *c = header; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	info.hosts = buf_str(&hosts);
	info.header = header;
	struct secret_op *o = secret_op_new(m, &type, &info);
	o->set = *req;
	o->info.created_ms = o->info.changed_ms = store_now_ms();
	o->set.value = NULL;
	struct secret_record row = { .info = o->info, .value = req->value };
	o->job = store_secret_put(m->registry.store, &row, on_set, o);
	return &o->op;
}

/* --- list and remove ----------------------------------------------------------------------------------------------- */

static void list_fail(struct op *op, const struct fail *f)
{
	struct secret_op *o = secret_op_of(op);
	o->list.on_done(o->list.ctx, NULL, 0, f);
}

static void on_listed(void *ctx, const struct secret_record *v, size_t n, const struct fail *f)
{
	struct secret_op *o = ctx;
	AUTO(freep) struct secret_info *list = xcalloc(n + 1, sizeof(*list));
	o->job = NULL;
	for (size_t i = 0; i < n; i++)
		list[i] = v[i].info;
	o->list.on_done(o->list.ctx, list, n, f);
	op_end(&o->op);
}

static void on_no_store(void *ctx)
{
	on_listed(ctx, NULL, 0, NULL);
}

struct op *manager_secrets(struct manager *m, const struct secrets_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = list_fail, .free = secret_op_free };
	struct secret_op *o = secret_op_new(m, &type, &(struct secret_info){ .tenant = req->tenant });
	o->list = *req;
	/* A listing must not create a store. */
	if (store_is_there(m->registry.config))
		o->job = store_secrets(m->registry.store, o->info.tenant, on_listed, o);
	else
		op_soon(&o->op, on_no_store, o);
	return &o->op;
}

static void remove_fail(struct op *op, const struct fail *f)
{
	struct secret_op *o = secret_op_of(op);
	o->remove.on_done(o->remove.ctx, f);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct secret_op *o = ctx;
	o->job = NULL;
	if (!f)
		secret_values_changed(o->op.registry->values);
	o->remove.on_done(o->remove.ctx, f);
	op_end(&o->op);
}

struct op *manager_remove_secret(struct manager *m, const struct remove_secret_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = remove_fail, .free = secret_op_free };
	struct secret_op *o =
		secret_op_new(m, &type, &(struct secret_info){ .tenant = req->tenant, .name = req->name });
	o->remove = *req;
	o->job = store_secret_remove(m->registry.store, o->info.tenant, o->info.name, on_removed, o);
	return &o->op;
}
