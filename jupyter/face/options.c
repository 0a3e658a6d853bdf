#include "jupyter/face/options.h"

#define FIRST_OPTION 256

enum {
	FACE_SESSION,
	FACE_TCP,
	FACE_RUNTIME,
	FACE_CONNECTION_FILE,
	FACE_ALONE,
	FACE_INSTALL,
	FACE_UNINSTALL,
	FACE_PREFIX,
	FACE_ENV_FILE,
	FACE_HELP,
	FACE_VERSION,
	N_FACE_OPTIONS,
};

static const struct help_option options[] = {
	[FACE_SESSION] = { "session", "ID",
			   "Open this session to clients, through a connection file that is deleted when the program ends." },
	[FACE_TCP] = { "tcp", NULL,
		       "With --session: listen on 127.0.0.1 instead of on sockets in the folder of that file." },
	[FACE_RUNTIME] = { "runtime", "NAME",
			   "Start a session of this runtime, which ends with the program. The working directory is copied to "
			   "/workspace, with the limits of husk run: Jupyter starts a kernel in the folder of its notebook." },
	[FACE_CONNECTION_FILE] = { "connection-file", "FILE",
				   "With --runtime: listen at the endpoints in this file, which Jupyter wrote. They must be on this "
				   "machine, and the file must have a key." },
	[FACE_ALONE] = { "alone", NULL, "Do not copy a folder; with --install, this applies to all kernels." },
	[FACE_INSTALL] = { "install", NULL, "Write a kernelspec for each runtime whose image is on the engine." },
	[FACE_UNINSTALL] = { "uninstall", NULL, "Remove the kernelspecs that --install wrote." },
	[FACE_PREFIX] = { "prefix", "PREFIX", "Use PREFIX/share/jupyter instead of the user's own folder." },
	[FACE_ENV_FILE] = { "env-file", "FILE", "Read settings from FILE instead of $XDG_CONFIG_HOME/husk/.env." },
	[FACE_HELP] = { "help", NULL, "Print this help and exit." },
	[FACE_VERSION] = { "version", NULL, "Print name and version and exit." },
	[N_FACE_OPTIONS] = { 0 },
};

static const char *const usage[] = {
	"--session ID [--tcp]",
	"--runtime NAME --connection-file FILE [--alone]",
	"--install [--alone] [--prefix PREFIX]",
	"--uninstall [--prefix PREFIX]",
	NULL,
};
static const char *const text[] = {
	"husk jupyter runs this program, and Jupyter starts it for the kernels \"Husk Python\", \"Husk Node.js\" and so on. "
	"There is no need to run it by hand.",
	NULL,
};
static const struct help_pair codes[] = {
	{ "0", "It was asked to end, or the session has ended." },
	{ "1", "There is no such session." },
	{ "64", "Wrong usage, or a bad setting." },
	{ "111", "The system, the engine or the store failed." },
	{ 0 },
};

static const struct help_verb program = {
	.summary = "Serve a session of Husk as a Jupyter kernel",
	.usage = usage,
	.text = text,
	.options = options,
	.codes = codes,
};

const struct help_program face_help = {
	.name = "husk-jupyter-face",
	.summary = "a session of Husk as a Jupyter kernel",
	.verbs = &program,
	.n_verbs = 1,
};

static int take_option(struct face_options *o, int c, char **argv, struct fail *f)
{
	switch (c) {
	case FIRST_OPTION + FACE_ENV_FILE:
		o->env_file = optarg;
		return 0;
	case FIRST_OPTION + FACE_SESSION:
		o->session = optarg;
		return 0;
	case FIRST_OPTION + FACE_RUNTIME:
		o->runtime = optarg;
		return 0;
	case FIRST_OPTION + FACE_CONNECTION_FILE:
		o->connection_file = optarg;
		return 0;
	case FIRST_OPTION + FACE_ALONE:
		o->alone = true;
		return 0;
	case FIRST_OPTION + FACE_TCP:
		o->tcp = true;
		return 0;
	case FIRST_OPTION + FACE_INSTALL:
		o->install = true;
		return 0;
	case FIRST_OPTION + FACE_UNINSTALL:
		o->uninstall = true;
		return 0;
	case FIRST_OPTION + FACE_PREFIX:
		o->prefix = optarg;
		return 0;
	case FIRST_OPTION + FACE_HELP:
		o->help = true;
		return 0;
	case FIRST_OPTION + FACE_VERSION:
		o->version = true;
		return 0;
	case ':':
		return fail_set(f, FAIL_INVALID, "option '%s' needs a value", argv[optind - 1]);
	default:
		return fail_set(f, FAIL_INVALID, "unknown option '%s'", argv[optind - 1]);
	}
}

int face_options_parse(struct face_options *o, int argc, char **argv, struct fail *f)
{
	struct option longs[N_FACE_OPTIONS + 1];
	*o = (struct face_options){ 0 };
	opterr = 0;
	optind = 0;
	help_long_options(options, FIRST_OPTION, longs);
	for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1;)
		if (take_option(o, c, argv, f) < 0)
			return -1;
	if (o->help || o->version)
		return 0;
	if (optind < argc)
		return fail_set(f, FAIL_INVALID, "unexpected argument '%s'", argv[optind]);
	if (o->install + o->uninstall + !!o->session + !!o->runtime != 1)
		return fail_set(f, FAIL_INVALID, "use one of --session, --runtime, --install and --uninstall");
	if (o->prefix && !o->install && !o->uninstall)
		return fail_set(f, FAIL_INVALID, "--prefix works only with --install and --uninstall");
	if (o->runtime && !o->connection_file)
		return fail_set(f, FAIL_INVALID, "--runtime needs a --connection-file, which Jupyter writes");
	if (o->alone && !o->runtime && !o->install)
		return fail_set(f, FAIL_INVALID, "--alone works only with --runtime and --install");
	if (o->tcp && o->connection_file)
		return fail_set(f, FAIL_INVALID, "--tcp works only with --session");
	return 0;
}
