/* husk: one program with verbs. cli/exit.h has the exit codes. */
#include <malloc.h>
#include <signal.h>

#include "base/log.h"
#include "base/tether.h"
#include "base/work.h"
#include "cli/config.h"
#include "cli/connections.h"
#include "cli/cp.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/exit.h"
#include "cli/gate.h"
#include "cli/gc-old.h"
#include "cli/jupyter.h"
#include "cli/keys.h"
#include "cli/mcp.h"
#include "cli/open.h"
#include "cli/records.h"
#include "cli/repl/repl.h"
#include "cli/repl/sixel.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/secrets.h"
#include "cli/serve.h"
#include "cli/sessions.h"
#include "cli/setup.h"
#include "cli/shell.h"
#include "cli/ui.h"
#include "cli/verify.h"
#include "manager/manager.h"

static void print_help(enum verb topic)
{
	const struct help_verb *verb = &husk_help.verbs[topic];
	if (verb->name)
		help_print_verb(stdout, &husk_help, verb);
	else
		help_print(stdout, &husk_help);
}

static int run_verb(const struct options *options)
{
	switch (options->verb) {
	case VERB_HELP:
		print_help(options->topic);
		return EXIT_DONE;
	case VERB_VERSION:
		printf("husk %s\n", HUSK_VERSION);
		return EXIT_DONE;
	case VERB_MCP:
		return mcp_run(options, /* extension= */ NULL);
	case VERB_SERVE:
		return serve_run(options, /* extension= */ NULL);
	case VERB_UI:
		return ui_run(options);
	case VERB_KEYS:
		return keys_run(options);
	case VERB_SECRET:
		return secrets_run(options);
	case VERB_DEMO:
		return demo_run(options);
	case VERB_DOCTOR:
		return doctor_run(options);
	case VERB_PS:
	case VERB_STOP:
	case VERB_GC:
		return options->old_exports || options->old_images ? gc_old_run(options) : sessions_run(options);
	case VERB_EXPORTS:
	case VERB_HISTORY:
		return options->connections ? connections_run(options) :
		       options->verify	    ? verify_run(options) :
					      records_run(options);
	case VERB_RUN:
		return run_run(options);
	case VERB_SHELL:
		return shell_run(options);
	case VERB_OPEN:
		return open_run(options);
	case VERB_GATE:
		return gate_run(options);
	case VERB_CP:
		return cp_run(options);
	case VERB_JUPYTER:
		return jupyter_run(options);
	case VERB_REPL:
		return repl_run(options);
	case VERB_CONFIG:
		return config_run(options);
	case VERB_SETUP:
		return setup_run(options);
	case VERB_NONE:
	case N_VERBS:
		break;
	}
	return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
	struct options options;
	AUTO(fail_release) struct fail f = { 0 };
	sigset_t none;
	/* If the parent left SIGCHLD blocked, husk would not notice that a child has ended. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	log_init();
	/* husk starts itself with these words. They are not for people, so the help does not list them. */
	if (argc > 5 && streq(argv[1], "reap") && streq(argv[4], "--"))
		return manager_reap(argv[2], argv[3], argv + 5);
	if (argc > 4 && streq(argv[1], "tether") && streq(argv[3], "--"))
		return tether_run(argv[2], argv + 4);
	if (argc == 2 && streq(argv[1], SIXEL_VERB))
		return sixel_worker();
	if (options_parse(&options, argc, argv, &f) < 0) {
		const struct help_verb *verb = &husk_help.verbs[options.verb];
		report_refusal(&f, options.verb);
		help_print_pointer(stderr, &husk_help, verb->name ? verb : NULL);
		options_release(&options);
		return EXIT_USAGE;
	}
	int code = run_verb(&options);
	options_release(&options);
	return code;
}

int main(int argc, char **argv)
{
	/* Freed large buffers are returned to the system (a server keeps them for a while: loop_keep_memory()).
	 * There is one arena, because malloc_trim() does not shrink the arenas of other threads. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	mallopt(M_ARENA_MAX, 1);
	int code = run(argc, argv);
	/* exit() would wait for a thread that is blocked on a disk or a database (base/work.h), and the client would
	 * wait for exit(). */
	if (work_is_running()) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
