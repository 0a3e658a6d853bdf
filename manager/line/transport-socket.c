/* Carries bytes over a socket that PID 1 dials if host and engine share a kernel, otherwise over the engine's exec.
 * Only an attempt shows whether the socket works: if PID 1 does not dial within a short time, the transport falls
 * back to exec and stays with it. */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/stream.h"
#include "kernels/protocol.h"
#include "manager/line/dialer.h"
#include "manager/line/folder.h"
#include "manager/line/transport.h"

/* PID 1 dials when it starts, and whenever a socket appears. */
#define PATIENCE_MS 2000
/* If the settings ask for the socket, PID 1 gets more time before the fallback to exec. */
#define LONG_PATIENCE_MS 10000
/* Limit for bytes that wait for a connection, such as a hello and pings. */
#define PENDING_MAX (1u << 20)

struct local {
	struct transport transport;
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	char *container;
	struct transport *exec;
	bool by_exec; /* fell back to exec */
	struct transport_handler handler;

	char *folder; /* NULL = none */
	bool adopted; /* another server may control PID 1, which then does not dial */
	char id[CONTAINER_ID_SIZE];
	int listen_fd; /* -1 = not listening */
	uint64_t inode;
	struct listener *listener;
	int candidate; /* a connection while the engine is asked about its process; -1 = none */
	struct engine_query *query;
	struct timer *patience;
	struct buf pending;
	struct stream *stream;
	bool failed;  /* the stream accepts no more bytes */
	bool refused; /* a connection was refused */
};

static struct local *local_of(struct transport *t)
{
	return container_of(t, struct local, transport);
}

static void stop_listening(struct local *l)
{
	if (l->listener || l->listen_fd >= 0)
		folder_hide(l->folder, l->inode);
	l->listener = listener_free(l->listener);
	closep(&l->listen_fd);
	l->query = l->engine->ops->query_free(l->query);
	closep(&l->candidate);
}

static void local_close(struct transport *t)
{
	struct local *l = local_of(t);
	timer_stop(l->patience);
	stop_listening(l);
	l->stream = stream_free(l->stream);
	buf_reset(&l->pending);
	l->failed = false;
	l->exec->ops->close(l->exec);
}

static void tell_closed(struct local *l, const char *why)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "the stream to the session ended (%s)", why);
	local_close(&l->transport);
	l->handler.on_closed(l->handler.ctx, &f);
}

/* --- the stream -------------------------------------------------------------------------------------------------- */

static void on_data(void *ctx, const void *data, size_t n)
{
	struct local *l = ctx;
	l->handler.on_bytes(l->handler.ctx, data, n);
}

static void on_descriptor(void *ctx, int fd)
{
	struct local *l = ctx;
	l->handler.on_descriptor(l->handler.ctx, fd);
}

static void on_eof(void *ctx, int error)
{
	tell_closed(ctx, error ? strerror(-error) : "PID 1 has closed it");
}

static void on_write_error(void *ctx, int error)
{
	tell_closed(ctx, strerror(-error));
}

static void local_write(struct transport *t, const void *data, size_t n)
{
	struct local *l = local_of(t);
	if (l->by_exec) {
		l->exec->ops->write(l->exec, data, n);
	} else if (l->stream && !l->failed && stream_write(l->stream, data, n) < 0) {
		l->failed = true;
		timer_start(l->patience, 0, 0);
	} else if (!l->stream && l->pending.len + n <= PENDING_MAX) {
		buf_add(&l->pending, data, n);
	}
}

static void local_pause(struct transport *t, bool paused)
{
	struct local *l = local_of(t);
	if (l->by_exec)
		l->exec->ops->pause(l->exec, paused);
	else if (l->stream)
		stream_pause(l->stream, paused);
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static void welcome(struct local *l, int fd)
{
	static const struct stream_ops ops = {
		.on_data = on_data, .on_descriptor = on_descriptor, .on_eof = on_eof, .on_write_error = on_write_error
	};
	stop_listening(l);
	timer_stop(l->patience);
	l->engine->dials = SUPPORT_YES;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ LINE_BUFFER }, sizeof(int));
	l->stream = stream_new(l->loop, fd, fd, &ops, l);
	if (!l->stream) {
		tell_closed(l, strerror(errno));
		return;
	}
	local_write(&l->transport, l->pending.data, l->pending.len);
	buf_reset(&l->pending);
}

/* Code in a session can connect as often as it likes, so only the first refusal is a warning. */
static void refuse(struct local *l, int fd, pid_t pid)
{
	close(fd);
	log_line(l->refused ? LOG_DEBUG : LOG_WARNING,
		 "container %s: process %d dialled the session's socket and is not its PID 1: refused", l->container,
		 (int)pid);
	l->refused = true;
}

static void on_state(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct local *l = ctx;
	int fd = take_fd(l->candidate);
	pid_t pid = dialer_pid(fd);
	l->query = l->engine->ops->query_free(l->query);
	if (!f && answer->container.running && pid > 0 && answer->container.pid == pid)
		welcome(l, fd);
	else
		refuse(l, fd, pid);
}

static void query_engine(struct local *l, int fd)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct query_spec spec = {
		.kind = ENGINE_QUERY_CONTAINER, .subject = l->container, .done = on_state, .ctx = l
	};
	l->query = l->query ? NULL : l->engine->ops->query(l->engine, &spec, &f);
	l->candidate = l->query ? fd : -1;
	if (!l->query)
		refuse(l, fd, dialer_pid(fd));
}

static void on_connection(void *ctx, int fd)
{
	struct local *l = ctx;
	pid_t pid = dialer_pid(fd);
	enum dialer_verdict verdict = dialer_check(pid, l->id);
	if (verdict == DIALER_IS_PID1)
		welcome(l, fd);
	else if (verdict == DIALER_IS_UNKNOWN && !l->query)
		query_engine(l, fd);
	else
		refuse(l, fd, pid);
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

static int open_exec(struct local *l, struct fail *f)
{
	l->by_exec = true;
	if (l->exec->ops->open(l->exec, &l->handler, f) < 0)
		return -1;
	if (l->pending.len)
		l->exec->ops->write(l->exec, l->pending.data, l->pending.len);
	buf_reset(&l->pending);
	return 0;
}

static void on_patience(void *ctx)
{
	struct local *l = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (l->failed) {
		tell_closed(l, "PID 1 does not read");
		return;
	}
	log_debug("container %s: PID 1 has not dialled; falling back to exec", l->container);
	stop_listening(l);
	if (!l->engine->dials)
		l->engine->dials = SUPPORT_NO;
	if (open_exec(l, &f) < 0)
		l->handler.on_closed(l->handler.ctx, &f);
}

/* Listens for PID 1. 0, or -1 on failure. */
static int let_in(struct local *l)
{
	if (l->listen_fd < 0)
		l->listen_fd = folder_listen(l->folder, &l->inode);
	if (l->listen_fd < 0) {
		l->listen_fd = -1;
		return -1;
	}
	l->listener = listener_new(l->loop, take_fd(l->listen_fd), on_connection, l);
	return l->listener ? 0 : -1;
}

static int local_open(struct transport *t, const struct transport_handler *handler, struct fail *f)
{
	struct local *l = local_of(t);
	l->handler = *handler;
	if (l->listener || l->stream)
		local_close(t);
	if (l->by_exec || !l->folder || let_in(l) < 0)
		return open_exec(l, f);
	bool insists = l->config->transport == TRANSPORT_SOCKET && !l->adopted;
	timer_start(l->patience, insists ? LONG_PATIENCE_MS : PATIENCE_MS, 0);
	return 0;
}

static const char *local_name(const struct transport *t)
{
	const struct local *l = container_of(t, const struct local, transport);
	return l->by_exec ? l->exec->ops->name(l->exec) : "socket";
}

static bool local_is_direct(const struct transport *t)
{
	const struct local *l = container_of(t, const struct local, transport);
	return l->stream && !l->failed;
}

static void local_explain(struct transport *t, const char *text, size_t n, struct fail *f)
{
	struct local *l = local_of(t);
	if (l->by_exec)
		l->exec->ops->explain(l->exec, text, n, f);
	else
		cause_set(f, FAIL_DIED, CAUSE_PROTOCOL, "the container broke Husk's protocol and was removed");
}

static struct transport *local_free(struct transport *t)
{
	struct local *l = local_of(t);
	local_close(t);
	timer_free(l->patience);
	l->exec->ops->free(l->exec);
	buf_release(&l->pending);
	free(l->folder);
	free(l->container);
	free(l);
	return NULL;
}

struct transport *transport_local_new(struct loop *loop, struct engine *engine, const struct config *config,
				      const char *container)
{
	static const struct transport_ops ops = {
		.name = local_name,
		.open = local_open,
		.write = local_write,
		.pause = local_pause,
		.is_direct = local_is_direct,
		.close = local_close,
		.explain = local_explain,
		.free = local_free,
	};
	struct local *l = new0(struct local);
	bool insists = config->transport == TRANSPORT_SOCKET;
	l->transport.ops = &ops;
	l->loop = loop;
	l->engine = engine;
	l->config = config;
	l->container = xstrdup(container);
	l->exec = transport_exec_new(engine, container);
	l->listen_fd = l->candidate = -1;
	l->patience = timer_new(loop, on_patience, l);
	bool can_dial = engine->dials != SUPPORT_NO && !engine_is_gvisor(config->runtime);
	if (config->transport != TRANSPORT_EXEC && (insists || can_dial) &&
	    engine_capabilities(engine).shares_kernel != SUPPORT_NO)
		l->folder = folder_path(config, container);
	return &l->transport;
}

/* --- the container ----------------------------------------------------------------------------------------------- */

const char *transport_local_invite(struct transport *t)
{
	struct local *l = local_of(t);
	if (!l->folder)
		return NULL;
	int r = folder_make(l->folder);
	l->listen_fd = r < 0 ? r : folder_listen(l->folder, &l->inode);
	if (l->listen_fd >= 0)
		return l->folder;
	log_warning("cannot create the socket of a session in '%s': %s", l->folder, strerror(-l->listen_fd));
	l->listen_fd = -1;
	transport_local_forget(t);
	return NULL;
}

void transport_local_created(struct transport *t, const struct engine_created *created)
{
	struct local *l = local_of(t);
	if (!l->folder)
		return;
	if (!created->line_dir) {
		stop_listening(l);
		transport_local_forget(t);
		return;
	}
	snprintf(l->id, sizeof(l->id), "%s", created->id);
	folder_write_id(l->folder, l->id);
	/* The container was created again. Closing the old socket ends connections of the first container. The
	 * second one sees the new socket and dials. */
	if (created->again)
		closep(&l->listen_fd);
}

void transport_local_find(struct transport *t)
{
	struct local *l = local_of(t);
	l->adopted = true;
	if (l->folder && !folder_read_id(l->folder, l->id)) {
		free(l->folder);
		l->folder = NULL;
	}
}

void transport_local_forget(struct transport *t)
{
	struct local *l = local_of(t);
	if (l->folder)
		folder_remove(l->folder);
	free(take_ptr(l->folder));
}
