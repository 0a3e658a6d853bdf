#include "cli/mcp.h"

#include <fcntl.h>

#include "api/local.h"
#include "api/page.h"
#include "base/log.h"
#include "base/slice.h"
#include "cli/exit.h"
#include "cli/private-stdio.h"
#include "cli/report.h"
#include "manager/manager.h"
#include "mcp/server.h"

/* Part of the 100 ms that a client may wait for the server to end. */
#define SETTLE_MS 50
/* The largest pipe that an unprivileged user may have. */
#define PIPE_BYTES (1 << 20)

struct service {
	struct loop *loop;
	struct manager *manager;
	int exit_code;
};

static void on_settled(void *ctx)
{
	struct service *service = ctx;
	loop_stop(service->loop, service->exit_code);
}

static void on_end(void *ctx, bool gave_up)
{
	struct service *service = ctx;
	service->exit_code = gave_up ? EXIT_SYSTEM : EXIT_DONE;
	manager_settle(service->manager, SETTLE_MS, on_settled, service);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	server_stop(ctx);
}

static int serve(struct loop *loop, const struct config *config, int in_fd, int out_fd,
		 const struct extension *extension)
{
	struct manager *manager = manager_new(loop, config);
	struct conversation *conversation = conversation_open(manager, /* spec= */ NULL);
	struct service service = { .loop = loop, .manager = manager };
	struct server *server = server_new(&(struct server_spec){
		.loop = loop,
		.conversation = conversation,
		.config = config,
		.in_fd = in_fd,
		.out_fd = out_fd,
		.extension = extension,
		.app = page_app,
		.on_end = on_end,
		.ctx = &service,
	});
	if (!server) {
		log_error("cannot serve on stdin and stdout: %m");
		manager_free(manager);
		return EXIT_SYSTEM;
	}
	struct local_server *local = local_server_new(
		&(struct api_spec){ .loop = loop, .config = config, .manager = manager, .conversation = conversation },
		/* api= */ NULL);
	struct signals *signals = signals_new(loop, on_signal, server);
	int code = loop_run(loop);
	signals_free(signals);
	/* In this order, so that requests in flight are dropped and not answered. */
	manager_free(manager);
	server_free(server);
	local_server_free(local, /* manager_gone= */ true);
	return code;
}

/* The reader of a long answer wakes up each time the pipe is full, so a larger pipe wakes it up less often. Descriptors
 * that are not pipes stay unchanged. */
static void widen(int fd)
{
#ifdef F_SETPIPE_SZ
	(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
#endif
}

static int allow_folders(struct config *config, const struct options *options, struct fail *f)
{
	for (size_t i = 0; i < options->allowed.n; i++)
		if (config_allow_dir(config, "option --allow", options->allowed.v[i], f) < 0)
			return -1;
	return 0;
}

int mcp_run(const struct options *options, const struct extension *extension)
{
	int in_fd, out_fd;
	int r = private_stdio(&in_fd, &out_fd);
	if (r < 0) {
		log_error("cannot set up stdin and stdout: %s", strerror(-r));
		return EXIT_SYSTEM;
	}
	struct config config = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (settings_load(&config, options->env_file, &f) < 0 || allow_folders(&config, options, &f) < 0) {
		close(in_fd);
		close(out_fd);
		config_release(&config);
		return report_refusal(&f, options->verb);
	}
	widen(out_fd);
	struct loop *loop = loop_new();
	loop_keep_memory(loop);
	slice_shorten();
	int code = serve(loop, &config, in_fd, out_fd, extension);
	loop_free(loop);
	config_release(&config);
	return code;
}
