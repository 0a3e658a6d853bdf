#include "cli/options.h"

#include <getopt.h>

static const struct {
	const char *name;
	enum verb verb;
	const char *help;
} verbs[] = {
	{ "mcp", VERB_MCP, "serve the Model Context Protocol on stdin and stdout" },
	{ "demo", VERB_DEMO, "a short tour through the real server, then how to set up your client" },
	{ "doctor", VERB_DOCTOR, "check the engine, images, folders and settings, and say what to do" },
	{ "ps", VERB_PS, "list the sessions of all servers of this user" },
	{ "stop", VERB_STOP, "stop a session by its id, whoever uses it" },
	{ "gc", VERB_GC, "remove what ended servers have left behind" },
	{ "exports", VERB_EXPORTS, "list the files that sessions have exported" },
	{ "history", VERB_HISTORY, "list what was executed in a session, or check that nobody changed it" },
};

void options_usage(FILE *to)
{
	fputs("usage: husk VERB [OPTION]...\n"
	      "       husk --help | --version\n"
	      "\n"
	      "Gives an AI agent a real computer to run code on: persistent interpreters in hardened containers.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(to, "  %-7s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n"
	      "  --env-file FILE  read settings from FILE (NAME=value lines) instead of\n"
	      "                   $XDG_CONFIG_HOME/husk/.env; the environment wins over both\n"
	      "  --json           doctor, ps, gc, exports, history: print one JSON object\n"
	      "  --probe          doctor: also create a session of each runtime, run a cell and stop it\n"
	      "  --watch          ps: list again every two seconds, until interrupted\n"
	      "  --verify         history: look whether the log, of one session or of all, is what was written\n"
	      "  --thread ID      exports: those of another conversation\n"
	      "  --all            stop: all sessions; exports: those of all conversations\n"
	      "  --help           this text\n"
	      "  --version        name and version\n"
	      "\n"
	      "Exit codes: 0 done, 1 a doctor check failed, stop or history found no such session, or the log is\n"
	      "not what was written, 100 wrong usage or setting, 111 the system, the engine or the store failed.\n",
	      to);
}

static int find_verb(const char *name, struct options *o, struct fail *f)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (streq(verbs[i].name, name)) {
			o->verb = verbs[i].verb;
			return 0;
		}
	}
	return fail_set(f, FAIL_INVALID, "unknown verb '%s'", name);
}

static int only_for(const char *option, const char *who, struct fail *f)
{
	return fail_set(f, FAIL_INVALID, "option '--%s' is for %s only", option, who);
}

static int check(const struct options *o, struct fail *f)
{
	bool lists = o->verb == VERB_PS || o->verb == VERB_GC || o->verb == VERB_EXPORTS || o->verb == VERB_HISTORY;
	if (o->json && o->verb != VERB_DOCTOR && !lists)
		return only_for("json", "doctor, ps, gc, exports and history", f);
	if (o->probe && o->verb != VERB_DOCTOR)
		return only_for("probe", "doctor", f);
	if (o->watch && o->verb != VERB_PS)
		return only_for("watch", "ps", f);
	if (o->verify && o->verb != VERB_HISTORY)
		return only_for("verify", "history", f);
	if (o->thread && o->verb != VERB_EXPORTS)
		return only_for("thread", "exports", f);
	if (o->all && o->verb != VERB_STOP && o->verb != VERB_EXPORTS)
		return only_for("all", "stop and exports", f);
	if (o->all && o->thread)
		return fail_set(f, FAIL_INVALID, "use either --thread or --all, not both");
	if (o->verb == VERB_STOP && o->all == (o->session != NULL))
		return fail_set(f, FAIL_INVALID, "stop needs the id of a session, or --all");
	if (o->verb == VERB_HISTORY && !o->session && !o->verify)
		return fail_set(f, FAIL_INVALID, "history needs the id of a session, or --verify");
	if (o->fixtures && o->verb != VERB_MCP)
		return only_for("conformance-fixtures", "mcp", f);
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct fail *f)
{
	static const struct option longs[] = {
		{ "env-file", required_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "probe", no_argument, NULL, 'p' },
		{ "watch", no_argument, NULL, 'w' },
		{ "verify", no_argument, NULL, 'v' },
		{ "thread", required_argument, NULL, 't' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "conformance-fixtures", no_argument, NULL, 'f' },
		{ 0 },
	};
	*o = (struct options){ .verb = VERB_HELP };
	opterr = 0;
	optind = 0; /* starts over, also for a second call in one process */
	for (int c; (c = getopt_long(argc, argv, ":hV", longs, NULL)) != -1;) {
		switch (c) {
		case 'e':
			o->env_file = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'p':
			o->probe = true;
			break;
		case 'w':
			o->watch = true;
			break;
		case 'v':
			o->verify = true;
			break;
		case 't':
			o->thread = optarg;
			break;
		case 'a':
			o->all = true;
			break;
		case 'f':
			o->fixtures = true;
			break;
		case 'h':
			o->verb = VERB_HELP;
			return 0;
		case 'V':
			o->verb = VERB_VERSION;
			return 0;
		case ':':
			return fail_set(f, FAIL_INVALID, "option '%s' needs a value", argv[optind - 1]);
		default:
			return fail_set(f, FAIL_INVALID, "unknown option '%s'", argv[optind - 1]);
		}
	}
	if (optind >= argc)
		return fail_set(f, FAIL_INVALID, "no verb given");
	if (find_verb(argv[optind], o, f) < 0)
		return -1;
	int rest = optind + 1;
	if ((o->verb == VERB_STOP || o->verb == VERB_HISTORY) && rest < argc)
		o->session = argv[rest++];
	if (rest < argc)
		return fail_set(f, FAIL_INVALID, "unexpected argument '%s'", argv[rest]);
	return check(o, f);
}
