/* Reads the content of an export. */
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/work.h"
#include "manager/files/exports.h"
#include "manager/files/vault.h"
#include "manager/registry/conversation.h"

struct read_op {
	struct op op;
	struct read_request request;
	struct conversation_wait wait;
	char *id;
	struct store_job *job;
	struct reading *reading;
};

/* Exists until the worker job has ended, even if its operation ends before. */
struct reading {
	struct read_op *op;
	struct work *work;
	/* Used by the worker job while it runs. */
	struct export_info info;
	struct buf data;
	int error;
};

static struct read_op *read_op_of(struct op *op)
{
	return container_of(op, struct read_op, op);
}

static void reading_free(struct reading *r)
{
	export_info_release(&r->info);
	buf_release(&r->data);
	free(r);
}

static void read_op_free(struct op *op)
{
	struct read_op *o = read_op_of(op);
	list_remove(&o->wait.node);
	store_cancel(o->job);
	if (o->reading)
		work_forget(o->reading->work); /* freed when the worker job ends */
	free(o->id);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct read_op *o = read_op_of(op);
	o->request.on_done(o->request.ctx, NULL, NULL, 0, f);
}

static void read_file(void *ctx)
{
	struct reading *r = ctx;
	AUTO(closep) int fd = open(r->info.host_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && r->data.len < r->info.stored) {
		size_t left = (size_t)r->info.stored - r->data.len;
		uint8_t *at = buf_reserve(&r->data, left);
		ssize_t n = read(fd, at, left);
		if (n <= 0) {
			r->error = n < 0 ? errno : EIO;
			return;
		}
		r->data.len += (size_t)n;
	}
	r->error = fd < 0 ? errno : 0;
}

static void on_read(void *ctx, bool forgotten)
{
	struct reading *r = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (forgotten) {
		reading_free(r);
		return;
	}
	struct read_op *o = r->op;
	o->reading = NULL;
	if (r->error) {
		fail_set(&f, FAIL_STORE, "the export cannot be read from '%s': %s", r->info.host_path,
			 strerror(r->error));
		fail_hint(&f, EXPORT_UNREADABLE_HINT);
	}
	o->request.on_done(o->request.ctx, &r->info, r->error ? NULL : (const uint8_t *)buf_str(&r->data), r->data.len,
			   r->error ? &f : NULL);
	reading_free(r);
	op_end(&o->op);
}

static void on_export(void *ctx, const struct export_record *found, const struct fail *f)
{
	struct read_op *o = ctx;
	struct registry *registry = o->op.registry;
	o->job = NULL;
	if (!found) {
		o->request.on_done(o->request.ctx, NULL, NULL, 0, f);
		op_end(&o->op);
		return;
	}
	struct reading *r = new0(struct reading);
	export_info_fill(&r->info, registry->config, found);
	if (found->stored > o->request.max) {
		o->request.on_done(o->request.ctx, &r->info, NULL, 0, NULL);
		reading_free(r);
		op_end(&o->op);
		return;
	}
	r->op = o;
	o->reading = r;
	r->work = work_start(registry->loop,
			     &(struct work_spec){ .fn = read_file, .on_done = on_read, .ctx = r, .bulk = true });
}

static void on_known(void *ctx, const char *id)
{
	struct read_op *o = ctx;
	/* A user without a conversation has no exports: no conversation has an empty id. */
	o->job = store_export_get(o->op.registry->store, id ? id : "", o->id, on_export, o);
}

struct op *manager_read_export(struct conversation *c, const struct read_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = answer_fail, .free = read_op_free };
	struct read_op *o = new0(struct read_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.id = NULL;
	o->id = xstrdup(req->id);
	list_init(&o->wait.node);
	if (c->id) {
		on_known(o, c->id);
		return &o->op;
	}
	o->wait.fn = on_known;
	o->wait.ctx = o;
	conversation_prepare(c, &o->wait);
	return &o->op;
}
