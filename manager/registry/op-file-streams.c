/* Reads and writes one file of a session in place. */
#include "base/alloc.h"
#include "manager/files/file-reader.h"
#include "manager/files/file-writer.h"
#include "manager/files/names.h"
#include "manager/registry/journal.h"
#include "manager/registry/op.h"

/* --- reading ------------------------------------------------------------------------------------------------------- */

struct open_op {
	struct op op;
	struct file_reader reader;
	struct open_file_request request; /* its strings are NULL */
	char *path;
};

static struct open_op *open_op_of(struct op *op)
{
	return container_of(op, struct open_op, op);
}

static void on_open(struct file_reader *r, const struct file_info *info, int fd)
{
	struct open_op *o = container_of(r, struct open_op, reader);
	o->request.on_open(o->request.ctx, info, fd);
	if (fd >= 0)
		op_end(&o->op);
}

static void on_data(struct file_reader *r, const void *data, size_t n)
{
	struct open_op *o = container_of(r, struct open_op, reader);
	o->request.on_data(o->request.ctx, data, n);
}

static void on_read(struct file_reader *r, const struct fail *f)
{
	struct open_op *o = container_of(r, struct open_op, reader);
	o->request.on_end(o->request.ctx, f);
	op_end(&o->op);
}

static int open_start(struct op *op, struct fail *f)
{
	struct open_op *o = open_op_of(op);
	o->reader.on_open = on_open;
	o->reader.on_data = on_data;
	o->reader.on_end = on_read;
	return file_reader_start(&o->reader, session_dispatch(op->entry->session), o->path, f);
}

static void open_fail(struct op *op, const struct fail *f)
{
	struct open_op *o = open_op_of(op);
	o->request.on_end(o->request.ctx, f);
}

static void open_op_free(struct op *op)
{
	struct open_op *o = open_op_of(op);
	file_reader_stop(&o->reader);
	free(o->path);
	free(o);
}

void file_read(struct op *op, uint64_t offset, uint64_t length)
{
	file_reader_fetch(&open_op_of(op)->reader, offset, length);
}

void file_pause(struct op *op, bool paused)
{
	file_reader_pause(&open_op_of(op)->reader, paused);
}

struct op *manager_open_file(struct conversation *c, const struct open_file_request *req, struct fail *f)
{
	static const struct op_type type = { .start = open_start, .fail = open_fail, .free = open_op_free };
	AUTO(freep) char *path = names_session_path(req->path, f);
	if (!path)
		return NULL;
	struct open_op *o = new0(struct open_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.path = NULL;
	o->path = take_ptr(path);
	return op_begin(&o->op, req->session_id, f);
}

/* --- writing ------------------------------------------------------------------------------------------------------- */

struct write_op {
	struct op op;
	struct file_writer writer;
	struct write_file_request request; /* its strings are NULL */
	char *path, *etag;
};

static struct write_op *write_op_of(struct op *op)
{
	return container_of(op, struct write_op, op);
}

static void on_drained(struct file_writer *w)
{
	struct write_op *o = container_of(w, struct write_op, writer);
	o->request.on_drained(o->request.ctx);
}

static void on_written(struct file_writer *w, const struct file_info *info, bool created, const struct fail *f)
{
	struct write_op *o = container_of(w, struct write_op, writer);
	if (info)
		journal_file(o->op.entry->journal, /* imported= */ true, o->path, info->size);
	o->request.on_done(o->request.ctx, info, created, f);
	op_end(&o->op);
}

static int write_start(struct op *op, struct fail *f)
{
	struct write_op *o = write_op_of(op);
	struct wire_file_request wire = { .type = FRAME_FILES_WRITE,
					  .path = o->path,
					  .tag = o->etag,
					  .absent = o->request.create_only,
					  .bytes = o->request.has_size ? o->request.size : 0 };
	o->writer.on_drained = on_drained;
	o->writer.on_done = on_written;
	return file_writer_start(&o->writer, session_dispatch(op->entry->session), &wire, f);
}

static void write_fail(struct op *op, const struct fail *f)
{
	struct write_op *o = write_op_of(op);
	o->request.on_done(o->request.ctx, NULL, /* created= */ false, f);
}

static void write_op_free(struct op *op)
{
	struct write_op *o = write_op_of(op);
	file_writer_stop(&o->writer);
	free(o->path);
	free(o->etag);
	free(o);
}

int file_write(struct op *op, const void *data, size_t n)
{
	return file_writer_write(&write_op_of(op)->writer, data, n);
}

void file_write_end(struct op *op)
{
	file_writer_end(&write_op_of(op)->writer);
}

struct op *manager_write_file(struct conversation *c, const struct write_file_request *req, struct fail *f)
{
	static const struct op_type type = { .start = write_start, .fail = write_fail, .free = write_op_free };
	AUTO(freep) char *path = names_session_path(req->path, f);
	if (!path)
		return NULL;
	struct write_op *o = new0(struct write_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.path = o->request.etag = NULL;
	o->path = take_ptr(path);
	o->etag = req->etag ? xstrdup(req->etag) : NULL;
	return op_begin(&o->op, req->session_id, f);
}
