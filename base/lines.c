#include "base/lines.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/stream.h"

/* A buffer that grew for one long line is shrunk again. */
#define KEEP_MAX (1u << 20)
/* A peer that has closed its side and reads nothing for this long is treated as gone. */
#define LEFT_MS 1000

void line_splitter_release(struct line_splitter *s)
{
	buf_release(&s->held);
	s->at = s->scanned = 0;
	s->skipping = false;
}

void line_splitter_feed(struct line_splitter *s, const void *data, size_t n)
{
	if (s->at) {
		buf_consume(&s->held, s->at);
		s->scanned -= s->at;
		s->at = 0;
	}
	if (s->held.len == 0 && s->held.cap > KEEP_MAX)
		buf_release(&s->held);
	buf_add(&s->held, data, n);
}

static bool is_blank(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

/* Removes the bytes up to `end` (the newline, or the end of input) from the front. */
static enum line_status take_line(struct line_splitter *s, size_t end, const char **ret_line, size_t *ret_n)
{
	const char *line = (const char *)s->held.data + s->at;
	size_t n = end - s->at;
	bool skipped = s->skipping;
	s->at = MIN(end + 1, s->held.len);
	s->scanned = s->at;
	s->skipping = false;
	if (skipped)
		return LINE_NONE;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	if (n > s->max)
		return LINE_TOO_LONG;
	if (is_blank(line, n))
		return LINE_NONE;
	*ret_line = line;
	*ret_n = n;
	return LINE_READY;
}

enum line_status line_splitter_next(struct line_splitter *s, bool at_end, const char **ret_line, size_t *ret_n)
{
	enum line_status status = LINE_NONE;
	while (status == LINE_NONE && s->scanned < s->held.len) {
		const uint8_t *nl = memchr(s->held.data + s->scanned, '\n', s->held.len - s->scanned);
		if (!nl)
			break;
		status = take_line(s, (size_t)(nl - s->held.data), ret_line, ret_n);
	}
	if (status != LINE_NONE)
		return status;
	s->scanned = s->held.len;
	if (at_end && s->at < s->held.len)
		return take_line(s, s->held.len, ret_line, ret_n);
	/* Allows one more byte, which may be a \r that does not count. */
	if (s->skipping || s->held.len - s->at > s->max + 1) {
		bool reported = s->skipping;
		s->at = s->scanned = s->held.len;
		s->skipping = true;
		return reported ? LINE_NONE : LINE_TOO_LONG;
	}
	return LINE_NONE;
}

struct lines {
	struct stream *stream;
	struct line_splitter splitter;
	struct lines_limits limits;
	struct lines_ops ops;
	void *ctx;
	struct timer *resume; /* callbacks never run inside lines_write(), so reading resumes from the loop */
	struct timer *left;   /* runs while a peer that has closed its side may still read */
	size_t left_queued;   /* queue size when the timer was started */
	bool stalled;
	bool hung_up;
	bool eof;
	bool eof_reported;
	int error;
};

static void wait_for_reader(struct lines *l)
{
	l->left_queued = stream_queued(l->stream);
	timer_start(l->left, LEFT_MS, 0);
}

static void stall_if_behind(struct lines *l)
{
	if (l->stalled || stream_queued(l->stream) <= l->limits.pause_above)
		return;
	l->stalled = true;
	stream_pause(l->stream, true);
	if (l->hung_up)
		wait_for_reader(l);
}

static void deliver(struct lines *l)
{
	const char *line;
	size_t n;
	while (!l->stalled) {
		enum line_status status = line_splitter_next(&l->splitter, l->eof, &line, &n);
		if (status == LINE_NONE)
			break;
		if (status == LINE_READY)
			l->ops.on_line(l->ctx, line, n);
		else
			l->ops.on_too_long(l->ctx);
	}
	if (l->eof && !l->eof_reported && !l->stalled) {
		l->eof_reported = true;
		l->ops.on_eof(l->ctx, l->error);
	}
}

static void on_resume(void *ctx)
{
	struct lines *l = ctx;
	if (!l->stalled || stream_queued(l->stream) > 0)
		return;
	l->stalled = false;
	stream_pause(l->stream, false);
	deliver(l);
}

/* The end of the input is invisible while reading is paused. A peer that closed it and reads nothing must not
 * block us. */
static void on_hangup(void *ctx)
{
	struct lines *l = ctx;
	l->hung_up = true;
	wait_for_reader(l);
}

static void on_left(void *ctx)
{
	struct lines *l = ctx;
	if (!l->stalled || l->eof_reported)
		return;
	if (stream_queued(l->stream) < l->left_queued) {
		wait_for_reader(l);
		return;
	}
	l->eof = l->eof_reported = true;
	l->ops.on_eof(l->ctx, 0);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct lines *l = ctx;
	line_splitter_feed(&l->splitter, data, n);
	deliver(l);
}

static void on_eof(void *ctx, int error)
{
	struct lines *l = ctx;
	l->eof = true;
	l->error = error;
	deliver(l);
}

static void on_write_error(void *ctx, int error)
{
	struct lines *l = ctx;
	l->ops.on_write_error(l->ctx, error);
}

static void on_drained(void *ctx)
{
	struct lines *l = ctx;
	if (l->stalled)
		timer_start(l->resume, 0, 0);
	if (l->ops.on_drained)
		l->ops.on_drained(l->ctx);
}

struct lines *lines_new(struct loop *loop, int in_fd, int out_fd, const struct lines_limits *limits,
			const struct lines_ops *ops, void *ctx)
{
	static const struct stream_ops stream_ops = {
		.on_data = on_data,
		.on_eof = on_eof,
		.on_write_error = on_write_error,
		.on_drained = on_drained,
		.on_hangup = on_hangup,
	};
	struct lines *l = new0(struct lines);
	l->limits = *limits;
	l->splitter.max = limits->line_max;
	l->ops = *ops;
	l->ctx = ctx;
	l->stream = stream_new(loop, in_fd, out_fd, &stream_ops, l);
	if (!l->stream) {
		int saved = errno;
		free(l);
		errno = saved;
		return NULL;
	}
	stream_set_queue_max(l->stream, limits->queue_max);
	l->resume = timer_new(loop, on_resume, l);
	l->left = timer_new(loop, on_left, l);
	return l;
}

struct lines *lines_free(struct lines *l)
{
	if (!l)
		return NULL;
	stream_free(l->stream);
	timer_free(l->resume);
	timer_free(l->left);
	line_splitter_release(&l->splitter);
	free(l);
	return NULL;
}

/* The newline is part of the same write, so that no peer sees half a message. */
int lines_write(struct lines *l, const char *line, size_t n)
{
	if (n >= l->limits.queue_max)
		return -ENOBUFS;
	AUTO(freep) char *framed = xmalloc(n + 1);
	memcpy(framed, line, n);
	framed[n] = '\n';
	int r = stream_write(l->stream, framed, n + 1);
	stall_if_behind(l);
	/* A write that empties the queue by itself is not reported through on_drained. */
	if (l->stalled && stream_queued(l->stream) == 0)
		timer_start(l->resume, 0, 0);
	return r;
}

size_t lines_queued(const struct lines *l)
{
	return stream_queued(l->stream);
}

bool lines_stalled(const struct lines *l)
{
	return l->stalled;
}

void lines_flush_now(struct lines *l)
{
	stream_flush_now(l->stream);
}
