/* Stores files that came from outside as exports of a conversation, one after the other: the content by a worker job,
 * then its record, which the limits of exports may refuse. */
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "base/work.h"
#include "manager/files/digest.h"
#include "manager/files/exports.h"
#include "manager/files/names.h"
#include "manager/files/vault.h"
#include "manager/registry/registry.h"

#define PIECE_BYTES (256u << 10)
#define FILE_MODE 0644

struct received {
	char *path, *name, *file;
	uint64_t at, size;
	char id[TOKEN_SIZE];
};

struct receive_op {
	struct op op;
	struct receive_request request;
	char *conversation;
	int fd;
	struct received *v;
	struct export_info *added;
	size_t n, n_added;
	struct storing *storing;
	struct store_job *job;
	struct export_record record;
	char hash[DIGEST_SIZE];
};

/* Exists until the worker job has ended, even if its operation ends before. */
struct storing {
	struct receive_op *op;
	struct work *work;
	int fd;
	uint64_t at, size, floor;
	char *storage_dir, *file;
	char hash[DIGEST_SIZE];
	struct fail fail;
};

static struct receive_op *receive_op_of(struct op *op)
{
	return container_of(op, struct receive_op, op);
}

static void storing_free(struct storing *s)
{
	closep(&s->fd);
	free(s->storage_dir);
	free(s->file);
	fail_release(&s->fail);
	free(s);
}

static void receive_op_free(struct op *op)
{
	struct receive_op *o = receive_op_of(op);
	store_cancel(o->job);
	if (o->storing)
		work_forget(o->storing->work); /* freed when the worker job ends */
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].path);
		free(o->v[i].name);
		free(o->v[i].file);
	}
	for (size_t i = 0; i < o->n_added; i++)
		export_info_release(&o->added[i]);
	free(o->added);
	free(o->v);
	free(o->conversation);
	closep(&o->fd);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct receive_op *o = receive_op_of(op);
	o->request.on_done(o->request.ctx, o->added, o->n_added, f);
}

static void end(struct receive_op *o, const struct fail *f)
{
	answer_fail(&o->op, f);
	op_end(&o->op);
}

/* --- the content --------------------------------------------------------------------------------------------------- */

static int cannot(const char *what, int error, struct fail *f)
{
	return fail_set(f, FAIL_STORE, "cannot %s the file in STORAGE_DIR: %s", what, strerror(error));
}

/* Copies and hashes. */
static int copy_content(struct storing *s, int to, struct digest *digest)
{
	AUTO(freep) uint8_t *piece = xmalloc(PIECE_BYTES);
	for (uint64_t done = 0; done < s->size;) {
		ssize_t n = pread(s->fd, piece, (size_t)MIN(s->size - done, PIECE_BYTES), (off_t)(s->at + done));
		if (n <= 0)
			return cannot("read", n ? errno : EIO, &s->fail);
		digest_add(digest, piece, (size_t)n);
		for (ssize_t at = 0; at < n;) {
			ssize_t written = write(to, piece + at, (size_t)(n - at));
			if (written < 0)
				return cannot("write", errno, &s->fail);
			at += written;
		}
		done += (uint64_t)n;
	}
	return 0;
}

static void store_content(void *ctx)
{
	struct storing *s = ctx;
	struct vault_file *file = vault_new(s->storage_dir, &s->fail);
	struct digest *digest = digest_new(s->size);
	if (file && vault_check_floor(file, s->floor, s->size, &s->fail) == 0 &&
	    copy_content(s, vault_fd(file), digest) == 0) {
		digest_end(digest, s->hash);
		(void)vault_keep(file, s->hash, s->file, &s->fail);
	}
	digest_free(digest);
	vault_free(file);
}

/* --- the record ---------------------------------------------------------------------------------------------------- */

static void next(struct receive_op *o);

static void on_recorded(void *ctx, const struct fail *f)
{
	struct receive_op *o = ctx;
	o->job = NULL;
	if (f) {
		end(o, f);
		return;
	}
	struct export_info *info = &o->added[o->n_added++];
	export_info_fill(info, o->op.registry->config, &o->record);
	info->hash_kind = xstrdup(digest_kind(o->record.stored));
	next(o);
}

static void on_stored(void *ctx, bool forgotten)
{
	struct storing *s = ctx;
	struct receive_op *o = s->op;
	if (forgotten) {
		storing_free(s);
		return;
	}
	o->storing = NULL;
	if (s->fail.kind) {
		end(o, &s->fail);
		storing_free(s);
		return;
	}
	memcpy(o->hash, s->hash, sizeof(o->hash));
	storing_free(s);
	const struct config *c = o->op.registry->config;
	const struct received *r = &o->v[o->n_added];
	o->record.id = r->id;
	o->record.path = r->path;
	o->record.name = r->name;
	o->record.file = r->file;
	o->record.size = o->record.stored = r->size;
	o->record.mime = names_mime(r->name);
	o->record.created = o->record.mtime_ms = store_now_ms();
	AUTO(freep) char *content = export_file(c, &o->record);
	o->job = store_export_add(o->op.registry->store, &o->record, content,
				  &(struct export_limits){ .conversation = c->exports_max_size_per_conversation,
							   .total = c->exports_max_size,
							   .count = c->exports_max_count_per_conversation },
				  on_recorded, o);
}

static void next(struct receive_op *o)
{
	const struct received *r = &o->v[o->n_added];
	if (o->n_added == o->n) {
		end(o, NULL);
		return;
	}
	struct storing *s = new0(struct storing);
	s->op = o;
	s->fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 3);
	s->at = r->at;
	s->size = r->size;
	s->floor = o->op.registry->config->disk_floor;
	s->storage_dir = xstrdup(o->op.registry->config->storage_dir);
	s->file = xstrdup(r->file);
	o->storing = s;
	s->work = work_start(o->op.registry->loop,
			     &(struct work_spec){ .fn = store_content, .on_done = on_stored, .ctx = s, .bulk = true });
}

/* --- start --------------------------------------------------------------------------------------------------------- */

static int take_file(struct received *r, const struct received_file *from, struct fail *f)
{
	AUTO(freep) char *relative = xasprintf("./%s", from->name);
	if (!utf8_valid(from->name, strlen(from->name)))
		return fail_set(f, FAIL_INVALID, "the name of a file is not valid UTF-8");
	r->path = names_session_path(relative, f);
	if (!r->path)
		return -1;
	if (streq(r->path, "/workspace"))
		return fail_set(f, FAIL_INVALID, "a file has no name");
	r->name = names_base(r->path);
	r->file = names_host_file(r->name, /* directory= */ false);
	r->at = from->at;
	r->size = from->size;
	token_make(r->id);
	return 0;
}

struct op *manager_receive_files(struct manager *m, const struct receive_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = answer_fail, .free = receive_op_free };
	struct receive_op *o = new0(struct receive_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, &type);
	o->request = *req;
	o->conversation = xstrdup(req->conversation);
	o->fd = fcntl(req->fd, F_DUPFD_CLOEXEC, 3);
	o->v = xcalloc(req->n, sizeof(*o->v));
	o->added = xcalloc(req->n, sizeof(*o->added));
	o->n = req->n;
	o->record = (struct export_record){
		.thread = o->conversation, .session = RECEIVED_SESSION, .hash = o->hash, .mode = FILE_MODE
	};
	for (size_t i = 0; i < req->n; i++) {
		if (take_file(&o->v[i], &req->v[i], f) == 0)
			continue;
		op_end(&o->op);
		return NULL;
	}
	next(o);
	return &o->op;
}
