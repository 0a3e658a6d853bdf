/* Finds an export of a tenant, and opens its content in a worker job. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/work.h"
#include "manager/files/digest.h"
#include "manager/files/exports.h"
#include "manager/files/names.h"
#include "manager/files/unpack.h"
#include "manager/files/vault.h"
#include "manager/registry/registry.h"

struct open_op {
	struct op op;
	struct open_export_request request;
	char *tenant, *id, *path;
	struct store_job *job;
	struct opening *opening;
};

/* Exists until the worker job has ended, even if its operation ends before. */
struct opening {
	struct open_op *op;
	struct work *work;
	/* Used by the worker job while it runs. */
	struct export_info info;
	char *below;	   /* a file of the exported directory; NULL = the whole export */
	char *storage_dir; /* for its copy */
	struct fail fail;
	int fd, error;
};

static struct open_op *open_op_of(struct op *op)
{
	return container_of(op, struct open_op, op);
}

static void opening_free(struct opening *o)
{
	export_info_release(&o->info);
	free(o->below);
	free(o->storage_dir);
	fail_release(&o->fail);
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

static void open_op_free(struct op *op)
{
	struct open_op *o = open_op_of(op);
	store_cancel(o->job);
	if (o->opening)
		work_forget(o->opening->work); /* freed when the worker job ends */
	free(o->tenant);
	free(o->id);
	free(o->path);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct open_op *o = open_op_of(op);
	o->request.on_done(o->request.ctx, NULL, -1, f);
}

/* A file of an exported directory is copied out of the archive, into a file without a name. */
static void open_member(struct opening *o)
{
	o->fd = open(o->storage_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (o->fd < 0)
		o->error = errno;
	else if (unpack_one(o->info.host_path, o->below, o->fd, &o->info.stored, &o->fail) < 0)
		o->error = EIO;
	o->info.size = o->info.stored;
	o->info.directory = false;
}

static void open_content(void *ctx)
{
	struct opening *o = ctx;
	struct stat st;
	if (o->below) {
		open_member(o);
		return;
	}
	o->fd = open(o->info.host_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (o->fd < 0 || fstat(o->fd, &st) < 0)
		o->error = errno;
	else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != o->info.stored)
		o->error = EIO;
}

static void on_opened(void *ctx, bool forgotten)
{
	struct opening *opening = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (forgotten) {
		opening_free(opening);
		return;
	}
	struct open_op *o = opening->op;
	o->opening = NULL;
	if (opening->fail.kind) {
		/* Not part of the export: as if there were none. */
		bool none = opening->fail.kind == FAIL_NOT_FOUND;
		o->request.on_done(o->request.ctx, NULL, -1, none ? NULL : &opening->fail);
		opening_free(opening);
		op_end(&o->op);
		return;
	}
	if (opening->error) {
		fail_set(&f, FAIL_STORE, "the export cannot be read from '%s': %s", opening->info.host_path,
			 strerror(opening->error));
		fail_hint(&f, EXPORT_UNREADABLE_HINT);
	}
	o->request.on_done(o->request.ctx, opening->error ? NULL : &opening->info,
			   opening->error ? -1 : take_fd(opening->fd), opening->error ? &f : NULL);
	opening_free(opening);
	op_end(&o->op);
}

static void on_export(void *ctx, const struct export_record *found, const struct fail *f)
{
	struct open_op *o = ctx;
	struct registry *r = o->op.registry;
	o->job = NULL;
	/* Another tenant's export is treated as one that does not exist. */
	if (found && o->tenant && !tenant_owns(o->tenant, found->thread))
		found = NULL;
	if (!found) {
		o->request.on_done(o->request.ctx, NULL, -1, f);
		op_end(&o->op);
		return;
	}
	struct opening *opening = new0(struct opening);
	opening->fd = -1;
	opening->op = o;
	export_info_fill(&opening->info, r->config, found);
	opening->info.hash_kind = xstrdup(digest_kind(found->stored));
	const char *below = o->path ? names_below(o->path, found->path) : NULL;
	if (below && *below) {
		free(opening->info.name);
		free(opening->info.mime);
		opening->info.name = names_base(o->path);
		opening->info.mime = xstrdup(names_mime(opening->info.name));
		opening->below = xstrdup(below);
		opening->storage_dir = xstrdup(r->config->storage_dir);
	}
	if (!o->request.content) {
		on_opened(opening, /* forgotten= */ false);
		return;
	}
	o->opening = opening;
	opening->work = work_start(
		r->loop, &(struct work_spec){
				 .fn = open_content, .on_done = on_opened, .ctx = opening, .bulk = opening->below });
}

static void on_nothing(void *ctx)
{
	on_export(ctx, NULL, NULL);
}

struct op *manager_open_export(struct manager *m, const struct open_export_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = answer_fail, .free = open_op_free };
	struct registry *r = &m->registry;
	AUTO(freep) char *path = req->id ? NULL : names_session_path(req->path, f);
	if (!req->id && !path)
		return NULL;
	struct open_op *o = new0(struct open_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->tenant = req->tenant ? xstrdup(req->tenant) : NULL;
	o->id = req->id ? xstrdup(req->id) : NULL;
	o->path = take_ptr(path);
	if (store_is_there(r->config) && !o->id)
		o->job = store_export_find(r->store, req->conversation, req->session, o->path, on_export, o);
	else if (store_is_there(r->config))
		o->job = store_export_get(r->store, /* thread= */ NULL, o->id, on_export, o);
	else
		op_soon(&o->op, on_nothing, o);
	return &o->op;
}
