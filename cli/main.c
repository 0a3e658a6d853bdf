/* husk: one program, its verbs. Exit codes: 0 done, 1 doctor found something to do, or stop or history no such session, 100 wrong
 * usage or setting, 111 the system failed. */
#include <signal.h>

#include "base/log.h"
#include "base/work.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/records.h"
#include "cli/sessions.h"
#include "manager/engine/reap.h"
#include "manager/manager.h"
#include "mcp/fds.h"
#include "mcp/server.h"

#define EXIT_USAGE 100
#define EXIT_SYSTEM 111

static void report(const struct fail *f)
{
	log_error("%s", f->message);
	if (f->hint)
		log_error("%s", f->hint);
}

/* Of the 100 ms that a client may have to wait for our end. */
#define SETTLE_MS 50

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

static void on_end(void *ctx, int exit_code)
{
	struct service *service = ctx;
	service->exit_code = exit_code;
	manager_settle(service->manager, SETTLE_MS, on_settled, service);
}

static void on_signal(void *ctx, int signo)
{
	server_stop(ctx, 0);
}

static int serve(struct loop *loop, const struct config *config, int in_fd, int out_fd, bool fixtures)
{
	struct manager *manager = manager_new(loop, config);
	struct service service = { .loop = loop, .manager = manager };
	struct server *server = server_new(&(struct server_spec){
		.loop = loop,
		.manager = manager,
		.config = config,
		.in_fd = in_fd,
		.out_fd = out_fd,
		.fixtures = fixtures,
		.on_end = on_end,
		.ctx = &service,
	});
	if (!server) {
		log_error("cannot serve on stdin and stdout: %m");
		manager_free(manager);
		return EXIT_SYSTEM;
	}
	struct signals *signals = signals_new(loop, on_signal, server);
	int code = loop_run(loop);
	signals_free(signals);
	/* In this order: what is in flight is dropped, not answered. */
	manager_free(manager);
	server_free(server);
	return code;
}

static int run_mcp(const struct options *options)
{
	int in_fd, out_fd;
	int r = fds_protect(&in_fd, &out_fd);
	if (r < 0) {
		log_error("cannot set up stdin and stdout: %s", strerror(-r));
		return EXIT_SYSTEM;
	}
	struct config config = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (config_load(&config, options->env_file, &f) < 0) {
		report(&f);
		close(in_fd);
		close(out_fd);
		return EXIT_USAGE;
	}
	struct loop *loop = loop_new();
	int code = serve(loop, &config, in_fd, out_fd, options->fixtures);
	loop_free(loop);
	config_release(&config);
	return code;
}

static int run(int argc, char **argv)
{
	struct options options;
	AUTO(fail_release) struct fail f = { 0 };
	sigset_t none;
	/* A launcher that left SIGCHLD blocked would keep us from ever hearing of a child's end. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	log_init();
	/* Internal, started by a server that exits (manager/reap.h); not for people, so not in the usage. */
	if (argc > 5 && streq(argv[1], "reap") && streq(argv[2], "--docker") && streq(argv[4], "--"))
		return reap_containers(argv[3], argv + 5);
	if (options_parse(&options, argc, argv, &f) < 0) {
		report(&f);
		options_usage(stderr);
		return EXIT_USAGE;
	}
	switch (options.verb) {
	case VERB_HELP:
		options_usage(stdout);
		return 0;
	case VERB_VERSION:
		printf("husk %s\n", HUSK_VERSION);
		return 0;
	case VERB_MCP:
		return run_mcp(&options);
	case VERB_DEMO:
		return demo_run(options.env_file);
	case VERB_DOCTOR:
		return doctor_run(&(struct doctor_options){
			.env_file = options.env_file, .json = options.json, .try_sessions = options.probe });
	case VERB_PS:
	case VERB_STOP:
	case VERB_GC:
		return sessions_run(&options);
	case VERB_EXPORTS:
	case VERB_HISTORY:
		return records_run(&options);
	}
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	int code = run(argc, argv);
	/* A thread that waits for a disk or a database would be waited for (base/work.h): the client does not have that time. */
	if (work_is_running()) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
