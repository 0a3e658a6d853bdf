#include "manager/registry/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/work.h"
#include "manager/files/entries.h"
#include "manager/files/exports.h"
#include "manager/files/vault.h"
#include "manager/registry/manager-private.h"

/* --- import and export --------------------------------------------------------------------------------------------- */

struct copy {
	struct op *op;
	struct batch *batch;
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n, const struct fail *f);
	void *ctx;
};

static void copy_free(void *ctx)
{
	struct copy *c = ctx;
	batch_free(c->batch);
	free(c);
}

static void copy_done(void *ctx, const struct copy_result *results, size_t n)
{
	struct copy *c = ctx;
	c->on_done(c->ctx, results, n, NULL);
	op_end(c->op);
}

static void copy_fail(void *ctx, const struct fail *f)
{
	struct copy *c = ctx;
	c->on_done(c->ctx, NULL, 0, f);
}

static int copy_start(void *ctx, struct session *s, struct fail *f)
{
	struct copy *c = ctx;
	batch_start(c->batch, s);
	return 0;
}

struct op *manager_copy(struct manager *m, const struct copy_request *req, struct fail *f)
{
	static const struct task_ops ops = { copy_start, copy_fail, copy_free };
	struct copy *c = new0(struct copy);
	c->on_done = req->on_done;
	c->ctx = req->ctx;
	c->batch = batch_new(&(struct batch_spec){
		.loop = m->loop,
		.config = m->config,
		.store = m->store,
		.thread = manager_thread(m),
		.request = req,
		.on_done = copy_done,
		.ctx = c,
	});
	struct op *op = op_task(m, req->session_id, &ops, c, f);
	if (op)
		c->op = op; /* else it is gone */
	return op;
}

/* --- what is kept ----------------------------------------------------------------------------------------------------- */

struct listing {
	struct op *op;
	const struct config *config;
	struct store_job *job;
	struct exports_request request;
};

static void listing_free(void *ctx)
{
	struct listing *l = ctx;
	store_cancel(l->job);
	free(l);
}

static void on_exports(void *ctx, const struct export_list *list, const struct fail *f)
{
	struct listing *l = ctx;
	size_t n = list ? list->n : 0;
	struct export_info *v = xcalloc(n + 1, sizeof(*v));
	l->job = NULL;
	for (size_t i = 0; i < n; i++)
		export_info_fill(&v[i], l->config, &list->v[i]);
	l->request.on_done(l->request.ctx, v, n, f);
	for (size_t i = 0; i < n; i++)
		export_info_release(&v[i]);
	free(v);
	op_end(l->op);
}

struct op *manager_exports(struct manager *m, const struct exports_request *req, struct fail *f)
{
	static const struct task_ops ops = { .free = listing_free };
	struct listing *l = new0(struct listing);
	l->config = m->config;
	l->request = *req;
	l->op = op_task(m, /* session_id= */ NULL, &ops, l, f);
	l->job = store_exports(m->store, manager_thread(m), req->before_ms, req->before_id, req->limit, on_exports, l);
	l->request.before_id = NULL;
	return l->op;
}

struct reading {
	struct op *op;
	struct loop *loop;
	const struct config *config;
	struct store_job *job;
	struct work *work;
	struct read_request request;
	struct export_info info;

	/* The job's, while it runs. */
	struct buf data;
	int error;
};

static void reading_release(struct reading *r)
{
	export_info_release(&r->info);
	buf_release(&r->data);
	free(r);
}

static void reading_free(void *ctx)
{
	struct reading *r = ctx;
	store_cancel(r->job);
	if (r->work)
		work_forget(r->work); /* its end releases */
	else
		reading_release(r);
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

static void on_file(void *ctx, bool forgotten)
{
	struct reading *r = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	r->work = NULL;
	if (forgotten) {
		reading_release(r);
		return;
	}
	if (r->error) {
		fail_set(&f, FAIL_STORE, "the export cannot be read from '%s': %s", r->info.host_path,
			 strerror(r->error));
		fail_hint(&f, EXPORT_UNREADABLE_HINT);
	}
	r->request.on_done(r->request.ctx, &r->info, r->error ? NULL : (const uint8_t *)buf_str(&r->data), r->data.len,
			   r->error ? &f : NULL);
	op_end(r->op);
}

static void on_export(void *ctx, const struct export_record *found, const struct fail *f)
{
	struct reading *r = ctx;
	r->job = NULL;
	if (found)
		export_info_fill(&r->info, r->config, found);
	if (found && found->stored <= r->request.max) {
		r->work = work_start(
			r->loop, &(struct work_spec){ .fn = read_file, .on_done = on_file, .ctx = r, .bulk = true });
		return;
	}
	r->request.on_done(r->request.ctx, found ? &r->info : NULL, NULL, 0, f);
	op_end(r->op);
}

struct op *manager_read_export(struct manager *m, const struct read_request *req, struct fail *f)
{
	static const struct task_ops ops = { .free = reading_free };
	struct reading *r = new0(struct reading);
	r->loop = m->loop;
	r->config = m->config;
	r->request = *req;
	r->op = op_task(m, /* session_id= */ NULL, &ops, r, f);
	r->job = store_export_get(m->store, manager_thread(m), req->id, on_export, r);
	r->request.id = NULL;
	return r->op;
}
