/* cli/options: verbs, options, and errors about wrong ones. */
#include "tests/unit/unit.h"

#include "cli/options.h"

static void expect(char **argv, int want_verb, const char *want_file, const char *want_message)
{
	AUTO(options_release) struct options o;
	AUTO(fail_release) struct fail f = { 0 };
	int argc = 0;
	while (argv[argc])
		argc++;
	int r = options_parse(&o, argc, argv, &f);
	if (want_message) {
		assert_int_equal(r, -1);
		assert_string_equal(f.message, want_message);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(o.verb, want_verb);
	if (want_file)
		assert_string_equal(o.env_file, want_file);
	else
		assert_null(o.env_file);
}

#define ARGV(...) ((char *[]){ (char *)"husk", __VA_ARGS__ __VA_OPT__(, ) NULL })
#define S(text) ((char *)(text))

static void parses_options(void **state)
{
	expect(ARGV(S("mcp")), VERB_MCP, NULL, NULL);
	expect(ARGV(S("demo")), VERB_DEMO, NULL, NULL);
	expect(ARGV(S("mcp"), S("--env-file"), S("x")), VERB_MCP, "x", NULL);
	expect(ARGV(S("--env-file=y"), S("mcp")), VERB_MCP, "y", NULL);
	expect(ARGV(S("exports"), S("--all"), S("--json")), VERB_EXPORTS, NULL, NULL);
	expect(ARGV(S("exports"), S("--thread"), S("t")), VERB_EXPORTS, NULL, NULL);
	expect(ARGV(S("history"), S("--json"), S("id")), VERB_HISTORY, NULL, NULL);
	expect(ARGV(S("history"), S("--verify")), VERB_HISTORY, NULL, NULL);
	expect(ARGV(S("history"), S("--verify"), S("id")), VERB_HISTORY, NULL, NULL);
	expect(ARGV(S("--help")), VERB_HELP, NULL, NULL);
	expect(ARGV(S("mcp"), S("-h")), VERB_HELP, NULL, NULL);
	expect(ARGV(S("--version")), VERB_VERSION, NULL, NULL);
	expect(ARGV(S("ps"), S("--json"), S("--watch")), VERB_PS, NULL, NULL);
	expect(ARGV(S("stop"), S("abc")), VERB_STOP, NULL, NULL);
	expect(ARGV(S("stop"), S("--all")), VERB_STOP, NULL, NULL);
	expect(ARGV(S("gc"), S("--exports"), S("--older"), S("7d"), S("--yes")), VERB_GC, NULL, NULL);
	expect(ARGV(S("ps"), S("--all")), VERB_PS, NULL, NULL);
	expect(ARGV(S("ps"), S("--metrics")), VERB_PS, NULL, NULL);
	expect(ARGV(S("ps"), S("--metrics"), S("--json")), 0, NULL, "--metrics cannot be combined with other options");
	expect(ARGV(S("history")), VERB_HISTORY, NULL, NULL);
	expect(ARGV(S("gc"), S("--exports"), S("--images"), S("--older"), S("30d")), VERB_GC, NULL, NULL);
	expect(ARGV(S("gc"), S("--json")), VERB_GC, NULL, NULL);
	expect(ARGV(S("run"), S("--env-file=z"), S("a.py"), S("--env-file=its")), VERB_RUN, "z", NULL);
	expect(ARGV(S("config"), S("list"), S("--json")), VERB_CONFIG, NULL, NULL);
	expect(ARGV(S("config"), S("set"), S("A"), S("b")), VERB_CONFIG, NULL, NULL);
	expect(ARGV(S("run"), S("-"), S("--json")), VERB_RUN, NULL, NULL);
	expect(ARGV(S("shell"), S("--env-file=z"), S("id"), S("ls"), S("--env-file=its")), VERB_SHELL, "z", NULL);
	expect(ARGV(S("repl")), VERB_REPL, NULL, NULL);
	expect(ARGV(S("repl"), S("id"), S("--pictures"), S("file")), VERB_REPL, NULL, NULL);
}

static void rejects_bad_options(void **state)
{
	expect(ARGV(), 0, NULL, "no verb given");
	expect(ARGV(S("fly")), 0, NULL, "unknown verb 'fly'");
	expect(ARGV(S("shell")), 0, NULL, "shell needs a session: husk ps lists them");
	expect(ARGV(S("run")), 0, NULL, "run needs a file, or - for standard input");
	expect(ARGV(S("run"), S("--memory=0"), S("x.py")), 0, NULL,
	       "--memory '0' is not a size above 0, such as 512m or 4g");
	expect(ARGV(S("run"), S("--disk=x"), S("x.py")), 0, NULL,
	       "--disk 'x' is not a size above 0, such as 512m or 4g");
	expect(ARGV(S("run"), S("--cpus=0"), S("x.py")), 0, NULL,
	       "--cpus '0' is not a number above 0, such as 2 or 0.5");
	expect(ARGV(S("run"), S("--timeout=x"), S("x.py")), 0, NULL,
	       "--timeout 'x' is not a number of seconds from 0 to 604800");
	expect(ARGV(S("run"), S("--env"), S("X"), S("x.py")), 0, NULL, "--env 'X' is not NAME=VALUE");
	expect(ARGV(S("ps"), S("--language=r")), 0, NULL, "ps has no option '--language': it is for run and repl");
	expect(ARGV(S("repl"), S("--timeout=3")), 0, NULL, "repl has no option '--timeout': it is for run");
	expect(ARGV(S("repl"), S("--no-network"), S("id")), 0, NULL,
	       "these options apply only to a new session, not to 'id'");
	expect(ARGV(S("run"), S("--pictures=file"), S("-")), 0, NULL, "run has no option '--pictures': it is for repl");
	expect(ARGV(S("mcp"), S("now")), 0, NULL, "unexpected argument 'now'");
	expect(ARGV(S("history"), S("--ipynb"), S("id")), VERB_HISTORY, NULL, NULL);
	expect(ARGV(S("ps"), S("--ipynb")), 0, NULL, "ps has no option '--ipynb': it is for history");
	expect(ARGV(S("history"), S("--ipynb"), S("--json"), S("id")), 0, NULL,
	       "use --ipynb without --json and --verify");
	expect(ARGV(S("history"), S("a"), S("b")), 0, NULL, "unexpected argument 'b'");
	expect(ARGV(S("exports"), S("--all"), S("--thread=t")), 0, NULL, "use either --thread or --all, not both");
	expect(ARGV(S("keys")), 0, NULL, "keys needs one of: list, add, remove");
	expect(ARGV(S("keys"), S("add")), 0, NULL, "keys add needs the name of a key");
	expect(ARGV(S("keys"), S("list"), S("--scope=run")), 0, NULL, "--scope and limits work only with keys add");
	expect(ARGV(S("keys"), S("add"), S("a"), S("--max-sessions=2")), 0, NULL, "limits need --tenant");
	expect(ARGV(S("keys"), S("add"), S("a"), S("--max-sessions=0")), 0, NULL,
	       "--max-sessions '0' is not a number from 1 to 1000000");
	expect(ARGV(S("secret")), 0, NULL, "secret needs one of: list, set, remove");
	expect(ARGV(S("secret"), S("set")), 0, NULL, "secret set needs the name of a secret");
	expect(ARGV(S("secret"), S("set"), S("A")), 0, NULL,
	       "secret set needs --host: the host that the secret is for");
	/* The value is not repeated. */
	expect(ARGV(S("secret"), S("set"), S("A"), S("value"), S("--host=h")), 0, NULL,
	       "secret set takes no value: it is read from standard input");
	expect(ARGV(S("secret"), S("remove"), S("A"), S("--host=h")), 0, NULL,
	       "--host, --header, --query and --basic work only with secret set");
	expect(ARGV(S("mcp"), S("--thread=t")), 0, NULL, "mcp has no option '--thread': it is for exports");
	expect(ARGV(S("gc"), S("--exports"), S("--older"), S("7")), 0, NULL,
	       "--older '7' is not a number of days from 1d to 36500d, such as 30d");
	expect(ARGV(S("gc"), S("--yes")), 0, NULL, "--older and --yes need --exports or --images");
	expect(ARGV(S("ps"), S("--exports")), 0, NULL, "ps has no option '--exports': it is for gc");
	expect(ARGV(S("mcp"), S("--bogus")), 0, NULL, "unknown option '--bogus'");
	expect(ARGV(S("doctor"), S("--prob=1")), 0, NULL, "option '--probe' takes no value");
	expect(ARGV(S("ps"), S("-x")), 0, NULL, "unknown option '-x'");
	expect(ARGV(S("config"), S("get"), S("A"), S("--json")), 0, NULL, "--json works only with config list");
	expect(ARGV(S("mcp"), S("--env-file")), 0, NULL, "option '--env-file' needs a value");
	expect(ARGV(S("mcp"), S("--json")), 0, NULL,
	       "mcp has no option '--json': it is for gate, ps, history, exports, gc, keys, secret, doctor and config");
	expect(ARGV(S("ps"), S("--probe")), 0, NULL, "ps has no option '--probe': it is for doctor");
	expect(ARGV(S("doctor"), S("--verbose")), 0, NULL, "--verbose needs --probe");
	expect(ARGV(S("ps"), S("--verify")), 0, NULL, "ps has no option '--verify': it is for history");
	expect(ARGV(S("gc"), S("--watch")), 0, NULL, "gc has no option '--watch': it is for ps");
	expect(ARGV(S("gc"), S("--all")), 0, NULL, "gc has no option '--all': it is for ps, stop and exports");
	expect(ARGV(S("config")), 0, NULL, "config needs one of: list, get, set, unset");
	expect(ARGV(S("config"), S("get")), 0, NULL, "config get needs the name of a setting");
	expect(ARGV(S("config"), S("get"), S("A"), S("b")), 0, NULL, "unexpected argument 'b'");
	expect(ARGV(S("stop")), 0, NULL, "stop needs either a session or --all");
	expect(ARGV(S("stop"), S("a"), S("--all")), 0, NULL, "stop needs either a session or --all");
	expect(ARGV(S("stop"), S("a"), S("b")), 0, NULL, "unexpected argument 'b'");
}

static void suggests_the_nearest_name(void **state)
{
	expect(ARGV(S("docter")), 0, NULL, "unknown verb 'docter': did you mean 'doctor'?");
	expect(ARGV(S("hist")), 0, NULL, "unknown verb 'hist': did you mean 'history'?");
	expect(ARGV(S("help"), S("rnu")), 0, NULL, "unknown verb 'rnu': did you mean 'run'?");
	expect(ARGV(S("ps"), S("--wacth")), 0, NULL, "unknown option '--wacth': did you mean '--watch'?");
	expect(ARGV(S("mcp"), S("--env-fiel=x")), 0, NULL, "unknown option '--env-fiel': did you mean '--env-file'?");
	expect(ARGV(S("--hlep")), 0, NULL, "unknown option '--hlep': did you mean '--help'?");
	/* An option of another verb is not suggested. */
	expect(ARGV(S("gc"), S("--wacth")), 0, NULL, "unknown option '--wacth'");
	expect(ARGV(S("mcp"), S("--conformance-fixture-s")), 0, NULL, "unknown option '--conformance-fixture-s'");
}

static void expect_topic(char **argv, int want)
{
	struct options o;
	AUTO(fail_release) struct fail f = { 0 };
	int argc = 0;
	while (argv[argc])
		argc++;
	assert_int_equal(options_parse(&o, argc, argv, &f), 0);
	assert_int_equal(o.verb, VERB_HELP);
	assert_int_equal(o.topic, want);
}

static void help_is_about_the_verb(void **state)
{
	expect_topic(ARGV(S("--help")), VERB_NONE);
	expect_topic(ARGV(S("help")), VERB_NONE);
	expect_topic(ARGV(S("run"), S("--help")), VERB_RUN);
	expect_topic(ARGV(S("help"), S("run")), VERB_RUN);
	expect_topic(ARGV(S("help"), S("help")), VERB_HELP);
	/* Help needs no arguments or options that the verb requires. */
	expect_topic(ARGV(S("stop"), S("-h")), VERB_STOP);
}

/* Every option of the table can be parsed: it is known, and takes a value if the table says so. */
static void every_option_of_the_table_is_parsed(void **state)
{
	for (size_t i = 0; i < husk_help.n_verbs; i++) {
		const struct help_verb *v = &husk_help.verbs[i];
		for (const struct help_option *o = v->options; v->name && o && o->name; o++) {
			char option[64];
			struct options parsed;
			AUTO(fail_release) struct fail f = { 0 };
			snprintf(option, sizeof(option), "--%s", o->name);
			(void)options_parse(&parsed, 3, ARGV((char *)v->name, option), &f);
			options_release(&parsed);
			bool wants_value = f.message && strstr(f.message, "needs a value");
			assert_true(!f.message || !strstr(f.message, "unknown option"));
			assert_true(!f.message || !strstr(f.message, "has no option"));
			assert_int_equal(wants_value, o->argument != NULL);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_options),
		cmocka_unit_test(rejects_bad_options),
		cmocka_unit_test(suggests_the_nearest_name),
		cmocka_unit_test(help_is_about_the_verb),
		cmocka_unit_test(every_option_of_the_table_is_parsed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
