#include "http/request.h"

#include "http/connection-private.h"

const struct http_head *http_request_head(const struct http_request *r)
{
	return r->c->head;
}

void *http_request_tag(const struct http_request *r)
{
	return r->c->tag;
}

bool http_request_is_peer(const struct http_request *r)
{
	return channel_is_shared(r->c->channel);
}

int http_request_fd(const struct http_request *r)
{
	return channel_fd(r->c->channel);
}

size_t http_request_take_files(struct http_request *r, int files[CHANNEL_FILES_MAX])
{
	size_t n = r->c->n_files;
	memcpy(files, r->c->files, n * sizeof(*files));
	r->c->n_files = 0;
	return n;
}

void http_request_on_closed(struct http_request *r, void (*fn)(void *ctx), void *ctx)
{
	r->on_closed = fn;
	r->closed_ctx = ctx;
}

void http_request_on_answer(struct http_request *r, void (*fn)(void *ctx, const struct http_request *r, int status),
			    void *ctx)
{
	r->on_answer = fn;
	r->answer_ctx = ctx;
}

void http_request_read(struct http_request *r, const struct http_body_ops *ops, void *ctx)
{
	static const char go_ahead[] = "HTTP/1.1 100 Continue\r\n\r\n";
	r->body = *ops;
	r->body_ctx = ctx;
	r->reading = true;
	if (r->continues)
		channel_write(r->c->channel, go_ahead, sizeof(go_ahead) - 1);
	r->continues = false;
	http_connection_kick(r->c);
}

static void collect_data(void *ctx, const void *data, size_t n)
{
	struct http_request *r = ctx;
	r->too_large = buf_add(&r->collected, data, n) < 0;
}

static void collect_end(void *ctx)
{
	struct http_request *r = ctx;
	/* The callback may answer, and a pipelined request may then use the buffer. */
	AUTO(buf_release) struct buf body = r->collected;
	r->collected = (struct buf){ 0 };
	r->on_collected(r->collected_ctx, buf_str(&body), body.len);
}

void http_request_collect(struct http_request *r, size_t max, void (*fn)(void *ctx, const void *data, size_t n),
			  void *ctx)
{
	static const struct http_body_ops ops = { collect_data, collect_end };
	r->collected.max = max;
	r->on_collected = fn;
	r->collected_ctx = ctx;
	const struct http_head *head = http_request_head(r);
	if (head->length < 0 || (uint64_t)head->length <= max) {
		http_request_read(r, &ops, r);
		return;
	}
	r->too_large = true;
	http_connection_kick(r->c);
}

void http_request_pause(struct http_request *r, bool paused)
{
	r->paused = paused;
	if (!paused)
		http_connection_kick(r->c);
}
