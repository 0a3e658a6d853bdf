/* The engine's events, line by line. If the engine is on this machine, they come from its socket, which needs no
 * process. Otherwise they come from `docker events`. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/stream.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/docker.h"
#include "manager/engine/docker/inspect.h"

#define EVENT_LINE_MAX 65536u
/* HTTP/1.0: the header is followed by lines until the connection ends. The filters are those of argv_watch(). */
#define REQUEST                                                                                                        \
	"GET /events?filters=%%7B%%22type%%22:%%5B%%22container%%22%%5D,"                                              \
	"%%22event%%22:%%5B%%22die%%22,%%22oom%%22,%%22destroy%%22,%%22died%%22,%%22remove%%22%%5D,"                   \
	"%%22label%%22:%%5B%%22" STORE_LABEL "%%3D%s%%22%%5D%%7D HTTP/1.0\r\nHost: docker\r\n\r\n"

struct engine_watch {
	struct docker *docker;
	char *store;
	struct watch_handler handler;
	struct engine_query *place; /* asks where the engine is */
	struct stream *stream;	    /* to the engine's socket */
	bool accepted;		    /* status 200 has arrived */
	struct child *child;	    /* the docker client, if the socket is not used */
	struct buf line;
	bool skipping; /* drops the rest of an over-long line */
};

static void watch_closed(struct engine_watch *w, const char *why)
{
	log_debug("the engine's events have ended: %.200s", why);
	w->handler.on_closed(w->handler.ctx);
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void watch_line(struct engine_watch *w)
{
	struct event_text storage;
	struct engine_event event;
	if (!w->skipping && inspect_event((const char *)w->line.data, w->line.len, &storage, &event))
		w->handler.on_event(w->handler.ctx, &event);
	w->skipping = false;
	buf_reset(&w->line);
}

static void watch_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_watch *w = ctx;
	const char *p = data, *end = p + n;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t take = (size_t)((newline ? newline : end) - p);
		if (buf_add(&w->line, p, take) < 0)
			w->skipping = true;
		p += take;
		if (!newline)
			break;
		p++;
		watch_line(w);
	}
}

/* --- the client -------------------------------------------------------------------------------------------------- */

static void client_ended(void *ctx, const struct child_result *r)
{
	watch_closed(ctx, r->err);
}

static int start_client(struct engine_watch *w, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	argv_watch(&argv, w->docker->program, w->store);
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.env = docker_env(w->docker),
		.on_stdout = watch_bytes,
		.on_done = client_ended,
		.ctx = w,
	};
	return client_start(w->docker->loop, &spec, &w->child, f);
}

/* Called from the loop. */
static void turn_to_client(struct engine_watch *w)
{
	AUTO(fail_release) struct fail f = { 0 };
	w->stream = stream_free(w->stream);
	buf_reset(&w->line);
	if (start_client(w, &f) < 0)
		watch_closed(w, f.message);
}

/* --- the socket -------------------------------------------------------------------------------------------------- */

/* Header lines are not events; only the status line is checked. */
static void on_data(void *ctx, const void *data, size_t n)
{
	struct engine_watch *w = ctx;
	if (!w->accepted) {
		static const char status[] = "HTTP/1.x 200";
		size_t missing = sizeof(status) - 1 - w->line.len, take = MIN(missing, n);
		buf_add(&w->line, data, take);
		if (take < missing)
			return;
		if (memcmp(w->line.data, status, 7) != 0 || memcmp(w->line.data + 8, status + 8, 4) != 0) {
			turn_to_client(w);
			return;
		}
		w->accepted = true;
		data = (const char *)data + take;
		n -= take;
	}
	watch_bytes(w, data, n);
}

static void on_eof(void *ctx, int error)
{
	struct engine_watch *w = ctx;
	if (w->accepted)
		watch_closed(w, error ? strerror(-error) : "the engine has closed its socket");
	else
		turn_to_client(w);
}

static int dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	if (n >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, n);
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return take_fd(fd);
}

/* False if the docker client has to be used. */
static bool start_socket(struct engine_watch *w)
{
	static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_eof };
	const char *path = w->docker->socket;
	if (!path || !*path)
		return false;
	int fd = dial(path);
	w->stream = fd < 0 ? NULL : stream_new(w->docker->loop, fd, fd, &ops, w);
	if (!w->stream) {
		log_debug("no events from %s: %s", path, strerror(errno));
		return false;
	}
	AUTO(freep) char *request = xasprintf(REQUEST, w->store);
	(void)stream_write(w->stream, request, strlen(request));
	return true;
}

static void on_place(void *ctx, const struct engine_answer *answer UNUSED, const struct fail *f UNUSED)
{
	struct engine_watch *w = ctx;
	w->place = docker_query_free(w->place);
	if (!start_socket(w))
		turn_to_client(w);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static int start(struct engine_watch *w, struct fail *f)
{
	struct query_spec place = { .kind = ENGINE_QUERY_PLACE, .done = on_place, .ctx = w };
	if (!w->docker->socket) {
		w->place = docker_query(&w->docker->engine, &place, f);
		return w->place ? 0 : -1;
	}
	return start_socket(w) ? 0 : start_client(w, f);
}

struct engine_watch *docker_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				  struct fail *f)
{
	struct engine_watch *w = new0(struct engine_watch);
	w->docker = docker_of(e);
	w->store = xstrdup(store);
	w->handler = *handler;
	w->line.max = EVENT_LINE_MAX;
	return start(w, f) < 0 ? docker_unwatch(w) : w;
}

struct engine_watch *docker_unwatch(struct engine_watch *w)
{
	if (!w)
		return NULL;
	docker_query_free(w->place);
	stream_free(w->stream);
	child_free(w->child);
	buf_release(&w->line);
	free(w->store);
	free(w);
	return NULL;
}
