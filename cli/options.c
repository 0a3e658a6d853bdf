#include "cli/options.h"

#include <getopt.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"

#define TIMEOUT_MAX 604800
#define OLDER_DEFAULT 30
#define OLDER_MAX 36500
#define COUNT_MAX 1000000

/* --- values ------------------------------------------------------------------------------------------------------ */

static int take_env(struct options *o, const char *pair, struct fail *f)
{
	const char *equals = strchr(pair, '=');
	if (!equals || equals == pair)
		return fail_set(f, FAIL_INVALID, "--env '%s' is not NAME=VALUE", pair);
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

static int take_older(struct options *o, const char *text, struct fail *f)
{
	size_t n = strlen(text);
	AUTO(freep) char *days = xstrndup(text, n && text[n - 1] == 'd' ? n - 1 : 0);
	if (parse_u64(days, &o->older_days) < 0 || !o->older_days || o->older_days > OLDER_MAX)
		return fail_set(f, FAIL_INVALID, "--older '%s' is not a number of days from 1d to %dd, such as 30d",
				text, OLDER_MAX);
	return 0;
}

static int take_count(uint64_t *ret, const char *option, const char *text, struct fail *f)
{
	if (parse_u64(text, ret) < 0 || !*ret || *ret > COUNT_MAX)
		return fail_set(f, FAIL_INVALID, "--%s '%s' is not a number from 1 to %d", option, text, COUNT_MAX);
	return 0;
}

static int take_max_sessions(struct options *o, const char *text, struct fail *f)
{
	return take_count(&o->max_sessions, "max-sessions", text, f);
}

static int take_max_streams(struct options *o, const char *text, struct fail *f)
{
	return take_count(&o->max_streams, "max-streams", text, f);
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

/* --- options ----------------------------------------------------------------------------------------------------- */

/* Where the value of an option goes. cli/verbs.c says which verbs take the option, and a unit test compares the two. */
enum option_kind { OPTION_FLAG, OPTION_STRING, OPTION_LIST, OPTION_SIZE, OPTION_PARSED };

#define FLAG(option, field)                                                                                            \
	{                                                                                                              \
		option, OPTION_FLAG, offsetof(struct options, field), NULL                                             \
	}
#define STRING(option, field)                                                                                          \
	{                                                                                                              \
		option, OPTION_STRING, offsetof(struct options, field), NULL                                           \
	}
#define LIST(option, field)                                                                                            \
	{                                                                                                              \
		option, OPTION_LIST, offsetof(struct options, field), NULL                                             \
	}
#define SIZE(option, field)                                                                                            \
	{                                                                                                              \
		option, OPTION_SIZE, offsetof(struct options, field), NULL                                             \
	}
#define PARSED(option, function)                                                                                       \
	{                                                                                                              \
		option, OPTION_PARSED, 0, function                                                                     \
	}

static const struct option_row {
	const char *name;
	enum option_kind kind;
	size_t offset;
	int (*take)(struct options *o, const char *value, struct fail *f);
} rows[] = {
	STRING("env-file", env_file),
	LIST("allow", allowed),
	STRING("listen", listen),
	STRING("unix", unix_path),
	STRING("tls-cert", tls_cert),
	STRING("tls-key", tls_key),
	FLAG("behind-proxy", behind_proxy),
	LIST("allow-host", hosts),
	LIST("host", secret_hosts),
	STRING("header", header),
	STRING("query", query),
	STRING("basic", basic),
	LIST("scope", scopes),
	STRING("tenant", tenant),
	PARSED("max-sessions", take_max_sessions),
	PARSED("max-streams", take_max_streams),
	SIZE("max-memory", max_memory),
	SIZE("max-exports", max_exports),
	FLAG("json", json),
	FLAG("probe", probe),
	FLAG("verbose", verbose),
	FLAG("watch", watch),
	FLAG("metrics", metrics),
	FLAG("verify", verify),
	FLAG("ipynb", ipynb),
	STRING("thread", thread),
	STRING("delete", delete_id),
	FLAG("all", all),
	FLAG("print", print),
	FLAG("exports", old_exports),
	FLAG("images", old_images),
	PARSED("older", take_older),
	FLAG("yes", yes),
	STRING("language", language),
	LIST("dependency", dependencies),
	PARSED("env", take_env),
	LIST("secret", secrets),
	LIST("file", files),
	LIST("export", exports),
	PARSED("timeout", take_timeout),
	FLAG("alone", alone),
	STRING("requirements", requirements),
	STRING("cwd", cwd),
	SIZE("memory", memory),
	PARSED("cpus", take_cpus),
	SIZE("disk", disk),
	STRING("image", image),
	FLAG("no-network", no_network),
	LIST("network", network),
	STRING("pictures", pictures),
	STRING("runtime", runtime),
	FLAG("engine-only", engine_only),
	FLAG("tcp", tcp),
	FLAG("install", install),
	FLAG("uninstall", uninstall),
	FLAG("user", user),
	STRING("prefix", prefix),
	FLAG("help", wants_help),
	FLAG("version", wants_version),
};

/* getopt_long() returns FIRST_LONG plus the number of the row. */
#define FIRST_LONG 256

/* Options may come before the verb, so they are checked once the verb is known. */
struct parser {
	struct options *o;
	struct fail *f;
	struct option longs[ARRAY_LEN(rows) + 1];
	bool given[ARRAY_LEN(rows)];
};

static int take_option(struct parser *p, const struct option_row *row, const char *value)
{
	char *field = (char *)p->o + row->offset;
	p->given[row - rows] = true;
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_STRING:
		*(const char **)field = value;
		return 0;
	case OPTION_LIST:
		if (value)
			strv_add((struct strv *)field, value);
		else
			p->o->connections = true; /* husk history --network */
		return 0;
	case OPTION_SIZE:
		return take_size((uint64_t *)field, row->name, value, p->f);
	case OPTION_PARSED:
		return row->take(p->o, value, p->f);
	}
	return 0;
}

static const struct option_row *row_of_letter(char letter)
{
	const char *name = letter == 'd' ? "dependency" : letter == 'h' ? "help" : "version";
	size_t i = 0;
	while (!streq(rows[i].name, name))
		i++;
	return &rows[i];
}

/* --- wrong options ----------------------------------------------------------------------------------------------- */

static const struct help_verb *verb_of(const struct options *o)
{
	const struct help_verb *v = &husk_help.verbs[o->verb];
	return v->name ? v : NULL;
}

/* "run and repl": the verbs that take an option. */
static void add_takers(struct buf *out, const char *option)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < husk_help.n_verbs; i++)
		n += help_find_option(&husk_help, &husk_help.verbs[i], option) != NULL;
	for (size_t i = 0; i < husk_help.n_verbs; i++) {
		if (!help_find_option(&husk_help, &husk_help.verbs[i], option))
			continue;
		at++;
		buf_printf(out, "%s%s", at == 1 ? "" : at == n ? " and " : ", ", husk_help.verbs[i].name);
	}
}

/* For an option of another verb: getopt_long() knows the options of all verbs, so that it skips their values. */
static int not_of_verb(const struct options *o, const char *option, struct fail *f)
{
	AUTO(buf_release) struct buf takers = { 0 };
	add_takers(&takers, option);
	return fail_set(f, FAIL_INVALID, "%s has no option '--%s': it is for %s", verb_of(o)->name, option,
			buf_str(&takers));
}

static int unknown_option(const struct options *o, const char *given, struct fail *f)
{
	AUTO(freep) char *name = xstrndup(given, strcspn(given, "="));
	const char *near = strncmp(name, "--", 2) == 0 ? help_nearest_option(&husk_help, verb_of(o), name + 2) : NULL;
	return near ? fail_set(f, FAIL_INVALID, "unknown option '%s': did you mean '--%s'?", name, near) :
		      fail_set(f, FAIL_INVALID, "unknown option '%s'", name);
}

static int bad_option(const struct parser *p, char **argv)
{
	if (optopt >= FIRST_LONG)
		return fail_set(p->f, FAIL_INVALID, "option '--%s' takes no value", rows[optopt - FIRST_LONG].name);
	if (optopt)
		return fail_set(p->f, FAIL_INVALID, "unknown option '-%c'", optopt);
	return unknown_option(p->o, argv[optind - 1], p->f);
}

static int check_taken(const struct parser *p)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (p->given[i] && !help_find_option(&husk_help, verb_of(p->o), rows[i].name))
			return not_of_verb(p->o, rows[i].name, p->f);
	return 0;
}

/* Parses options up to the first other word if letters starts with "+", otherwise in all words. optind is then the
 * index of the first word that is not an option. */
static int take_options(struct parser *p, int argc, char **argv, const char *letters)
{
	opterr = 0;
	optind = 0; /* starts over */
	for (int c; (c = getopt_long(argc, argv, letters, p->longs, NULL)) != -1;) {
		if (c == ':')
			return fail_set(p->f, FAIL_INVALID, "option '%s' needs a value", argv[optind - 1]);
		if (c == '?')
			return bad_option(p, argv);
		const struct option_row *row = c >= FIRST_LONG ? &rows[c - FIRST_LONG] : row_of_letter((char)c);
		if (take_option(p, row, optarg) < 0)
			return -1;
		if (p->o->wants_help || p->o->wants_version)
			return 0;
	}
	return 0;
}

/* --- which options go together ----------------------------------------------------------------------------------- */

static int check_jupyter(const struct options *o, struct fail *f)
{
	bool installs = o->install || o->uninstall;
	if (o->install + o->uninstall + !!o->session != 1)
		return fail_set(f, FAIL_INVALID, "jupyter needs a session, --install or --uninstall");
	if (o->user && o->prefix)
		return fail_set(f, FAIL_INVALID, "use either --user or --prefix, not both");
	if ((o->user || o->prefix) && !installs)
		return fail_set(f, FAIL_INVALID, "--user and --prefix need --install or --uninstall");
	if (o->alone && !o->install)
		return fail_set(f, FAIL_INVALID, "--alone needs --install");
	return o->tcp && installs ? fail_set(f, FAIL_INVALID, "--tcp needs a session") : 0;
}

static int check_repl(const struct options *o, struct fail *f)
{
	bool fresh = o->language || o->dependencies.n || o->env.n || o->secrets.n || o->memory || o->disk ||
		     o->cpus > 0 || o->image || o->no_network || o->network.n;
	return o->session && fresh ?
		       fail_set(f, FAIL_INVALID, "these options apply only to a new session, not to '%s'", o->session) :
		       0;
}

static int check_history(const struct options *o, struct fail *f)
{
	if (o->connections && (o->ipynb || o->verify || !o->session))
		return fail_set(f, FAIL_INVALID, "--network needs a session, and works without --ipynb and --verify");
	return o->ipynb && (o->verify || o->json) ?
		       fail_set(f, FAIL_INVALID, "use --ipynb without --json and --verify") :
		       0;
}

static int check_exports(const struct options *o, struct fail *f)
{
	if (o->delete_id && (o->all || o->thread))
		return fail_set(f, FAIL_INVALID, "--delete cannot be combined with --all or --thread");
	return o->all && o->thread ? fail_set(f, FAIL_INVALID, "use either --thread or --all, not both") : 0;
}

static int check_keys(const struct options *o, struct fail *f)
{
	bool limits = o->max_sessions || o->max_memory || o->max_streams || o->max_exports;
	if (o->json && o->keys_action != KEYS_LIST)
		return fail_set(f, FAIL_INVALID, "--json works only with keys list");
	if ((o->scopes.n || limits) && o->keys_action != KEYS_ADD)
		return fail_set(f, FAIL_INVALID, "--scope and limits work only with keys add");
	return limits && !o->tenant ? fail_set(f, FAIL_INVALID, "limits need --tenant") : 0;
}

static int check_secret(const struct options *o, struct fail *f)
{
	bool places = o->secret_hosts.n || o->header || o->query || o->basic;
	if (o->json && o->secret_action != SECRET_LIST)
		return fail_set(f, FAIL_INVALID, "--json works only with secret list");
	if (places && o->secret_action != SECRET_SET)
		return fail_set(f, FAIL_INVALID, "--host, --header, --query and --basic work only with secret set");
	return o->secret_action == SECRET_SET && !o->secret_hosts.n ?
		       fail_set(f, FAIL_INVALID, "secret set needs --host: the host that the secret is for") :
		       0;
}

static int check(const struct options *o, struct fail *f)
{
	switch (o->verb) {
	case VERB_JUPYTER:
		return check_jupyter(o, f);
	case VERB_REPL:
		return check_repl(o, f);
	case VERB_PS:
		return o->metrics && (o->json || o->all || o->watch) ?
			       fail_set(f, FAIL_INVALID, "--metrics cannot be combined with other options") :
			       0;
	case VERB_HISTORY:
		return check_history(o, f);
	case VERB_EXPORTS:
		return check_exports(o, f);
	case VERB_DOCTOR:
		return o->verbose && !o->probe ? fail_set(f, FAIL_INVALID, "--verbose needs --probe") : 0;
	case VERB_GC:
		return (o->yes || o->older_days) && !o->old_exports && !o->old_images ?
			       fail_set(f, FAIL_INVALID, "--older and --yes need --exports or --images") :
			       0;
	case VERB_STOP:
		return o->all == (o->session != NULL) ?
			       fail_set(f, FAIL_INVALID, "stop needs either a session or --all") :
			       0;
	case VERB_SHELL:
		return o->session ? 0 : fail_set(f, FAIL_INVALID, "shell needs a session: husk ps lists them");
	case VERB_OPEN:
		return o->port ? 0 : fail_set(f, FAIL_INVALID, "open needs a session and a port");
	case VERB_RUN:
		return o->program ? 0 : fail_set(f, FAIL_INVALID, "run needs a file, or - for standard input");
	case VERB_KEYS:
		return check_keys(o, f);
	case VERB_SECRET:
		return check_secret(o, f);
	case VERB_CONFIG:
		return o->json && o->action != CONFIG_LIST ?
			       fail_set(f, FAIL_INVALID, "--json works only with config list") :
			       0;
	default:
		return 0;
	}
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static int unexpected(const char *word, struct fail *f)
{
	return fail_set(f, FAIL_INVALID, "unexpected argument '%s'", word);
}

static int find_verb(const char *name, enum verb *ret, struct fail *f)
{
	const struct help_verb *v = help_find_verb(&husk_help, name);
	const char *near = v ? NULL : help_nearest_verb(&husk_help, name);
	if (v) {
		*ret = (enum verb)(v - husk_help.verbs);
		return 0;
	}
	return near ? fail_set(f, FAIL_INVALID, "unknown verb '%s': did you mean '%s'?", name, near) :
		      fail_set(f, FAIL_INVALID, "unknown verb '%s'", name);
}

/* The verb's next word must be one of its actions. Returns its number, or -1 with f. */
static int take_action(const char *verb, const char *const *actions, size_t n, const char *word, struct fail *f)
{
	AUTO(buf_release) struct buf all = { 0 };
	for (size_t i = 0; i < n; i++) {
		if (word && streq(word, actions[i]))
			return (int)i;
		buf_printf(&all, "%s%s", i ? ", " : "", actions[i]);
	}
	return fail_set(f, FAIL_INVALID, "%s needs one of: %s", verb, buf_str(&all));
}

static int take_config_words(struct options *o, char **words, struct fail *f)
{
	static const char *const actions[] = {
		[CONFIG_LIST] = "list", [CONFIG_GET] = "get", [CONFIG_SET] = "set", [CONFIG_UNSET] = "unset"
	};
	int action = take_action("config", actions, ARRAY_LEN(actions), *words, f);
	if (action < 0)
		return -1;
	o->action = (enum config_action)action;
	words++;
	if (o->action != CONFIG_LIST && !*words)
		return fail_set(f, FAIL_INVALID, "config %s needs the name of a setting", actions[action]);
	if (o->action != CONFIG_LIST)
		o->setting = *words++;
	if (o->action == CONFIG_SET && *words)
		o->setting_value = *words++;
	return *words ? unexpected(*words, f) : 0;
}

static int take_keys_words(struct options *o, char **words, struct fail *f)
{
	static const char *const actions[] = { [KEYS_LIST] = "list", [KEYS_ADD] = "add", [KEYS_REMOVE] = "remove" };
	int action = take_action("keys", actions, ARRAY_LEN(actions), *words, f);
	if (action < 0)
		return -1;
	o->keys_action = (enum keys_action)action;
	words++;
	if (o->keys_action != KEYS_LIST && !*words)
		return fail_set(f, FAIL_INVALID, "keys %s needs the name of a key", actions[action]);
	if (o->keys_action != KEYS_LIST)
		o->key_name = *words++;
	return *words ? unexpected(*words, f) : 0;
}

static int take_secret_words(struct options *o, char **words, struct fail *f)
{
	static const char *const actions[] = {
		[SECRET_LIST] = "list", [SECRET_SET] = "set", [SECRET_REMOVE] = "remove"
	};
	int action = take_action("secret", actions, ARRAY_LEN(actions), *words, f);
	if (action < 0)
		return -1;
	o->secret_action = (enum secret_action)action;
	words++;
	if (o->secret_action != SECRET_LIST && !*words)
		return fail_set(f, FAIL_INVALID, "secret %s needs the name of a secret", actions[action]);
	if (o->secret_action != SECRET_LIST)
		o->secret_name = *words++;
	/* A value here is a mistake that must not be repeated on the screen. */
	return *words && o->secret_action == SECRET_SET ?
		       fail_set(f, FAIL_INVALID, "secret set takes no value: it is read from standard input") :
	       *words ? unexpected(*words, f) :
			0;
}

static int take_gate_words(struct options *o, char **words, struct fail *f)
{
	static const char *const actions[] = { [GATE_ALLOW] = "allow", [GATE_DENY] = "deny", [GATE_CHECK] = "check" };
	size_t i = GATE_ALLOW;
	if (!*words)
		return fail_set(f, FAIL_INVALID, "gate needs a session, or the word list");
	if (streq(words[0], "list") && !words[1]) {
		o->gate_action = GATE_LIST;
		return 0;
	}
	o->session = *words++;
	if (!*words)
		return 0;
	while (i < ARRAY_LEN(actions) && !streq(*words, actions[i]))
		i++;
	if (i == ARRAY_LEN(actions))
		return fail_set(f, FAIL_INVALID, "gate SESSION needs one of: allow, deny, check");
	o->gate_action = (enum gate_action)i;
	o->arguments = (const char *const *)++words;
	if (!*words)
		return fail_set(f, FAIL_INVALID, "gate %s needs the name of a host", actions[i]);
	return o->gate_action == GATE_CHECK && words[1] ? unexpected(words[1], f) : 0;
}

static int take_help_words(struct options *o, char **words, struct fail *f)
{
	if (*words && find_verb(*words++, &o->topic, f) < 0)
		return -1;
	return *words ? unexpected(*words, f) : 0;
}

static int take_port(struct options *o, char **words, struct fail *f)
{
	uint64_t port;
	if (parse_u64(words[0], &port) < 0 || port < 1 || port > UINT16_MAX)
		return fail_set(f, FAIL_INVALID, "'%s' is not a port: a number from 1 to 65535", words[0]);
	o->port = (uint16_t)port;
	return words[1] ? unexpected(words[1], f) : 0;
}

static int take_words(struct options *o, char **words, struct fail *f)
{
	switch (o->verb) {
	case VERB_CONFIG:
		return take_config_words(o, words, f);
	case VERB_KEYS:
		return take_keys_words(o, words, f);
	case VERB_SECRET:
		return take_secret_words(o, words, f);
	case VERB_HELP:
		return take_help_words(o, words, f);
	case VERB_RUN:
		o->program = *words;
		o->arguments = (const char *const *)words;
		return 0;
	case VERB_CP:
		o->arguments = (const char *const *)words;
		return 0;
	case VERB_SHELL:
		if (!*words)
			return 0;
		o->session = *words++;
		words += *words && streq(*words, "--");
		o->arguments = *words ? (const char *const *)words : NULL;
		return 0;
	case VERB_GATE:
		return take_gate_words(o, words, f);
	case VERB_OPEN:
		if (*words)
			o->session = *words++;
		return *words ? take_port(o, words, f) : 0;
	case VERB_STOP:
	case VERB_HISTORY:
	case VERB_JUPYTER:
	case VERB_REPL:
		if (*words)
			o->session = *words++;
		break;
	default:
		break;
	}
	return *words ? unexpected(*words, f) : 0;
}

/* --- parse the command line -------------------------------------------------------------------------------------- */

/* --help before or after a verb, and --version anywhere, replace the verb. */
static bool is_answered(struct options *o)
{
	if (!o->wants_help && !o->wants_version)
		return false;
	o->topic = o->verb;
	o->verb = o->wants_help ? VERB_HELP : VERB_VERSION;
	return true;
}

static int parse(struct parser *p, int argc, char **argv)
{
	struct options *o = p->o;
	if (take_options(p, argc, argv, "+:hVd:") < 0)
		return -1;
	if (is_answered(o))
		return 0;
	if (optind >= argc)
		return fail_set(p->f, FAIL_INVALID, "no verb given");
	argc -= optind;
	argv += optind;
	if (find_verb(argv[0], &o->verb, p->f) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct help_option *taken = help_find_option(&husk_help, verb_of(o), rows[i].name);
		if (taken && !taken->argument)
			p->longs[i].has_arg = no_argument;
	}
	/* Arguments after the program belong to the program. */
	bool runs = o->verb == VERB_RUN || o->verb == VERB_SHELL;
	if (take_options(p, argc, argv, runs ? "+:hVd:" : ":hVd:") < 0)
		return -1;
	if (is_answered(o))
		return 0;
	return check_taken(p) < 0 || take_words(o, argv + optind, p->f) < 0 ? -1 : check(o, p->f);
}

int options_parse(struct options *o, int argc, char **argv, struct fail *f)
{
	struct parser p = { .o = o, .f = f };
	*o = (struct options){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		p.longs[i] =
			(struct option){ rows[i].name, rows[i].kind == OPTION_FLAG ? no_argument : required_argument,
					 NULL, FIRST_LONG + (int)i };
	if (parse(&p, argc, argv) < 0)
		return -1;
	if ((o->old_exports || o->old_images) && !o->older_days)
		o->older_days = OLDER_DEFAULT;
	return 0;
}

void options_release(struct options *o)
{
	strv_release(&o->dependencies);
	strv_release(&o->network);
	strv_release(&o->env);
	strv_release(&o->secrets);
	strv_release(&o->files);
	strv_release(&o->exports);
	strv_release(&o->allowed);
	strv_release(&o->hosts);
	strv_release(&o->scopes);
	strv_release(&o->secret_hosts);
}

void options_usage(FILE *to, enum verb verb)
{
	help_print_usage(to, &husk_help, husk_help.verbs[verb].name ? &husk_help.verbs[verb] : NULL);
}
