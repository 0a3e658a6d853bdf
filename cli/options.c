#include "cli/options.h"

#include <getopt.h>

#include "base/alloc.h"
#include "base/parse.h"

#define TIMEOUT_MAX 604800

static const struct {
	const char *name;
	enum verb verb;
	const char *help;
	const char *usage; /* what follows the verb */
} verbs[] = {
	{ "mcp", VERB_MCP, "serve the Model Context Protocol on stdin and stdout",
	  "[--env-file FILE] [--allow DIR]..." },
	{ "demo", VERB_DEMO, "a short tour through the real server, then how to set up your client",
	  "[--env-file FILE]" },
	{ "doctor", VERB_DOCTOR, "check the engine, images, folders and settings, and say what to do",
	  "[--env-file FILE] [--json] [--probe [--verbose]]" },
	{ "run", VERB_RUN, "run a program in a fresh sandbox, as if it ran here",
	  "[--language L] [-d NAME==VERSION]... [--env NAME=VALUE]... [--requirements FILE] [--alone] [--file PATH]... [--export PATH]... [--timeout S] "
	  "[--memory SIZE] [--cpus N] [--disk SIZE] [--image NAME] [--no-network] FILE|- [ARG]..." },
	{ "repl", VERB_REPL, "type at a session: a fresh one, or one that an agent uses",
	  "[--env-file FILE] [--pictures HOW] [--language L] [-d NAME==VERSION]... [--env NAME=VALUE]... [--memory SIZE] [--cpus N] "
	  "[--disk SIZE] [--image NAME] [--no-network] | [--pictures HOW] SESSION" },
	{ "shell", VERB_SHELL, "a terminal in a session, also in one of a running agent",
	  "[--env-file FILE] SESSION [--] [COMMAND [ARG]...]" },
	{ "cp", VERB_CP, "copy files and folders into a session, or out of it",
	  "[--env-file FILE] FILE... SESSION:[PATH] | SESSION:PATH... DEST" },
	{ "jupyter", VERB_JUPYTER, "open a session to Jupyter, or list Husk among Jupyter's kernels",
	  "[--env-file FILE] [--tcp] SESSION | --install [--alone] | --uninstall [--user | --prefix PREFIX]" },
	{ "setup", VERB_SETUP, "install and start an engine if none answers, and build the images",
	  "[--env-file FILE] [--runtime NAME] [--engine-only]" },
	{ "config", VERB_CONFIG, "list the settings, and keep some for all your programs, sealed",
	  "[--env-file FILE] [--json] list | get NAME | set NAME [VALUE] | unset NAME" },
	{ "ps", VERB_PS, "list the sessions of all servers of this user",
	  "[--env-file FILE] [--json] [--all] [--watch]" },
	{ "stop", VERB_STOP, "stop a session by its id, whoever uses it", "[--env-file FILE] ID | --all" },
	{ "gc", VERB_GC, "remove what ended servers have left behind, or old exports",
	  "[--env-file FILE] [--json] [--exports [--older DAYSd] [--yes]]" },
	{ "exports", VERB_EXPORTS, "list the files that sessions have exported, or delete one",
	  "[--env-file FILE] [--json] [--thread ID | --all] | --delete ID" },
	{ "history", VERB_HISTORY, "list what was executed in a session, or check that nobody changed it",
	  "[--env-file FILE] [--json | --ipynb] [SESSION] | --verify [SESSION]" },
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
	      "                   $XDG_CONFIG_HOME/husk/.env; the environment wins over both, and both\n"
	      "                   over what husk config keeps\n"
	      "  --allow DIR      mcp: a folder that the model may import files from; can be repeated\n"
	      "  --json           doctor, ps, gc, exports, history, config list: print one JSON object\n"
	      "  --probe          doctor: also run a session of each runtime and try what it must not do\n"
	      "  --verbose        doctor --probe: show each act that was tried, not only their groups\n"
	      "  --watch          ps: list again every two seconds, until interrupted\n"
	      "  --verify         history: look whether the log, of one session or of all, is what was written\n"
	      "  --ipynb          history: print it as a notebook, if what was run is kept (HISTORY_KEEPS_CODE)\n"
	      "  --thread ID      exports: those of another conversation\n"
	      "  --all            ps: also sessions that have ended, and how; stop: all sessions; exports: those of\n"
	      "                   all conversations\n"
	      "  --exports        gc: delete exports of all conversations that are older than --older, after showing how\n"
	      "                   many there are; asks at a terminal, elsewhere deletes nothing without --yes\n"
	      "  --older DAYSd    gc --exports: so old, such as 7d; 30d by default\n"
	      "  --yes            gc --exports: delete without asking\n"
	      "  --delete ID      exports: delete this one, and its content unless another export has the same\n"
	      "  --runtime NAME   setup: the image of this runtime only; NAME,NAME… of several\n"
	      "  --engine-only    setup: no images\n"
	      "  --language L     run: instead of the one that the file's name tells; repl: other than Python\n"
	      "  -d, --dependency NAME==VERSION\n"
	      "                   run, repl: install it first; NAME alone for any version\n"
	      "  --env NAME=VALUE run, repl: a variable of its environment\n"
	      "  --file PATH      run: a file or folder to have in /workspace\n"
	      "  --export PATH    run: a file or folder of the sandbox to bring here afterwards\n"
	      "  --alone          run: copy only the program, not the folder that it is in; jupyter --install: copy no folder\n"
	      "  --requirements FILE\n"
	      "                   run: install the packages that FILE lists: requirements.txt or package.json\n"
	      "  --timeout S      run: seconds that it may take; 0, the default, means no limit\n"
	      "  --memory SIZE    run, repl: more or less memory than the settings say, such as 4g\n"
	      "  --cpus N         run, repl: likewise, CPUs\n"
	      "  --disk SIZE      run, repl: likewise, in the home directory\n"
	      "  --image NAME     run, repl: one of CONTAINER_IMAGES instead of the language's own\n"
	      "  --no-network     run, repl: without the network\n"
	      "  --pictures HOW   repl: kitty, iterm or sixel for such a terminal, file to save them; auto by default\n"
	      "  --tcp            jupyter: listen on 127.0.0.1, not on sockets in a folder\n"
	      "  --install        jupyter: add Husk Python, Husk Node.js and so on to Jupyter's kernels\n"
	      "  --uninstall      jupyter: remove them\n"
	      "  --user           jupyter: those of this user, which is the default\n"
	      "  --prefix PREFIX  jupyter: those in PREFIX/share/jupyter, such as sys.prefix of a venv\n"
	      "  SESSION          the id of a session, the beginning of it, or its name; history: the latest if it is left out\n"
	      "  --help           this text\n"
	      "  --version        name and version\n"
	      "\n"
	      "Exit codes: 0 done, 1 a check of doctor failed, there is no such session, or the log is not what was\n"
	      "written, 64 your mistake: wrong usage, a bad setting, a file that cannot be read, packages that cannot be\n"
	      "installed, a limit reached, 111 the system, the engine or the store failed. run: that of the\n"
	      "program, else 1 for an error, 124 for a time-out, 130 for an interrupt, 137 for memory. shell: that of the\n"
	      "shell or command in it, 129 where it was hung up. repl, in a pipe: that of the last cell, as run has it.\n",
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

static const struct option longs[] = {
	{ "env-file", required_argument, NULL, 'e' },
	{ "allow", required_argument, NULL, 'A' },
	{ "json", no_argument, NULL, 'j' },
	{ "probe", no_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'B' },
	{ "watch", no_argument, NULL, 'w' },
	{ "verify", no_argument, NULL, 'v' },
	{ "ipynb", no_argument, NULL, 'n' },
	{ "thread", required_argument, NULL, 't' },
	{ "delete", required_argument, NULL, 'x' },
	{ "all", no_argument, NULL, 'a' },
	{ "exports", no_argument, NULL, 'O' },
	{ "older", required_argument, NULL, 'G' },
	{ "yes", no_argument, NULL, 'y' },
	{ "language", required_argument, NULL, 'l' },
	{ "dependency", required_argument, NULL, 'd' },
	{ "env", required_argument, NULL, 'E' },
	{ "file", required_argument, NULL, 'F' },
	{ "export", required_argument, NULL, 'X' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "alone", no_argument, NULL, 'L' },
	{ "requirements", required_argument, NULL, 'q' },
	{ "memory", required_argument, NULL, 'M' },
	{ "cpus", required_argument, NULL, 'C' },
	{ "disk", required_argument, NULL, 'D' },
	{ "image", required_argument, NULL, 'I' },
	{ "no-network", no_argument, NULL, 'N' },
	{ "pictures", required_argument, NULL, 'Q' },
	{ "runtime", required_argument, NULL, 'r' },
	{ "engine-only", no_argument, NULL, 'o' },
	{ "tcp", no_argument, NULL, 'P' },
	{ "install", no_argument, NULL, 'i' },
	{ "uninstall", no_argument, NULL, 'u' },
	{ "user", no_argument, NULL, 'U' },
	{ "prefix", required_argument, NULL, 'R' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

void options_usage_line(FILE *to, enum verb verb)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (verbs[i].verb == verb) {
			fprintf(to, "usage: husk %s %s\n", verbs[i].name, verbs[i].usage);
			return;
		}
	}
	fputs("usage: husk VERB [OPTION]...\nhusk --help lists the verbs and options.\n", to);
}

void options_release(struct options *o)
{
	strv_release(&o->dependencies);
	strv_release(&o->env);
	strv_release(&o->files);
	strv_release(&o->exports);
	strv_release(&o->allowed);
}

static int only_for(const char *option, const char *who, struct fail *f)
{
	return fail_set(f, FAIL_INVALID, "option '--%s' is for %s only", option, who);
}

static int check_jupyter(const struct options *o, struct fail *f)
{
	bool installs = o->install || o->uninstall;
	if (o->verb != VERB_JUPYTER)
		return o->tcp || installs || o->user || o->prefix ?
			       fail_set(f, FAIL_INVALID, "one of these options is for jupyter only") :
			       0;
	if (o->install + o->uninstall + !!o->session != 1)
		return fail_set(f, FAIL_INVALID, "jupyter needs the id of a session, --install or --uninstall");
	if (o->user && o->prefix)
		return fail_set(f, FAIL_INVALID, "use either --user or --prefix, not both");
	if ((o->user || o->prefix) && !installs)
		return fail_set(f, FAIL_INVALID, "--user and --prefix are for --install and --uninstall");
	return o->tcp && installs ? fail_set(f, FAIL_INVALID, "--tcp is for a session") : 0;
}

/* Those of verbs that make a session. */
static int check_fresh(const struct options *o, struct fail *f)
{
	bool fresh = o->language || o->dependencies.n || o->env.n || o->memory || o->disk || o->cpus > 0 || o->image ||
		     o->no_network;
	bool program = o->timeout || o->files.n || o->exports.n || (o->alone && !o->install) || o->requirements;
	if ((fresh && o->verb != VERB_RUN && o->verb != VERB_REPL) || (program && o->verb != VERB_RUN))
		return fail_set(f, FAIL_INVALID, "one of these options is for run%s only", program ? "" : " and repl");
	if (o->verb == VERB_REPL && o->session && fresh)
		return fail_set(f, FAIL_INVALID, "a session that is there already cannot be made otherwise");
	if (o->pictures && o->verb != VERB_REPL)
		return only_for("pictures", "repl", f);
	return 0;
}

static int check(const struct options *o, struct fail *f)
{
	bool lists = o->verb == VERB_PS || o->verb == VERB_GC || o->verb == VERB_EXPORTS || o->verb == VERB_HISTORY;
	bool lists_settings = o->verb == VERB_CONFIG && o->action == CONFIG_LIST;
	if (o->json && o->verb != VERB_DOCTOR && !lists && !lists_settings)
		return only_for("json", "doctor, ps, gc, exports, history and config list", f);
	if (o->probe && o->verb != VERB_DOCTOR)
		return only_for("probe", "doctor", f);
	if (o->verbose && !o->probe)
		return only_for("verbose", "doctor --probe", f);
	if (o->watch && o->verb != VERB_PS)
		return only_for("watch", "ps", f);
	if (o->verify && o->verb != VERB_HISTORY)
		return only_for("verify", "history", f);
	if (o->ipynb && o->verb != VERB_HISTORY)
		return only_for("ipynb", "history", f);
	if (o->ipynb && (o->verify || o->json))
		return fail_set(f, FAIL_INVALID, "--ipynb goes with neither --json nor --verify");
	if (o->thread && o->verb != VERB_EXPORTS)
		return only_for("thread", "exports", f);
	if (o->delete_id && o->verb != VERB_EXPORTS)
		return only_for("delete", "exports", f);
	if (o->delete_id && (o->all || o->thread))
		return fail_set(f, FAIL_INVALID,
				"--delete needs the id of an export, and goes with neither --all nor --thread");
	if (o->all && o->verb != VERB_STOP && o->verb != VERB_EXPORTS && o->verb != VERB_PS)
		return only_for("all", "ps, stop and exports", f);
	if ((o->old_exports || o->yes || o->older_days) && o->verb != VERB_GC)
		return fail_set(f, FAIL_INVALID, "--exports, --older and --yes are for gc only");
	if ((o->yes || o->older_days) && !o->old_exports)
		return fail_set(f, FAIL_INVALID, "--older and --yes need --exports");
	if (o->all && o->thread)
		return fail_set(f, FAIL_INVALID, "use either --thread or --all, not both");
	if (o->verb == VERB_STOP && o->all == (o->session != NULL))
		return fail_set(f, FAIL_INVALID, "stop needs the id of a session, or --all");
	if (o->verb == VERB_SHELL && !o->session)
		return fail_set(f, FAIL_INVALID, "shell needs the id of a session: husk ps lists them");
	if (check_fresh(o, f) < 0)
		return -1;
	if ((o->runtime || o->engine_only) && o->verb != VERB_SETUP)
		return only_for(o->runtime ? "runtime" : "engine-only", "setup", f);
	if (check_jupyter(o, f) < 0)
		return -1;
	if (o->verb == VERB_RUN && !o->program)
		return fail_set(f, FAIL_INVALID, "run needs a file, or - for standard input");
	if (o->allowed.n && o->verb != VERB_MCP)
		return only_for("allow", "mcp", f);
	return 0;
}

static int take_env(struct options *o, const char *pair, struct fail *f)
{
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair)
		return fail_set(f, FAIL_INVALID, "--env needs NAME=VALUE");
	strv_add(&o->env, pair);
	return 0;
}

static int take_timeout(struct options *o, const char *text, struct fail *f)
{
	if (parse_u64(text, &o->timeout) < 0 || o->timeout > TIMEOUT_MAX)
		return fail_set(f, FAIL_INVALID, "--timeout '%s' is not a number of seconds from 0 to %d", text,
				TIMEOUT_MAX);
	return 0;
}

#define OLDER_DEFAULT 30
#define OLDER_MAX 36500

static int take_older(struct options *o, const char *text, struct fail *f)
{
	size_t n = strlen(text);
	AUTO(freep) char *days = xstrndup(text, n && text[n - 1] == 'd' ? n - 1 : 0);
	if (parse_u64(days, &o->older_days) < 0 || !o->older_days || o->older_days > OLDER_MAX)
		return fail_set(f, FAIL_INVALID, "--older '%s' is not a number of days from 1d to %dd, such as 30d",
				text, OLDER_MAX);
	return 0;
}

static int take_size(uint64_t *ret, const char *option, const char *text, struct fail *f)
{
	if (parse_size(text, ret) < 0 || !*ret)
		return fail_set(f, FAIL_INVALID, "--%s '%s' is not a size above 0, such as 512m or 4g", option, text);
	return 0;
}

static int take_cpus(struct options *o, const char *text, struct fail *f)
{
	if (parse_decimal(text, &o->cpus) < 0 || !(o->cpus > 0))
		return fail_set(f, FAIL_INVALID, "--cpus '%s' is not a number above 0, such as 2 or 0.5", text);
	return 0;
}

/* Those of run and repl. */
static int take_run_option(struct options *o, int c, struct fail *f)
{
	switch (c) {
	case 'l':
		o->language = optarg;
		return 0;
	case 'd':
		strv_add(&o->dependencies, optarg);
		return 0;
	case 'E':
		return take_env(o, optarg, f);
	case 'F':
		strv_add(&o->files, optarg);
		return 0;
	case 'X':
		strv_add(&o->exports, optarg);
		return 0;
	case 'L':
		o->alone = true;
		return 0;
	case 'q':
		o->requirements = optarg;
		return 0;
	case 'I':
		o->image = optarg;
		return 0;
	case 'N':
		o->no_network = true;
		return 0;
	case 'Q':
		o->pictures = optarg;
		return 0;
	case 'M':
		return take_size(&o->memory, "memory", optarg, f);
	case 'D':
		return take_size(&o->disk, "disk", optarg, f);
	case 'C':
		return take_cpus(o, optarg, f);
	default:
		return take_timeout(o, optarg, f);
	}
}

/* Those of jupyter; 1 if it is none. */
static int take_jupyter_option(struct options *o, int c)
{
	switch (c) {
	case 'P':
		o->tcp = true;
		return 0;
	case 'i':
		o->install = true;
		return 0;
	case 'u':
		o->uninstall = true;
		return 0;
	case 'U':
		o->user = true;
		return 0;
	case 'R':
		o->prefix = optarg;
		return 0;
	default:
		return 1;
	}
}

static int take_option(struct options *o, int c, char **argv, struct fail *f)
{
	switch (c) {
	case 'e':
		o->env_file = optarg;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'p':
		o->probe = true;
		return 0;
	case 'B':
		o->verbose = true;
		return 0;
	case 'w':
		o->watch = true;
		return 0;
	case 'v':
		o->verify = true;
		return 0;
	case 'n':
		o->ipynb = true;
		return 0;
	case 't':
		o->thread = optarg;
		return 0;
	case 'x':
		o->delete_id = optarg;
		return 0;
	case 'a':
		o->all = true;
		return 0;
	case 'O':
		o->old_exports = true;
		return 0;
	case 'y':
		o->yes = true;
		return 0;
	case 'G':
		return take_older(o, optarg, f);
	case 'A':
		strv_add(&o->allowed, optarg);
		return 0;
	case 'r':
		o->runtime = optarg;
		return 0;
	case 'o':
		o->engine_only = true;
		return 0;
	case ':':
		return fail_set(f, FAIL_INVALID, "option '%s' needs a value", argv[optind - 1]);
	case '?':
		return fail_set(f, FAIL_INVALID, "unknown option '%s'", argv[optind - 1]);
	default:
		return take_jupyter_option(o, c) == 0 ? 0 : take_run_option(o, c, f);
	}
}

/* Up to the first word that is no option, or all of them; optind is then where the words begin. 1: help or version is asked for. */
static int take_options(struct options *o, int argc, char **argv, const char *letters, struct fail *f)
{
	opterr = 0;
	optind = 0; /* starts over */
	for (int c; (c = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
		if (c == 'h' || c == 'V') {
			o->verb = c == 'h' ? VERB_HELP : VERB_VERSION;
			return 1;
		}
		if (take_option(o, c, argv, f) < 0)
			return -1;
	}
	return 0;
}

static int take_config_words(struct options *o, char **words, struct fail *f)
{
	static const char *const actions[] = {
		[CONFIG_LIST] = "list", [CONFIG_GET] = "get", [CONFIG_SET] = "set", [CONFIG_UNSET] = "unset"
	};
	size_t i = 0;
	while (*words && i < ARRAY_LEN(actions) && !streq(*words, actions[i]))
		i++;
	if (!*words || i == ARRAY_LEN(actions))
		return fail_set(f, FAIL_INVALID, "config needs one of: list, get, set, unset");
	o->action = (enum config_action)i;
	words++;
	if (o->action != CONFIG_LIST && !*words)
		return fail_set(f, FAIL_INVALID, "config %s needs the name of a setting", actions[i]);
	if (o->action != CONFIG_LIST)
		o->setting = *words++;
	if (o->action == CONFIG_SET && *words)
		o->setting_value = *words++;
	return *words ? fail_set(f, FAIL_INVALID, "unexpected argument '%s'", *words) : 0;
}

static int take_words(struct options *o, char **words, struct fail *f)
{
	if (o->verb == VERB_CONFIG)
		return take_config_words(o, words, f);
	if (o->verb == VERB_RUN) {
		o->program = *words;
		o->arguments = (const char *const *)words;
		return 0;
	}
	if (o->verb == VERB_CP) {
		o->arguments = (const char *const *)words;
		return 0;
	}
	if (o->verb == VERB_SHELL && *words) {
		o->session = *words++;
		words += *words && streq(*words, "--");
		o->arguments = *words ? (const char *const *)words : NULL;
		return 0;
	}
	if ((o->verb == VERB_STOP || o->verb == VERB_HISTORY || o->verb == VERB_JUPYTER || o->verb == VERB_REPL) &&
	    *words)
		o->session = *words++;
	return *words ? fail_set(f, FAIL_INVALID, "unexpected argument '%s'", *words) : 0;
}

int options_parse(struct options *o, int argc, char **argv, struct fail *f)
{
	*o = (struct options){ .verb = VERB_HELP };
	int r = take_options(o, argc, argv, "+:hVd:", f);
	if (r)
		return r > 0 ? 0 : -1;
	if (optind >= argc)
		return fail_set(f, FAIL_INVALID, "no verb given");
	argc -= optind;
	argv += optind;
	if (find_verb(argv[0], o, f) < 0)
		return -1;
	/* What follows a program is the program's own. */
	bool runs = o->verb == VERB_RUN || o->verb == VERB_SHELL;
	r = take_options(o, argc, argv, runs ? "+:hVd:" : ":hVd:", f);
	if (r)
		return r > 0 ? 0 : -1;
	if (take_words(o, argv + optind, f) < 0 || check(o, f) < 0)
		return -1;
	if (o->old_exports && !o->older_days)
		o->older_days = OLDER_DEFAULT;
	return 0;
}
