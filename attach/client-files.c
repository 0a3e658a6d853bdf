/* Imports and exports. The caller's own files are sent as open descriptors beside the request: a path alone gives no
 * right to read. */
#include <errno.h>
#include <fcntl.h>

#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

_Static_assert(ATTACH_FILES_MAX <= CHANNEL_FILES_MAX, "more than a request carries");

struct copy_call {
	struct attach_call call;
	struct copy_request request;
};

static struct copy_call *call_of(struct attach_call *call)
{
	return container_of(call, struct copy_call, call);
}

static void free_call(struct attach_call *call)
{
	free(call_of(call));
}

static int on_copied(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct copy_request *request = &call_of(call)->request;
	struct copy_result *v = NULL;
	size_t n = 0;
	int r = copy_results_decode(json_object_get(json, "files"), &v, &n, f);
	if (r == 0 && n != request->n)
		r = fail_set(f, FAIL_INVALID, "there are %zu results for %zu entries", n, request->n);
	if (r == 0)
		request->on_done(request->ctx, v, n, NULL);
	for (size_t i = 0; i < n; i++)
		copy_result_release(&v[i]);
	free(v);
	return r;
}

static void on_not_copied(struct attach_call *call, const struct fail *f)
{
	call_of(call)->request.on_done(call_of(call)->request.ctx, NULL, 0, f);
}

/* Progress, and then the answer: as the body of an answer without progress. */
static void on_event(struct attach_call *call, const struct http_event *e)
{
	const struct copy_request *request = &call_of(call)->request;
	if (streq(e->name, "copy.progress")) {
		json_auto_t *json = json_parse(e->data, e->n, 0);
		const char *line = json_string_value(json_object_get(json, "line"));
		if (line && request->on_progress)
			request->on_progress(request->ctx, line);
		return;
	}
	if (streq(e->name, "problem"))
		call->status = 500;
	(void)buf_add(&call->body, e->data, e->n);
}

/* --- the request --------------------------------------------------------------------------------------------------- */

/* Opens a file with the rights of this process. A descriptor that is already open is duplicated, so that the caller can
 * close every result. */
static int open_own(const struct import_item *item, struct fail *f)
{
	int fd = item->fd > 0 ? fcntl(item->fd, F_DUPFD_CLOEXEC, 3) :
				open(item->source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? fail_set(f, FAIL_INVALID, "cannot open '%s': %s", item->source, strerror(errno)) : fd;
}

static int open_all(const struct copy_request *req, int files[ATTACH_FILES_MAX], size_t *n, struct fail *f)
{
	for (size_t i = 0; req->imports && i < req->n; i++) {
		if (!req->imports[i].own)
			continue;
		if (*n == ATTACH_FILES_MAX)
			return fail_set(f, FAIL_LIMIT, "at most %d files and folders can be sent with one request",
					ATTACH_FILES_MAX);
		files[*n] = open_own(&req->imports[i], f);
		if (files[*n] < 0)
			return -1;
		++*n;
	}
	return 0;
}

struct attach_call *attach_copy(struct attach *a, const struct copy_request *req, struct fail *f)
{
	static const struct attach_call_type type = {
		.on_answer = on_copied, .on_fail = on_not_copied, .on_event = on_event, .free = free_call
	};
	AUTO(buf_release) struct buf target = attach_target(req->session_id, req->imports ? "/imports" : "/exports");
	int files[ATTACH_FILES_MAX];
	size_t n_files = 0;
	struct attach_call *started = NULL;
	if (open_all(req, files, &n_files, f) == 0) {
		struct copy_call *c = new0(struct copy_call);
		c->request = (struct copy_request){
			.n = req->n, .on_progress = req->on_progress, .on_done = req->on_done, .ctx = req->ctx
		};
		started = attach_call_start(a, &c->call, &type,
					    &(struct attach_request){ .method = "POST",
								      .target = buf_str(&target),
								      .body = copy_request_encode(req),
								      .files = files,
								      .n_files = n_files,
								      .events = req->on_progress != NULL },
					    f);
	}
	for (size_t i = 0; i < n_files; i++)
		close(files[i]);
	return started;
}
