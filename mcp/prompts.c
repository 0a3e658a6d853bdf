#include "mcp/prompts.h"

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/extension.h"
#include "mcp/rpc.h"

/* Maximum bytes of one argument, such as a bug report with its traceback or a function to measure. */
#define ARGUMENT_MAX (64u << 10)
#define ARGUMENTS_MAX 16
#define LIST_TTL_MS 3600000

struct prompt_argument {
	const char *name;
	const char *description;
	bool required;
};

struct prompt {
	const char *name, *title, *description;
	struct prompt_argument arguments[5]; /* the last one has no name */
	/* Appends the instructions for the model; args has only strings. */
	void (*write)(struct buf *b, const json_t *args);
};

#define SESSION_ARGUMENT                                                                                               \
	{                                                                                                              \
		"session_id", "The session to use instead of a new one."                                               \
	}
#define LANGUAGE_ARGUMENT                                                                                              \
	{                                                                                                              \
		"language", "Language of the interpreter; default: the one that fits."                                 \
	}

/* An argument; NULL if it is missing or empty. */
static const char *given(const json_t *args, const char *name)
{
	const char *value = json_string_value(json_object_get(args, name));
	return value && *value ? value : NULL;
}

/* An argument that is present, because check() requires it. */
static const char *required(const json_t *args, const char *name)
{
	const char *value = given(args, name);
	return value ? value : "";
}

static void write_session(struct buf *b, const json_t *args)
{
	const char *session = given(args, "session_id"), *language = given(args, "language");
	if (session)
		buf_printf(b, "Use session %s.\n", session);
	else if (language)
		buf_printf(b,
			   "Use the active session for %s if there is one, else create_session {language: \"%s\"}.\n",
			   language, language);
	else
		buf_add_str(
			b,
			"Choose the language that fits. Use the active session for it if there is one, else create_session.\n");
}

static void write_analysis(struct buf *b, const json_t *args)
{
	const char *question = given(args, "question");
	buf_printf(b, "Analyse this file with Husk: %s\n", required(args, "file"));
	buf_printf(b, "%s%s\n\n", question ? "Question: " : "Say what is in it and what stands out.",
		   question ? question : "");
	write_session(b, args);
	buf_add_str(
		b,
		"1. If the session does not have the file, copy it in with import_files and `source`. If that is denied, tell me which "
		"folders are allowed.\n"
		"2. Look before you compute: format, size, columns, types, missing values, duplicates, a few rows. Read a large file in parts.\n"
		"3. Answer with code. Plot what is easier to see than to read. Every figure that you report is one that a cell printed.\n"
		"4. Check the main result in a second, independent way.\n"
		"5. Finish with a short summary: the answer, the figures behind it, and doubts about the data. Export tables or plots that I "
		"would want as files.");
}

static void write_reproduction(struct buf *b, const json_t *args)
{
	buf_printf(b, "Reproduce this bug with Husk:\n\n%s\n\n", required(args, "report"));
	write_session(b, args);
	buf_add_str(
		b,
		"1. Write down what is expected, what happens, and which versions the report names. Install those with `dependencies` of "
		"create_session, or in the terminal.\n"
		"2. Get the failure to happen, exactly as reported. If it does not, vary one thing at a time: versions, input, environment. "
		"If it still does not, say so and stop.\n"
		"3. Remove everything that the failure does not need, running it after each step.\n"
		"4. Find the cause: read the source in the session, print, use a debugger. Show the line that is wrong.\n"
		"5. Try the smallest fix, and run the reproduction and the nearest tests with it.\n"
		"6. Report: the smallest reproduction as one file, its output, the versions, the cause, and the fix as a diff. Say what was "
		"observed and what is a guess.");
}

static void write_benchmark(struct buf *b, const json_t *args)
{
	const char *against = given(args, "against");
	buf_printf(b, "Benchmark this with Husk:\n\n%s\n\n", required(args, "code"));
	if (against)
		buf_printf(b, "Compare it with:\n\n%s\n\n", against);
	write_session(b, args);
	buf_printf(
		b,
		"1. Check first that the code works%s.\n"
		"2. Choose realistic inputs of at least three sizes. Generate them with a fixed seed, outside the measured part.\n"
		"3. Warm up, then measure at least ten rounds%s. Use a monotonic clock, and repeat fast code until a round takes 10 ms or "
		"more. Pass `wait` for long rounds. Nothing else may run in the session meanwhile.\n"
		"4. Report the median and the spread for each size as a table and a plot, how time grows with size, peak memory, the "
		"versions and nproc.\n"
		"5. Call a difference real only if it is clearly larger than the spread. Say what the figures do not show.",
		against ? " and that both give the same results" : "", against ? ", taking turns between the two" : "");
}

static const struct prompt prompts[] = {
	{ "analyse_file",
	  "Analyse a file",
	  "Copy a file into a session, explore it with code and answer a question about it.",
	  { { "file", "Path of the file on this computer, or in the session.", .required = true },
	    { "question", "The question; default: an overview." },
	    LANGUAGE_ARGUMENT,
	    SESSION_ARGUMENT },
	  write_analysis },
	{ "reproduce_bug",
	  "Reproduce a bug",
	  "Turn a bug report into the smallest program that fails, and find the cause.",
	  { { "report", "Actual and expected behaviour, and versions.", .required = true },
	    LANGUAGE_ARGUMENT,
	    SESSION_ARGUMENT },
	  write_reproduction },
	{ "benchmark",
	  "Benchmark code",
	  "Measure how fast code is and how its time grows, alone or against an alternative.",
	  { { "code", "The code, or what it does.", .required = true },
	    { "against", "The alternative to compare with." },
	    LANGUAGE_ARGUMENT,
	    SESSION_ARGUMENT },
	  write_benchmark },
};

static const struct prompt *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
		if (streq(prompts[i].name, name))
			return &prompts[i];
	return NULL;
}

bool prompts_has(const char *name)
{
	return find(name) != NULL;
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static json_t *describe(const struct prompt *p, const struct revision *revision)
{
	json_t *arguments = json_array();
	for (const struct prompt_argument *a = p->arguments; a->name; a++)
		json_array_append_new(arguments, json_pack("{s:s, s:s, s:b}", "name", a->name, "description",
							   a->description, "required", a->required));
	json_t *o =
		json_pack("{s:s, s:s, s:o}", "name", p->name, "description", p->description, "arguments", arguments);
	if (revision->titles)
		json_object_set_new(o, "title", json_string(p->title));
	return o;
}

void prompts_list(struct connection *c, struct call *call, json_t *params)
{
	const json_t *cursor = json_object_get(params, "cursor");
	if (cursor && !json_is_null(cursor)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: unknown cursor", NULL);
		return;
	}
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
		json_array_append_new(list, describe(&prompts[i], call->revision));
	json_t *result = json_pack("{s:o}", "prompts", list);
	extension_list(c, call, result);
	call_set_cache_hints(call->revision, result, LIST_TTL_MS, "public");
	call_reply(call, result);
}

/* --- get ----------------------------------------------------------------------------------------------------------- */

static bool is_text(const json_t *value, size_t max)
{
	return json_is_string(value) && json_string_length(value) <= max &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

/* Returns an error message, or NULL if the arguments are valid. The caller owns it. */
static char *check(const struct prompt *p, json_t *args)
{
	const char *name;
	json_t *value;
	if (json_object_size(args) > ARGUMENTS_MAX)
		return xstrdup("Invalid params: too many arguments");
	json_object_foreach(args, name, value) {
		if (is_text(value, ARGUMENT_MAX))
			continue;
		AUTO(freep) char *shown = rpc_excerpt(name);
		return xasprintf("Invalid params: argument \"%s\" must be a string of at most %u bytes", shown,
				 ARGUMENT_MAX);
	}
	for (const struct prompt_argument *a = p->arguments; a->name; a++)
		if (a->required && !given(args, a->name))
			return xasprintf("Invalid params: argument \"%s\" is required", a->name);
	return NULL;
}

void prompts_get(struct connection *c, struct call *call, json_t *params)
{
	const json_t *name = json_object_get(params, "name");
	json_t *args = json_object_get(params, "arguments");
	if (!json_is_string(name) || (args && !json_is_null(args) && !json_is_object(args))) {
		call_reply_error(call, RPC_INVALID_PARAMS,
				 "Invalid params: \"name\" must be a string, \"arguments\" an object", NULL);
		return;
	}
	const struct prompt *p = find(json_string_value(name));
	if (!p || json_string_length(name) != strlen(p->name)) {
		AUTO(freep) char *shown = rpc_excerpt(json_string_value(name));
		AUTO(freep) char *text = xasprintf("Unknown prompt: %s", shown);
		call_reply_error(call, RPC_INVALID_PARAMS, text, NULL);
		return;
	}
	AUTO(freep) char *problem = check(p, args);
	if (problem) {
		call_reply_error(call, RPC_INVALID_PARAMS, problem, NULL);
		return;
	}
	AUTO(buf_release) struct buf text = { 0 };
	p->write(&text, args);
	call_reply(call, json_pack("{s:s, s:[{s:s, s:{s:s, s:o}}]}", "description", p->description, "messages", "role",
				   "user", "content", "type", "text", "text", json_text(buf_str(&text))));
}
