#include "mcp/server.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/lines.h"
#include "base/log.h"
#include "mcp/extension.h"
#include "mcp/messages.h"
#include "mcp/rpc.h"
#include "mcp/tasks.h"

/* Maximum length of a line, which may hold code and inline files. */
#define LINE_MAX_IN (16u << 20)
/* Above the first limit of unread output, husk stops reading from the client; above the second it disconnects. */
#define QUEUE_PAUSE (8u << 20)
#define QUEUE_MAX (64u << 20)
/* Time to write the last answers: the process should end within a tenth of a second. */
#define FLUSH_MS 70

struct server {
	struct server_spec spec;
	struct connection connection;
	struct lines *lines;
	struct timer *end_timer;
	bool gave_up;  /* the client did not read and is being disconnected */
	bool stopping; /* reading has stopped */
	bool ended;
};

static void end_now(void *ctx)
{
	struct server *s = ctx;
	if (s->ended)
		return;
	s->ended = true;
	s->spec.on_end(s->spec.ctx, s->gave_up);
}

/* --- out ------------------------------------------------------------------------------------------------ */

static void write_text(struct connection *c, const struct buf *text)
{
	struct server *s = container_of(c, struct server, connection);
	int r = lines_write(s->lines, (const char *)text->data, text->len);
	if (r == -ENOBUFS) {
		log_error("the client has not read %u MiB of answers; disconnecting it", QUEUE_MAX >> 20);
		s->gave_up = true;
		s->stopping = true;
		timer_start(s->end_timer, 0, 0);
	}
}

static void write_answer(struct connection *c, const struct connection_answer *answer)
{
	if (answer->text)
		write_text(c, answer->text);
}

static void write_message(struct connection *c, const struct call *call UNUSED, const struct buf *text)
{
	write_text(c, text);
}

static bool is_slow(struct connection *c, const struct call *call UNUSED)
{
	struct server *s = container_of(c, struct server, connection);
	return s->stopping || lines_queued(s->lines) > 0;
}

/* --- in ------------------------------------------------------------------------------------------------- */

static void handle(struct server *s, const struct rpc_message *m)
{
	messages_handle(&s->connection, /* origin= */ NULL, m);
}

static void on_line(void *ctx, const char *line, size_t n)
{
	struct server *s = ctx;
	struct rpc_message m;
	if (s->stopping)
		return;
	rpc_parse(&m, line, n);
	handle(s, &m);
	rpc_message_release(&m);
}

static void on_too_long(void *ctx)
{
	struct rpc_message m = { .kind = RPC_INVALID,
				 .code = RPC_INVALID_REQUEST,
				 .error = "Invalid Request: line longer than 16 MiB" };
	handle(ctx, &m);
}

static void on_eof(void *ctx, int error)
{
	if (error < 0)
		log_warning("cannot read from the client: %s", strerror(-error));
	server_stop(ctx);
}

static void on_write_error(void *ctx, int error)
{
	struct server *s = ctx;
	log_debug("the client disconnected: %s", strerror(-error));
	s->stopping = true;
	timer_start(s->end_timer, 0, 0);
}

static void on_drained(void *ctx)
{
	struct server *s = ctx;
	if (s->stopping)
		timer_start(s->end_timer, 0, 0);
}

static void on_task(void *ctx, const struct task_info *task)
{
	struct server *s = ctx;
	tasks_changed(&s->connection, task);
}

/* --- lifetime ------------------------------------------------------------------------------------------- */

struct server *server_new(const struct server_spec *spec)
{
	static const struct connection_ops connection_ops = { .answer = write_answer,
							      .send = write_message,
							      .is_slow = is_slow };
	static const struct lines_ops ops = {
		.on_line = on_line,
		.on_too_long = on_too_long,
		.on_eof = on_eof,
		.on_write_error = on_write_error,
		.on_drained = on_drained,
	};
	static const struct lines_limits limits = {
		.line_max = LINE_MAX_IN,
		.pause_above = QUEUE_PAUSE,
		.queue_max = QUEUE_MAX,
	};
	struct server *s = new0(struct server);
	s->spec = *spec;
	messages_init(&s->connection, &(struct connection_spec){ .loop = spec->loop,
								 .conversation = spec->conversation,
								 .config = spec->config,
								 .extension = spec->extension,
								 .app = spec->app,
								 .ops = &connection_ops });
	s->lines = lines_new(spec->loop, spec->in_fd, spec->out_fd, &limits, &ops, s);
	if (!s->lines) {
		int saved = errno;
		free(s);
		errno = saved;
		return NULL;
	}
	s->end_timer = timer_new(spec->loop, end_now, s);
	tasks_take(spec->conversation, spec->config, /* remote= */ false, on_task, s);
	return s;
}

void server_stop(struct server *s)
{
	if (s->stopping)
		return;
	messages_end_listening(&s->connection);
	s->stopping = true;
	lines_flush_now(s->lines);
	timer_start(s->end_timer, lines_queued(s->lines) > 0 ? FLUSH_MS : 0, 0);
}

struct server *server_free(struct server *s)
{
	if (!s)
		return NULL;
	messages_release(&s->connection);
	lines_free(s->lines);
	timer_free(s->end_timer);
	if (s->spec.extension)
		s->spec.extension->close(s->spec.extension->ctx);
	free(s);
	return NULL;
}
