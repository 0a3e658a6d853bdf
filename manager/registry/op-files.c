/* Requests about files of a session in place: list, describe, delete, make a directory. */
#include "base/alloc.h"
#include "manager/files/file-query.h"
#include "manager/files/names.h"
#include "manager/registry/op.h"

struct files_op {
	struct op op;
	struct file_query query;
	struct wire_file_request request; /* its strings are the ones below */
	char *path, *after, *tag;
	union {
		void (*list)(void *ctx, const struct file_page *page, const struct fail *f);
		void (*stat)(void *ctx, const struct file_info *info, const struct fail *f);
		void (*delete)(void *ctx, const struct fail *f);
		void (*make)(void *ctx, const struct file_info *info, bool created, const struct fail *f);
	} on_done;
	void *ctx;
};

static struct files_op *files_op_of(struct op *op)
{
	return container_of(op, struct files_op, op);
}

static void answer(struct files_op *o, const struct file_answer *a, const struct fail *f)
{
	const struct file_info *info = a ? &a->page.directory : NULL;
	switch (o->request.type) {
	case FRAME_FILES_LIST:
		o->on_done.list(o->ctx, a ? &a->page : NULL, f);
		break;
	case FRAME_FILES_STAT:
		o->on_done.stat(o->ctx, info, f);
		break;
	case FRAME_FILES_DELETE:
		o->on_done.delete(o->ctx, f);
		break;
	default:
		o->on_done.make(o->ctx, info, a && a->created, f);
	}
}

static void on_answer(struct file_query *q, const struct file_answer *a, const struct fail *f)
{
	struct files_op *o = container_of(q, struct files_op, query);
	answer(o, a, f);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f)
{
	struct files_op *o = files_op_of(op);
	o->query.on_done = on_answer;
	return file_query_start(&o->query, session_dispatch(op->entry->session), &o->request, f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	answer(files_op_of(op), NULL, f);
}

static void files_op_free(struct op *op)
{
	struct files_op *o = files_op_of(op);
	file_query_stop(&o->query);
	free(o->path);
	free(o->after);
	free(o->tag);
	free(o);
}

/* NULL with f if the path is not valid. */
static struct files_op *files_op_new(struct conversation *c, const struct wire_file_request *req, void *ctx,
				     struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = files_op_free };
	AUTO(freep) char *path = names_session_path(req->path, f);
	if (!path)
		return NULL;
	struct files_op *o = new0(struct files_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.path = o->path = take_ptr(path);
	o->request.after = o->after = req->after ? xstrdup(req->after) : NULL;
	o->request.tag = o->tag = req->tag ? xstrdup(req->tag) : NULL;
	o->ctx = ctx;
	return o;
}

struct op *manager_list_files(struct conversation *c, const struct list_files_request *req, struct fail *f)
{
	if (req->limit < 1 || req->limit > FILES_PAGE_MAX) {
		fail_set(f, FAIL_INVALID, "a page has 1 to %d names", FILES_PAGE_MAX);
		return NULL;
	}
	struct wire_file_request wire = {
		.type = FRAME_FILES_LIST, .path = req->path, .after = req->after, .limit = req->limit
	};
	struct files_op *o = files_op_new(c, &wire, req->ctx, f);
	if (!o)
		return NULL;
	o->on_done.list = req->on_done;
	return op_begin(&o->op, req->session_id, f);
}

struct op *manager_stat_file(struct conversation *c, const struct stat_file_request *req, struct fail *f)
{
	struct wire_file_request wire = { .type = FRAME_FILES_STAT, .path = req->path };
	struct files_op *o = files_op_new(c, &wire, req->ctx, f);
	if (!o)
		return NULL;
	o->on_done.stat = req->on_done;
	return op_begin(&o->op, req->session_id, f);
}

struct op *manager_delete_file(struct conversation *c, const struct delete_file_request *req, struct fail *f)
{
	struct wire_file_request wire = {
		.type = FRAME_FILES_DELETE, .path = req->path, .recursive = req->recursive, .tag = req->etag
	};
	struct files_op *o = files_op_new(c, &wire, req->ctx, f);
	if (!o)
		return NULL;
	o->on_done.delete = req->on_done;
	return op_begin(&o->op, req->session_id, f);
}

struct op *manager_make_directory(struct conversation *c, const struct make_directory_request *req, struct fail *f)
{
	struct wire_file_request wire = { .type = FRAME_FILES_MAKE, .path = req->path };
	struct files_op *o = files_op_new(c, &wire, req->ctx, f);
	if (!o)
		return NULL;
	o->on_done.make = req->on_done;
	return op_begin(&o->op, req->session_id, f);
}
