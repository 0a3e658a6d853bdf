/* The tools create_session and stop_session. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "manager/json/codec.h"
#include "mcp/result.h"
#include "mcp/shown.h"
#include "mcp/tools.h"

struct create_args {
	const char *language;
	struct arg_switch network;
	json_t *dependencies;
	json_t *env, *secrets;
	const char *name, *cwd, *image, *on;
	uint64_t memory, disk;
	double cpus;
};

struct stop_args {
	const char *session_id;
};

static const char *language_choice(size_t i)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	return i < n ? list[i].name : NULL;
}

#define LANGUAGE_ARG                                                                                                   \
	{                                                                                                              \
		"language", ARG_STRING, offsetof(struct create_args, language),                                        \
			.max = 64, .description = "Language of the interpreter.", .example = "\"python\"",             \
			.choice = language_choice                                                                      \
	}
#define NETWORK_ARG(the_flags)                                                                                                     \
	{                                                                                                                          \
		"network", ARG_SWITCH, offsetof(struct create_args, network),                                                      \
			.flags = the_flags, .max = 256,                                                                            \
			.description =                                                                                             \
				"Internet access, or a list of the only hosts to reach, e.g. [\"@python\", \"api.example.com\"].", \
			.example = "true"                                                                                          \
	}
#define DEPENDENCIES_ARG(text)                                                                                         \
	{                                                                                                              \
		"dependencies", ARG_TEXTS, offsetof(struct create_args, dependencies),                                 \
			.description = text, .example = "{\"pandas\": \"2.2.3\", \"matplotlib\": \"\"}"                \
	}

#define ENV_ARG                                                                                                        \
	{                                                                                                              \
		"env", ARG_TEXTS, offsetof(struct create_args, env),                                                   \
			.description = "Environment variables of the interpreter and all commands.",                   \
			.example = "{\"TZ\": \"Europe/Berlin\"}"                                                       \
	}
#define SECRETS_ARG                                                                                                                \
	{                                                                                                                          \
		"secrets", ARG_STRINGS, offsetof(struct create_args, secrets),                                                     \
			.max = SESSION_SECRETS_MAX,                                                                                \
			.description =                                                                                             \
				"Names of stored secrets. Each variable holds a placeholder that works in requests to its hosts.", \
			.example = "[\"OPENAI_API_KEY\"]"                                                                          \
	}
#define CWD_ARG                                                                                                        \
	{                                                                                                              \
		"cwd", ARG_STRING, offsetof(struct create_args, cwd), ARG_NONEMPTY,                                    \
			.max = 4095, .description = "Directory to start in, instead of /workspace.",                   \
			.example = "\"/tmp\""                                                                          \
	}

#define NAME_ARG                                                                                                       \
	{                                                                                                              \
		"name", ARG_STRING, offsetof(struct create_args, name), ARG_NONEMPTY,                                  \
			.max = HANDLE_NAME_MAX, .description = "To use as session_id.", .example = "\"sales\""         \
	}

#define LIMIT_ARGS                                                                                                     \
	{ "memory", ARG_SIZE, offsetof(struct create_args, memory),                                                    \
	  .description = "Memory limit, e.g. \"4g\". /workspace and /tmp grow with it.", .example = "\"4g\"" },        \
		{ "cpus", ARG_NUMBER, offsetof(struct create_args, cpus), .example = "2" },                            \
	{                                                                                                              \
		"disk", ARG_SIZE, offsetof(struct create_args, disk),                                                  \
			.description = "Size of the home directory, e.g. \"10g\".", .example = "\"10g\""               \
	}

/* create_extend() adds this argument to the published schema if the operator offers images. */
#define IMAGE_ARG                                                                                                      \
	{                                                                                                              \
		"image", ARG_STRING, offsetof(struct create_args, image), ARG_HIDDEN | ARG_NONEMPTY, .max = 64         \
	}

/* Likewise with the hosts of a pool. */
#define ON_ARG                                                                                                         \
	{                                                                                                              \
		"on", ARG_STRING, offsetof(struct create_args, on), ARG_HIDDEN | ARG_NONEMPTY, .max = 64               \
	}

static const struct arg create_table[] = {
	LANGUAGE_ARG,
	NETWORK_ARG(0),
	DEPENDENCIES_ARG(
		"Packages to install before the session starts: name to version, \"\" for any. The set is cached."),
	ENV_ARG,
	SECRETS_ARG,
	CWD_ARG,
	NAME_ARG,
	LIMIT_ARGS,
	IMAGE_ARG,
	ON_ARG,
	{ 0 },
};

/* The arguments without `network`, for operators who have switched the network off. */
static const struct arg offline_create_table[] = {
	LANGUAGE_ARG,
	NETWORK_ARG(ARG_HIDDEN),
	DEPENDENCIES_ARG(
		"Packages of the session: name to version, \"\" for any. There is no network, so only cached sets are available."),
	ENV_ARG,
	CWD_ARG,
	NAME_ARG,
	LIMIT_ARGS,
	IMAGE_ARG,
	ON_ARG,
	{ 0 },
};

static const struct arg *create_args_for(const struct tool_env *env)
{
	return env->config->network_enabled ? create_table : offline_create_table;
}

static const struct arg stop_table[] = {
	{ "session_id", ARG_STRING, offsetof(struct stop_args, session_id), ARG_REQUIRED | ARG_NONEMPTY, .max = 128,
	  .description = "As create_session returned it.",
	  .example = "\"kq3v…\" (the session_id that create_session returned)" },
	{ 0 },
};

static void create_defaults(void *args, const struct tool_env *env)
{
	struct create_args *a = args;
	a->language = language_choice(0);
	a->network.on = env->config->network_enabled;
}

static char *size_text(uint64_t bytes)
{
	if (bytes >= 1u << 30 && bytes % (1u << 30) == 0)
		return xasprintf("%llu GB", (unsigned long long)(bytes >> 30));
	return xasprintf("%llu MB", (unsigned long long)(bytes >> 20));
}

static char *duration_text(uint64_t seconds)
{
	if (seconds >= 7200 && seconds % 3600 == 0)
		return xasprintf("%llu hours", (unsigned long long)(seconds / 3600));
	if (seconds >= 120)
		return xasprintf("%llu minutes", (unsigned long long)(seconds / 60));
	return xasprintf("%llu seconds", (unsigned long long)seconds);
}

static char *create_describe(const struct tool_env *env)
{
	const struct config *c = env->config;
	struct buf b = { 0 };
	size_t n;
	const struct runtime *list = runtime_list(&n);
	AUTO(freep) char *memory = size_text(c->memory_limit);
	AUTO(freep) char *tmpfs = size_text(c->tmpfs_size);
	AUTO(freep) char *home = size_text(c->home_size);
	AUTO(freep) char *idle = duration_text(c->idle_ttl);
	AUTO(freep) char *lifetime = duration_text(c->max_lifetime);
	buf_add_str(
		&b,
		"Create a session: a private Linux container with a persistent interpreter and a shell. Returns its session_id.\n"
		"Reuse one for the whole task.\n");
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "language=\"%s\": %s\n", list[i].name, list[i].describe);
	buf_printf(
		&b,
		"Limits: %s memory, files in /workspace and /tmp (%s each) included; %s on disk in the home directory; %.3g CPUs, "
		"%llu processes, no root, read-only system.\n",
		memory, tmpfs, home, (double)c->cpu_quota / 100000, (unsigned long long)c->pids_limit);
	buf_add_str(
		&b,
		c->network_enabled ?
			"Network: on unless `network` is false or a list. Name the packages that the work needs in `dependencies`; "
			"execute_terminal can install more. CPU PyTorch: "
			"--index-url with PyTorch's own index, path /whl/cpu.\n" :
			"No network: the person who runs this server has switched it off.\n");
	buf_printf(
		&b,
		"At most %llu sessions at a time. A session ends with stop_session, after %s without use or %s after its start; everything in it is lost.",
		(unsigned long long)MIN(c->max_sessions, c->max_sessions_per_thread), idle, lifetime);
	return buf_steal_str(&b);
}

static void add_choice(json_t *properties, const char *name, const char *description, const struct strv *choices)
{
	json_t *list = json_array();
	for (size_t i = 0; i < choices->n; i++)
		json_array_append_new(list, json_string(choices->v[i]));
	json_object_set_new(properties, name,
			    json_pack("{s:s, s:s, s:o}", "type", "string", "description", description, "enum", list));
}

static void create_extend(json_t *properties, const struct tool_env *env)
{
	const struct config *c = env->config;
	if (c->image_names.n)
		add_choice(properties, "image", "Another image, prepared by the person who runs this server.",
			   &c->image_names);
	if (c->pool_names.n)
		add_choice(properties, "on", "The host that it runs on; usually the one with the most free memory.",
			   &c->pool_names);
}

/* The network that the session got; a list has only what the operator allows. */
static json_t *network_shown(const struct create_args *args, const struct session_info *info)
{
	json_t *list = info->rules ? session_rules_encode(info->rules) : NULL;
	return list ? list : json_boolean(args->network.on);
}

static void create_done(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct call *call = ctx;
	const struct create_args *args = call->decoded;
	const struct session_info *info = result->session;
	call->op = NULL;
	if (!info && result->n_active)
		tools_refuse(call, result->active, result->n_active, f);
	else if (!info)
		tools_fail(call, /* session_id= */ NULL, f);
	if (!info)
		return;
	json_t *fields = shown_session(info);
	json_object_set_new(fields, "success", json_true());
	json_object_set_new(fields, "network", network_shown(args, info));
	if (!info->dependencies)
		json_object_set_new(fields, "dependencies", json_object());
	if (args->image)
		json_object_set_new(fields, "image", json_name(args->image));
	if (result->note)
		json_object_set_new(fields, "note", json_shown(result->note));
	tools_reply_fields(call, fields);
}

static int unknown_language(const char *given, struct fail *f)
{
	struct buf b = { 0 };
	for (size_t i = 0; language_choice(i); i++)
		buf_printf(&b, "%s\"%s\"", i ? ", " : "", language_choice(i));
	AUTO(freep) char *names = buf_steal_str(&b);
	return fail_set(f, FAIL_INVALID, "language must be one of %s; got \"%s\"", names, given);
}

static void create_output(void *ctx, const char *text, size_t n)
{
	call_output(ctx, text, n);
}

static struct op *create_start(struct call *call, const void *data, struct fail *f)
{
	const struct create_args *args = data;
	const struct runtime *runtime = runtime_find(args->language);
	if (!runtime) {
		unknown_language(args->language, f);
		return NULL;
	}
	size_t n = json_object_size(args->dependencies), i = 0;
	AUTO(freep) struct dependency *dependencies = xcalloc(n + 1, sizeof(*dependencies));
	const char *name;
	json_t *version;
	json_object_foreach(args->dependencies, name, version) {
		const char *text = json_string_value(version);
		dependencies[i++] = (struct dependency){ .name = name, .version = text ? text : "" };
	}
	size_t n_env;
	AUTO(freep) struct env_var *env = tools_env(args->env, &n_env);
	AUTO(strv_release) struct strv allow = { 0 };
	AUTO(freep) const char **secrets = strings_decode(args->secrets);
	return manager_create(
		call_env(call)->conversation,
		&(struct create_request){ .runtime = runtime,
					  .name = args->name,
					  .image = args->image,
					  .on = args->on,
					  .network = args->network.on,
					  .allow = hosts_decode(args->network.list, &allow),
					  .dependencies = dependencies,
					  .n_dependencies = n,
					  .env = env,
					  .n_env = n_env,
					  .secrets = { secrets, json_array_size(args->secrets) },
					  .cwd = args->cwd,
					  .limits = { .memory = args->memory, .disk = args->disk, .cpus = args->cpus },
					  .on_output = create_output,
					  .on_done = create_done,
					  .ctx = call },
		f);
}

const struct tool tool_create_session = {
	.name = "create_session",
	.scope = SCOPE_SESSIONS_WRITE,
	.title = "Create a session",
	.describe = create_describe,
	.args_for = create_args_for,
	.extend = create_extend,
	.args_size = sizeof(struct create_args),
	.args_init = create_defaults,
	.start = create_start,
};

static char *stop_describe(const struct tool_env *env)
{
	return xstrdup(
		"End a session and remove its container. Its variables, files and background processes are gone; a run in "
		"progress is stopped and answered. Call it when the work is done, and after CONTAINER_DIED.");
}

static void stop_done(void *ctx, const struct fail *f)
{
	struct call *call = ctx;
	const struct stop_args *args = call->decoded;
	call->op = NULL;
	if (f)
		tools_fail(call, args->session_id, f);
	else
		tools_reply_fields(call,
				   json_pack("{s:b, s:o}", "success", 1, "session_id", json_name(args->session_id)));
}

static struct op *stop_start(struct call *call, const void *data, struct fail *f)
{
	const struct stop_args *args = data;
	return manager_stop(call_env(call)->conversation,
			    &(struct stop_request){ .session_id = args->session_id, .on_done = stop_done, .ctx = call },
			    f);
}

const struct tool tool_stop_session = {
	.name = "stop_session",
	.scope = SCOPE_SESSIONS_WRITE,
	.title = "Stop a session",
	.destructive = true,
	.idempotent = true,
	.describe = stop_describe,
	.args = stop_table,
	.args_size = sizeof(struct stop_args),
	.start = stop_start,
};
