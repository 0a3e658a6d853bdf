#include "api/file-body.h"

#include <errno.h>

#include "api/host.h"
#include "api/problem.h"
#include "base/alloc.h"
#include "base/work.h"
#include "http/range.h"

/* Read by one worker job. */
#define PIECE_MAX (512u << 10)
/* No more is read while this is unsent. */
#define UNSENT_MAX (1u << 20)

/* The worker's part exists until its job has ended, even if the exchange ends before. */
struct file_piece {
	struct exchange *x;
	struct work *work; /* NULL = no job runs */
	int fd;
	uint64_t at, left; /* the rest of the file to read */
	uint8_t *data;
	size_t n;
	int error;
};

static void piece_free(struct file_piece *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p->data);
	free(p);
}

/* The exchange is over. */
static void closed(struct exchange *x)
{
	struct file_piece *p = take_ptr(x->data);
	if (p->work) {
		work_forget(p->work);
		return;
	}
	work_close(x->api->spec.loop, take_fd(p->fd));
	piece_free(p);
}

static void read_piece(void *ctx)
{
	struct file_piece *p = ctx;
	size_t wanted = (size_t)MIN(p->left, PIECE_MAX);
	p->n = 0;
	while (p->n < wanted && !p->error) {
		ssize_t n = pread(p->fd, p->data + p->n, wanted - p->n, (off_t)(p->at + p->n));
		if (n > 0)
			p->n += (size_t)n;
		else if (n == 0 || errno != EINTR)
			p->error = n ? errno : EIO;
	}
}

static void on_piece(void *ctx, bool forgotten);

static void read_next(struct file_piece *p)
{
	p->work = work_start(p->x->api->spec.loop,
			     &(struct work_spec){ .fn = read_piece, .on_done = on_piece, .ctx = p, .bulk = true });
}

static void on_drained(void *ctx)
{
	struct file_piece *p = ctx;
	if (!p->work && p->left)
		read_next(p);
}

static void on_piece(void *ctx, bool forgotten)
{
	struct file_piece *p = ctx;
	p->work = NULL;
	if (forgotten) {
		piece_free(p);
		return;
	}
	struct exchange *x = p->x;
	/* The length was promised, so a file that became shorter can only be reported by a broken connection. */
	if (p->error || http_reply_write(x->request, p->data, p->n) < 0) {
		exchange_abort(x);
		return;
	}
	p->at += p->n;
	p->left -= p->n;
	if (!p->left)
		exchange_finish(x);
	else if (http_reply_queued(x->request) < UNSENT_MAX)
		read_next(p);
}

static void send_part(struct exchange *x, int status, struct http_fields *fields, int fd,
		      const struct http_range *range)
{
	if (!exchange_begin(x, status, fields, (int64_t)range->length) || !range->length) {
		work_close(x->api->spec.loop, fd);
		exchange_finish(x);
		return;
	}
	struct file_piece *p = new0(struct file_piece);
	*p = (struct file_piece){ .x = x,
				  .fd = fd,
				  .at = range->first,
				  .left = range->length,
				  .data = xmalloc((size_t)MIN(range->length, PIECE_MAX)) };
	x->data = p;
	x->closed = closed;
	http_reply_on_drained(x->request, on_drained, p);
	read_next(p);
}

void file_body_refuse_range(struct exchange *x, uint64_t size)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(freep) char *detail =
		xasprintf("The range is outside the file, which has %llu bytes.", (unsigned long long)size);
	http_fields_addf(&fields, "Content-Range", "bytes */%llu", (unsigned long long)size);
	exchange_reply_problem(x, 416, &fields, problem_plain(416, detail, NULL));
}

void file_body_reply(struct exchange *x, struct http_fields *fields, int fd, uint64_t size, const char *etag)
{
	const struct http_fields *asked = &http_request_head(x->request)->fields;
	struct http_range range = { 0, size };
	bool head = http_request_head(x->request)->method == HTTP_METHOD_HEAD;
	http_fields_add(fields, "ETag", etag);
	http_fields_add(fields, "Accept-Ranges", "bytes");
	if (http_etag_listed(asked, "if-none-match", etag, /* weak= */ true)) {
		work_close(x->api->spec.loop, fd);
		exchange_reply_text(x, 304, fields, NULL, NULL, 0);
		return;
	}
	/* Ranges are defined for GET alone. */
	switch (head ? HTTP_RANGE_WHOLE : http_range_parse(asked, size, etag, &range)) {
	case HTTP_RANGE_IMPOSSIBLE:
		work_close(x->api->spec.loop, fd);
		file_body_refuse_range(x, size);
		return;
	case HTTP_RANGE_PART:
		http_fields_addf(fields, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)range.first,
				 (unsigned long long)(range.first + range.length - 1), (unsigned long long)size);
		send_part(x, 206, fields, fd, &range);
		return;
	case HTTP_RANGE_WHOLE:
		send_part(x, 200, fields, fd, &range);
	}
}
