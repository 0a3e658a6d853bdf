#include "jupyter/face/options.h"

#include <getopt.h>

const char face_usage[] =
	"usage: husk-jupyter-face [--env-file FILE] --session ID [--tcp]\n"
	"       husk-jupyter-face [--env-file FILE] --runtime NAME --connection-file FILE [--alone]\n"
	"       husk-jupyter-face [--env-file FILE] --install [--alone] | --uninstall [--prefix PREFIX]\n"
	"       husk-jupyter-face --help | --version\n";

static const struct option longs[] = {
	{ "env-file", required_argument, NULL, 'e' }, { "session", required_argument, NULL, 's' },
	{ "runtime", required_argument, NULL, 'r' },  { "connection-file", required_argument, NULL, 'f' },
	{ "alone", no_argument, NULL, 'a' },	      { "tcp", no_argument, NULL, 't' },
	{ "install", no_argument, NULL, 'i' },	      { "uninstall", no_argument, NULL, 'u' },
	{ "prefix", required_argument, NULL, 'p' },   { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },	      { 0 },
};

static int take_option(struct face_options *o, int c, char **argv, struct fail *f)
{
	switch (c) {
	case 'e':
		o->env_file = optarg;
		return 0;
	case 's':
		o->session = optarg;
		return 0;
	case 'r':
		o->runtime = optarg;
		return 0;
	case 'f':
		o->connection_file = optarg;
		return 0;
	case 'a':
		o->alone = true;
		return 0;
	case 't':
		o->tcp = true;
		return 0;
	case 'i':
		o->install = true;
		return 0;
	case 'u':
		o->uninstall = true;
		return 0;
	case 'p':
		o->prefix = optarg;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
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
	*o = (struct face_options){ 0 };
	opterr = 0;
	optind = 0;
	for (int c; (c = getopt_long(argc, argv, ":", longs, NULL)) != -1;)
		if (take_option(o, c, argv, f) < 0)
			return -1;
	if (o->help || o->version)
		return 0;
	if (optind < argc)
		return fail_set(f, FAIL_INVALID, "'%s' is one argument too many", argv[optind]);
	if (o->install + o->uninstall + !!o->session + !!o->runtime != 1)
		return fail_set(f, FAIL_INVALID,
				"one of --session, --runtime, --install and --uninstall says what is to be done");
	if (o->prefix && !o->install && !o->uninstall)
		return fail_set(f, FAIL_INVALID, "--prefix is for --install and --uninstall");
	if (o->runtime && !o->connection_file)
		return fail_set(f, FAIL_INVALID, "--runtime needs a --connection-file, which Jupyter writes");
	if (o->alone && !o->runtime && !o->install)
		return fail_set(f, FAIL_INVALID, "--alone is for --runtime and --install");
	if (o->tcp && o->connection_file)
		return fail_set(f, FAIL_INVALID, "--tcp is for a connection file of our own");
	return 0;
}
