/* The reference server's route for uploads: files of a form become exports of the conversation, which import_files and
 * POST …/imports copy into a session.
 *
 * The body goes to a file without a name, piece by piece, because it may be large. It is split when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "api/host.h"
#include "api/links.h"
#include "api/problem.h"
#include "api/replay.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/dirs.h"
#include "base/work.h"
#include "http/multipart.h"

#define FILES_MAX 100
/* No more is read while this waits to be written. */
#define WAITING_MAX (1u << 20)
/* The rest of the form, besides its files. */
#define FORM_BYTES (1u << 20)

/* x->data. The worker's part of it exists until its job has ended, even if the exchange ends before. */
struct upload {
	struct exchange *x;
	struct work *work; /* NULL = no job runs */
	char *thread, *type;
	struct buf waiting;
	uint64_t size, most;
	bool complete;	 /* the whole body has arrived */
	bool repeatable; /* the request has an Idempotency-Key */
	/* Used by the worker job while it runs. */
	char *storage_dir;
	int fd;
	uint64_t floor;
	struct buf piece;
	struct received_file files[FILES_MAX];
	size_t n_files;
	struct buf content; /* if repeatable: name, size and hash of each file */
	int status;	    /* of a refusal; 0 = none */
	const char *refusal;
};

static void upload_free(struct upload *u)
{
	for (size_t i = 0; i < u->n_files; i++)
		free((char *)u->files[i].name);
	closep(&u->fd);
	buf_release(&u->waiting);
	buf_release(&u->piece);
	buf_release(&u->content);
	free(u->storage_dir);
	free(u->thread);
	free(u->type);
	free(u);
}

/* The exchange is over. */
static void closed(struct exchange *x)
{
	struct upload *u = take_ptr(x->data);
	u->x = NULL;
	if (u->work)
		work_forget(u->work);
	else
		upload_free(u);
}

/* --- worker jobs --------------------------------------------------------------------------------------------------- */

static void refuse(struct upload *u, int status, const char *sentence)
{
	if (!u->status)
		u->refusal = sentence;
	u->status = u->status ? u->status : status;
}

static bool has_room(const struct upload *u)
{
	struct statvfs disk;
	return !u->floor || fstatvfs(u->fd, &disk) < 0 ||
	       (uint64_t)disk.f_bavail * disk.f_frsize >= u->floor + u->piece.len;
}

static void write_piece(void *ctx)
{
	struct upload *u = ctx;
	if (u->fd < 0 && (dirs_make(u->storage_dir) < 0 ||
			  (u->fd = open(u->storage_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) < 0)) {
		refuse(u, 503, "The server cannot write to its STORAGE_DIR.");
		return;
	}
	if (!has_room(u)) {
		refuse(u, 507, "The disk of the server is full.");
		return;
	}
	for (size_t at = 0; at < u->piece.len;) {
		ssize_t n = write(u->fd, u->piece.data + at, u->piece.len - at);
		if (n < 0 && errno != EINTR) {
			refuse(u, 507, "The disk of the server is full.");
			return;
		}
		at += n > 0 ? (size_t)n : 0;
	}
}

/* The name as a relative path: folders stay, but parts that lead elsewhere do not. The caller owns it. */
static char *relative_name(const char *name)
{
	struct buf out = { 0 };
	for (const char *s = name; *s;) {
		size_t n = strcspn(s, "/");
		if (n && !(n <= 2 && strncmp(s, "..", n) == 0))
			buf_printf(&out, "%s%.*s", out.len ? "/" : "", (int)n, s);
		s += n + (s[n] == '/');
	}
	return buf_steal_str(&out);
}

static void take_part(struct upload *u, const struct http_part *part, const void *body)
{
	AUTO(freep) char *name = part->file ? relative_name(part->file) : NULL;
	if (!name || !streq(part->name, "files"))
		return;
	if (!*name) {
		refuse(u, 400, "A file of the form has no name.");
		return;
	}
	if (u->n_files == FILES_MAX) {
		refuse(u, 400, "The form has more than 100 files.");
		return;
	}
	if (u->repeatable) {
		char hash[MANAGER_HASH_SIZE];
		manager_hash(part->data, part->n, hash);
		buf_printf(&u->content, "%s\n%zu %s\n", name, part->n, hash);
	}
	u->files[u->n_files++] = (struct received_file){ .name = take_ptr(name),
							 .at = (uint64_t)(part->data - (const uint8_t *)body),
							 .size = part->n };
}

static void split(void *ctx)
{
	struct upload *u = ctx;
	struct http_multipart form;
	int r = -EINVAL;
	void *body = u->fd < 0 ? MAP_FAILED : mmap(NULL, u->size, PROT_READ, MAP_PRIVATE, u->fd, 0);
	if (body != MAP_FAILED) {
		r = http_multipart_begin(&form, u->type, body, u->size);
		while (r >= 0 && !u->status) {
			AUTO(http_part_release) struct http_part part = { 0 };
			r = http_multipart_next(&form, &part);
			if (r <= 0)
				break;
			take_part(u, &part, body);
		}
		munmap(body, u->size);
	}
	if (r < 0)
		refuse(u, 400, "The body is not a valid form (multipart/form-data).");
	if (!u->n_files)
		refuse(u, 400, "The form has no file in a field `files`.");
}

/* --- on the loop --------------------------------------------------------------------------------------------------- */

static void stored(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	/* The reference's members, and the export. */
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, links_export_json(x, &v[i]));
	exchange_reply(x, 200, list);
}

static void keep_files(struct exchange *x)
{
	struct upload *u = x->data;
	AUTO(fail_release) struct fail f = { 0 };
	struct receive_request request = {
		.conversation = u->thread, .fd = u->fd, .v = u->files, .n = u->n_files, .on_done = stored, .ctx = x
	};
	exchange_await(x, manager_receive_files(x->api->spec.manager, &request, &f), &f);
}

static void start(struct upload *u, void (*fn)(void *ctx), void (*on_done)(void *ctx, bool forgotten))
{
	u->work = work_start(u->x->api->spec.loop,
			     &(struct work_spec){ .fn = fn, .on_done = on_done, .ctx = u, .bulk = true });
}

/* False if the job's upload is over, or refused. */
static bool job_is_done(struct upload *u, bool forgotten)
{
	bool refused = u->status;
	u->work = NULL;
	if (forgotten)
		upload_free(u);
	else if (refused)
		exchange_problem(u->x, u->status, u->refusal, NULL);
	return !forgotten && !refused;
}

static void make_links(struct exchange *x)
{
	links_prepare(x, keep_files);
}

static void on_split(void *ctx, bool forgotten)
{
	struct upload *u = ctx;
	/* Clients choose a new boundary when they send a form again, so its content is compared. */
	if (job_is_done(u, forgotten))
		replay_begin(u->x, u->content.data, u->content.len, make_links);
}

static void on_written(void *ctx, bool forgotten);

static void next_job(struct upload *u)
{
	if (u->work)
		return;
	if (u->waiting.len) {
		struct buf written = u->piece;
		u->piece = u->waiting;
		u->waiting = written;
		buf_reset(&u->waiting);
		start(u, write_piece, on_written);
	} else if (u->complete) {
		start(u, split, on_split);
	}
}

static void on_written(void *ctx, bool forgotten)
{
	struct upload *u = ctx;
	if (!job_is_done(u, forgotten))
		return;
	if (!u->complete)
		http_request_pause(u->x->request, false);
	next_job(u);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct exchange *x = ctx;
	struct upload *u = x->data;
	u->size += n;
	if (u->size > u->most) {
		exchange_problem(x, 413, "The form is larger than all exports of a conversation may be.", NULL);
		return;
	}
	buf_add(&u->waiting, data, n);
	if (u->waiting.len > WAITING_MAX)
		http_request_pause(x->request, true);
	next_job(u);
}

static void on_end(void *ctx)
{
	struct exchange *x = ctx;
	struct upload *u = x->data;
	u->complete = true;
	next_job(u);
}

static void post_upload(struct exchange *x)
{
	static const struct http_body_ops ops = { on_data, on_end };
	const struct config *c = x->api->spec.config;
	const char *type = exchange_field(x, "content-type");
	struct http_multipart form;
	AUTO(freep) char *thread =
		*x->captures[0] == '@' ? NULL : tenant_conversation(x->caller.tenant, x->captures[0]);
	if (!thread) {
		exchange_problem(x, 400, "The name of a thread does not begin with '@'.", NULL);
		return;
	}
	if (http_multipart_begin(&form, type, "", 0) < 0) {
		exchange_problem(x, 415, "The body must be a form with files.",
				 "Send multipart/form-data, as `curl --form files=@FILE` does.");
		return;
	}
	struct upload *u = new0(struct upload);
	u->x = x;
	u->fd = -1;
	u->thread = take_ptr(thread);
	u->type = xstrdup(type);
	u->storage_dir = xstrdup(c->storage_dir);
	u->floor = c->disk_floor;
	u->repeatable = replay_is_wanted(x);
	u->most = MIN(c->exports_max_size, c->exports_max_size_per_conversation) + FORM_BYTES;
	x->data = u;
	x->closed = closed;
	http_request_read(x->request, &ops, x);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer answers[] = {
	{ 200, "Uploads", NULL, "The files, each as an export." },
	{ 400, "Problem", "application/problem+json", "The form is malformed or has no files." },
	{ 415, "Problem", "application/problem+json", "The body is not a form." },
	{ 0 },
};

const struct route routes_uploads[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/threads/{thread}/files/upload",
	  .scope = SCOPE_FILES_WRITE,
	  .flags = ROUTE_RAW_BODY,
	  .name = "uploadToThread",
	  .tag = "threads",
	  .summary = "Upload files to a conversation",
	  .text = "The body is a form (multipart/form-data) with files in the field `files`. They become exports of the "
		  "session `" RECEIVED_SESSION
		  "`, so import_files and `POST …/imports` copy them into a session by that "
		  "name and their `path`.",
	  .answers = answers,
	  .example = "--form files=@data.csv",
	  .handle = post_upload },
	{ 0 },
};
