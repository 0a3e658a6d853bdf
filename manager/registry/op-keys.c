/* Keys of the API: make, list, remove and check. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/model/token.h"
#include "manager/registry/known-keys.h"
#include "manager/registry/registry.h"

#define NAME_MAX_BYTES 64
#define PREFIX "husk_"
/* Characters of the id, which is public. */
#define ID_CHARS 8
/* husk_ + id + _ + secret */
#define KEY_CHARS (sizeof(PREFIX) - 1 + ID_CHARS + 1 + TOKEN_SIZE - 1)

/* One struct for all kinds; each uses the request of its own. */
struct key_op {
	struct op op;
	struct add_key_request add;
	struct keys_request list;
	struct remove_key_request remove;
	struct check_key_request check;
	struct tenant_request tenant_of;
	struct tenant_limits limits;
	bool set_limits;
	char *name, *tenant, *conversation, *scopes;
	char *text; /* the key; wiped */
	char id[ID_CHARS + 1];
	uint64_t created;
	struct store_job *job;
};

static struct key_op *key_op_of(struct op *op)
{
	return container_of(op, struct key_op, op);
}

static void key_op_free(struct op *op)
{
	struct key_op *o = key_op_of(op);
	store_cancel(o->job);
	if (o->text)
		explicit_bzero(o->text, strlen(o->text));
	free(o->text);
	free(o->name);
	free(o->tenant);
	free(o->conversation);
	free(o->scopes);
	free(o);
}

static struct key_op *key_op_new(struct manager *m, const struct op_type *type, const char *tenant)
{
	struct key_op *o = new0(struct key_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, type);
	o->tenant = tenant ? xstrdup(tenant) : NULL;
	return o;
}

static struct key_info info_of(const struct key_record *r)
{
	AUTO(fail_release) struct fail ignored = { 0 };
	struct key_info info = { .id = r->id,
				 .name = r->name,
				 .tenant = r->tenant,
				 .conversation = r->conversation,
				 .created_ms = r->created,
				 .used_ms = r->used,
				 .max_streams = r->streams };
	(void)scopes_parse(r->scopes ? r->scopes : "", &info.scopes, &ignored);
	return info;
}

/* --- add ----------------------------------------------------------------------------------------------------------- */

static void add_fail(struct op *op, const struct fail *f)
{
	struct key_op *o = key_op_of(op);
	o->add.on_done(o->add.ctx, NULL, NULL, f);
}

static struct key_record record_of(const struct key_op *o)
{
	return (struct key_record){ .id = o->id,
				    .name = o->name,
				    .tenant = o->tenant,
				    .scopes = o->scopes,
				    .conversation = o->conversation,
				    .created = o->created };
}

static void on_added(void *ctx, const struct fail *f)
{
	struct key_op *o = ctx;
	o->job = NULL;
	if (!f && o->set_limits) {
		o->set_limits = false;
		o->job = store_tenant_set(o->op.registry->store, o->tenant, &o->limits, on_added, o);
		return;
	}
	struct key_record row = record_of(o);
	struct key_info info = info_of(&row);
	o->add.on_done(o->add.ctx, f ? NULL : o->text, f ? NULL : &info, f);
	op_end(&o->op);
}

static void make_key(struct key_op *o)
{
	char id[TOKEN_SIZE], secret[TOKEN_SIZE];
	token_make(id);
	token_make(secret);
	snprintf(o->id, sizeof(o->id), "%.*s", ID_CHARS, id);
	o->text = xasprintf(PREFIX "%s_%s", o->id, secret);
	explicit_bzero(secret, sizeof(secret));
}

/* Names are shown on terminals. */
static bool name_is_valid(const char *name)
{
	AUTO(buf_release) struct buf clean = { 0 };
	size_t n = strlen(name);
	if (n < 1 || n > NAME_MAX_BYTES)
		return false;
	utf8_clean_name(&clean, name);
	return streq(buf_str(&clean), name);
}

struct op *manager_add_key(struct manager *m, const struct add_key_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = add_fail, .free = key_op_free };
	if (!name_is_valid(req->name)) {
		fail_set(f, FAIL_INVALID,
			 "the name of a key must have 1 to %d bytes of UTF-8 without control characters",
			 NAME_MAX_BYTES);
		return NULL;
	}
	if (!tenant_name_is_valid(req->tenant)) {
		fail_set(f, FAIL_INVALID, "'%.64s' is not the name of a tenant", req->tenant);
		fail_hint(f, "Use 1 to %d lower-case letters, digits and hyphens.", TENANT_NAME_MAX);
		return NULL;
	}
	if (!req->scopes || (req->own && !streq(req->tenant, TENANT_LOCAL))) {
		fail_set(f, FAIL_INVALID, "a key needs a scope");
		return NULL;
	}
	struct key_op *o = key_op_new(m, &type, req->tenant);
	o->add = *req;
	o->name = xstrdup(req->name);
	o->scopes = scopes_text(req->scopes);
	o->created = store_now_ms();
	o->set_limits = req->limits;
	if (req->limits)
		o->limits = *req->limits;
	make_key(o);
	AUTO(freep) char *inner = xasprintf("key-%s", o->id);
	o->conversation = req->own ? NULL : tenant_conversation(req->tenant, inner);
	struct key_record row = record_of(o);
	o->job = store_key_add(m->registry.store, &row, o->text, on_added, o);
	return &o->op;
}

/* --- list and remove ----------------------------------------------------------------------------------------------- */

static void list_fail(struct op *op, const struct fail *f)
{
	struct key_op *o = key_op_of(op);
	o->list.on_done(o->list.ctx, NULL, 0, f);
}

static void on_listed(void *ctx, const struct key_record *v, size_t n, const struct fail *f)
{
	struct key_op *o = ctx;
	AUTO(freep) struct key_info *list = xcalloc(n + 1, sizeof(*list));
	o->job = NULL;
	for (size_t i = 0; i < n; i++)
		list[i] = info_of(&v[i]);
	o->list.on_done(o->list.ctx, list, n, f);
	op_end(&o->op);
}

static void on_no_keys(void *ctx)
{
	on_listed(ctx, NULL, 0, NULL);
}

struct op *manager_keys(struct manager *m, const struct keys_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = list_fail, .free = key_op_free };
	struct key_op *o = key_op_new(m, &type, req->tenant);
	o->list = *req;
	/* A listing must not create a store. */
	if (store_is_there(m->registry.config))
		o->job = store_keys(m->registry.store, o->tenant, on_listed, o);
	else
		op_soon(&o->op, on_no_keys, o);
	return &o->op;
}

static void remove_fail(struct op *op, const struct fail *f)
{
	struct key_op *o = key_op_of(op);
	o->remove.on_done(o->remove.ctx, f);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct key_op *o = ctx;
	o->job = NULL;
	known_keys_forget(o->op.registry->keys);
	o->remove.on_done(o->remove.ctx, f);
	op_end(&o->op);
}

struct op *manager_remove_key(struct manager *m, const struct remove_key_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = remove_fail, .free = key_op_free };
	struct key_op *o = key_op_new(m, &type, req->tenant);
	o->remove = *req;
	o->job = store_key_remove(m->registry.store, o->tenant, req->key, on_removed, o);
	return &o->op;
}

/* --- check --------------------------------------------------------------------------------------------------------- */

const struct key_info *manager_known_key(struct manager *m, const char *key)
{
	return known_keys_find(m->registry.keys, key);
}

static void check_fail(struct op *op, const struct fail *f)
{
	struct key_op *o = key_op_of(op);
	o->check.on_done(o->check.ctx, NULL, f);
}

static void on_checked(void *ctx, const struct key_record *found, const struct fail *f)
{
	struct key_op *o = ctx;
	o->job = NULL;
	struct key_info info = found ? info_of(found) : (struct key_info){ 0 };
	if (found)
		known_keys_add(&o->op.registry->keys, o->text, &info);
	o->check.on_done(o->check.ctx, found ? &info : NULL, f);
	op_end(&o->op);
}

struct op *manager_check_key(struct manager *m, const struct check_key_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = check_fail, .free = key_op_free };
	struct key_op *o = key_op_new(m, &type, /* tenant= */ NULL);
	bool sound = strlen(req->key) == KEY_CHARS && strncmp(req->key, PREFIX, sizeof(PREFIX) - 1) == 0;
	o->check = *req;
	o->text = xstrdup(req->key);
	/* A text that cannot be a key is looked up too, so that the answer takes the same time. */
	snprintf(o->id, sizeof(o->id), "%.*s", ID_CHARS, sound ? req->key + sizeof(PREFIX) - 1 : "");
	o->job = store_key_check(m->registry.store, o->id, o->text, on_checked, o);
	return &o->op;
}

/* --- tenants ------------------------------------------------------------------------------------------------------- */

static void tenant_fail(struct op *op, const struct fail *f)
{
	struct key_op *o = key_op_of(op);
	o->tenant_of.on_done(o->tenant_of.ctx, NULL, f);
}

static void on_limits(void *ctx, const struct tenant_limits *limits, const struct fail *f)
{
	struct key_op *o = ctx;
	o->job = NULL;
	o->tenant_of.on_done(o->tenant_of.ctx, limits, f);
	op_end(&o->op);
}

struct op *manager_tenant(struct manager *m, const struct tenant_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = tenant_fail, .free = key_op_free };
	struct key_op *o = key_op_new(m, &type, req->tenant);
	o->tenant_of = *req;
	o->job = store_tenant_get(m->registry.store, o->tenant, on_limits, o);
	return &o->op;
}
