/* Listens on a loopback address and joins each connection to a port of the session. Each session has an address of its
 * own, because browsers keep cookies by host name or address and not by port: what one session's page stores must not be
 * sent to another's, or to the page of Husk on 127.0.0.1. */
#include "cli/open.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/listener.h"
#include "base/log.h"
#include "cli/exit.h"
#include "cli/report.h"

#define BACKLOG 64
/* Ports below it need a privilege on most systems. */
#define PORT_UNPRIVILEGED 1024

struct opener {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct opening *opening;
	struct opened *opened;
	struct listener *listener;
	struct fail why;      /* no kind if there is no failure to report */
	enum cause last_told; /* a cause is reported once until a connection succeeds */
};

static void end(struct opener *o, int code)
{
	loop_stop(o->loop, code);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	end(ctx, EXIT_SUCCESS);
}

static void on_lost(void *ctx, const struct fail *f)
{
	struct opener *o = ctx;
	fail_copy(&o->why, f);
	end(o, EXIT_SYSTEM);
}

static void on_done(void *ctx, const struct fail *f)
{
	struct opener *o = ctx;
	if (f && cause_of(f) == CAUSE_STREAM_BROKE)
		return; /* one side has reset its connection, as programs do */
	if (f && cause_of(f) != o->last_told)
		log_error("%s", f->message);
	o->last_told = f ? cause_of(f) : CAUSE_NONE;
}

static void on_connection(void *ctx, int fd)
{
	struct opener *o = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct attach_port_request request = { .session_id = opened_session(o->opened),
					       .port = o->options->port,
					       .fd = fd,
					       .on_done = on_done,
					       .ctx = o };
	if (!attach_port(opened_attach(o->opened), &request, &f))
		on_done(o, &f);
	close(fd);
}

/* 127.A.B.C, chosen by the session's id; A is from 1 to 63. */
static struct in_addr address_of(const char *session_id)
{
	uint32_t hash = 2166136261u;
	for (const char *p = session_id; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u;
	uint32_t a = 1 + hash % 63, b = (hash >> 8) & 0xff, c = 1 + (hash >> 16) % 254;
	return (struct in_addr){ htonl(127u << 24 | a << 16 | b << 8 | c) };
}

/* The descriptor, or -errno. */
static int listen_on(struct sockaddr_in *sa)
{
	socklen_t n = sizeof(*sa);
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)sa, n) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)sa, &n) < 0)
		return -errno;
	return take_fd(fd);
}

/* The port of the session if it is free here, else any. */
static int begin(struct opener *o)
{
	uint16_t port = o->options->port;
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port < PORT_UNPRIVILEGED ? 0 : port),
				  .sin_addr = address_of(opened_session(o->opened)) };
	char text[INET_ADDRSTRLEN];
	int fd = listen_on(&sa);
	if (fd == -EADDRINUSE) {
		sa.sin_port = 0;
		fd = listen_on(&sa);
	}
	o->listener = fd < 0 ? NULL : listener_new(o->loop, fd, on_connection, o);
	if (!o->listener)
		return fail_set(&o->why, FAIL_INTERNAL, "cannot listen on %s: %s",
				inet_ntop(AF_INET, &sa.sin_addr, text, sizeof(text)), strerror(fd < 0 ? -fd : errno));
	printf("http://%s:%u/\n", inet_ntop(AF_INET, &sa.sin_addr, text, sizeof(text)), ntohs(sa.sin_port));
	(void)fflush(stdout);
	return 0;
}

static void on_opened(void *ctx, struct opened *opened, const struct fail *f)
{
	struct opener *o = ctx;
	o->opening = NULL;
	o->opened = opened;
	if (f)
		fail_copy(&o->why, f);
	if (f || begin(o) < 0)
		end(o, EXIT_SYSTEM);
}

static int go(struct opener *o)
{
	o->loop = loop_new();
	struct signals *ends = signals_new(o->loop, on_signal, o);
	o->opening = attach_open(&(struct open_request){ .loop = o->loop,
							 .config = &o->config,
							 .session_id = o->options->session,
							 .on_done = on_opened,
							 .on_lost = on_lost,
							 .ctx = o });
	int code = loop_run(o->loop);
	if (o->opening)
		attach_open_cancel(o->opening);
	listener_free(o->listener);
	signals_free(ends);
	opened_free(o->opened);
	loop_free(o->loop);
	return o->why.kind ? report_fail(&o->why) : code;
}

int open_run(const struct options *options)
{
	struct opener o = { .options = options };
	AUTO(fail_release) struct fail f = { 0 };
	int code = settings_load(&o.config, options->env_file, &f) < 0 ? report_refusal(&f, options->verb) : go(&o);
	fail_release(&o.why);
	config_release(&o.config);
	return code;
}
