/* A stream to PID 1: `docker exec` of `husk-client attach`. */
#include "base/alloc.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/docker.h"
#include "manager/engine/docker/inspect.h"

/* The exit status of `docker exec` when the engine disconnects. It prints nothing in that case. */
#define CONNECTION_LOST 255
#define DOING "reach the session"

struct engine_stream {
	struct child *child;
	struct stream_handler handler;
};

static void stream_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_stream *s = ctx;
	s->handler.on_bytes(s->handler.ctx, data, n);
}

static void stream_ended(void *ctx, const struct child_result *r)
{
	struct engine_stream *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (r->err_len)
		inspect_error(&f, DOING, r->err, r->err_len);
	else if (r->exit_status == CONNECTION_LOST)
		inspect_error(&f, DOING, "error during connect", strlen("error during connect"));
	else
		fail_set(&f, FAIL_ENGINE, "the stream to the session ended (docker exec: status %d)", r->exit_status);
	s->handler.on_closed(s->handler.ctx, &f);
}

struct engine_stream *docker_attach(struct engine *e, const char *container, const struct stream_handler *handler,
				    struct fail *f)
{
	struct docker *d = docker_of(e);
	AUTO(strv_release) struct strv argv = { 0 };
	argv_attach(&argv, d->program, container);
	struct engine_stream *s = new0(struct engine_stream);
	s->handler = *handler;
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.env = docker_env(d),
		.stdin_pipe = true,
		.on_stdout = stream_bytes,
		.on_done = stream_ended,
		.ctx = s,
	};
	if (client_start(d->loop, &spec, &s->child, f) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

int docker_write(struct engine_stream *s, const void *data, size_t n)
{
	return child_write(s->child, data, n);
}

void docker_pause(struct engine_stream *s, bool paused)
{
	child_pause(s->child, paused);
}

struct engine_stream *docker_detach(struct engine_stream *s)
{
	if (!s)
		return NULL;
	/* The last bytes still reach PID 1, such as acknowledgements at the end of the server. */
	child_leave(s->child);
	free(s);
	return NULL;
}

/* If the exec fails, the client reports it on the stream, instead of PID 1's hello. */
void docker_explain(struct engine *e UNUSED, const void *data, size_t n, struct fail *f)
{
	AUTO(freep) char *text = xstrndup(data, n);
	inspect_error(f, DOING, text, strlen(text));
}
