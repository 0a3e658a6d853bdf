#include "mcp/completion.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/rpc.h"

/* The protocol's limit of returned values. */
#define VALUES_MAX 100
#define VALUE_BYTES_MAX 4096
/* Maximum number of entries that are read from a folder. */
#define SCAN_MAX 10000
#define EXPORTS_MAX 100

/* --- values ------------------------------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Adds a value, unless it is there already, if it starts with what was typed. Leaves out names that cleaning would
 * change, because the changed name would not work. */
static void offer(json_t *values, const char *typed, const char *value)
{
	if (!starts_with(value, typed))
		return;
	json_auto_t *shown = json_name(value);
	if (!streq(json_string_value(shown), value))
		return;
	for (size_t i = 0; i < json_array_size(values); i++)
		if (json_equal(json_array_get(values, i), shown))
			return;
	json_array_append(values, shown);
}

/* Takes the values. */
static json_t *result_of(json_t *values, bool more)
{
	size_t total = json_array_size(values);
	while (json_array_size(values) > VALUES_MAX)
		json_array_remove(values, json_array_size(values) - 1);
	json_t *completion = json_pack("{s:o, s:b}", "values", values, "hasMore", more || total > VALUES_MAX);
	if (!more)
		json_object_set_new(completion, "total", json_integer((json_int_t)total));
	return json_pack("{s:o}", "completion", completion);
}

static const char *typed(const struct call *call)
{
	return json_string_value(json_object_get(call->args, "value"));
}

static void reply_values(struct call *call, json_t *values)
{
	call_reply(call, result_of(values, /* more= */ false));
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	while (n > 1 && folder[n - 1] == '/')
		n--;
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0' || n == 1);
}

/* The folder is checked after it is opened, so a link that changes meanwhile cannot lead elsewhere. */
static bool is_open_below(int fd, const struct strv *allowed)
{
	char link[64], real[PATH_MAX], place[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, real, sizeof(real) - 1);
	if (n <= 0)
		return false;
	real[n] = '\0';
	for (size_t i = 0; i < allowed->n; i++)
		if (realpath(allowed->v[i], place) && is_below(real, place))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names in a folder. Returns true if there are more than were read. */
static bool read_names(DIR *dir, const char *stem, struct strv *names)
{
	size_t seen = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		if (++seen > SCAN_MAX)
			return true;
		if (starts_with(e->d_name, stem) && (e->d_name[0] != '.' || stem[0] == '.') && !streq(e->d_name, ".") &&
		    !streq(e->d_name, ".."))
			strv_addf(names, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
	}
	return false;
}

static json_t *names_in(const char *folder, const char *stem, const struct strv *allowed)
{
	AUTO(closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	json_t *values = json_array();
	if (fd < 0 || !is_open_below(fd, allowed))
		return result_of(values, /* more= */ false);
	DIR *dir = fdopendir(fd);
	if (!dir)
		return result_of(values, /* more= */ false);
	fd = -1; /* closedir() closes it */
	AUTO(strv_release) struct strv names = { 0 };
	bool more = read_names(dir, stem, &names);
	closedir(dir);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), compare);
	size_t i = 0;
	for (; i < names.n && json_array_size(values) <= VALUES_MAX; i++) {
		AUTO(freep) char *path = xasprintf("%s%s", folder, names.v[i]);
		offer(values, folder, path);
	}
	return result_of(values, more || i < names.n);
}

json_t *completion_of_path(const struct strv *allowed, const char *value)
{
	json_t *folders = json_array();
	bool inside = false;
	for (size_t i = 0; i < allowed->n; i++) {
		size_t n = strlen(allowed->v[i]);
		AUTO(freep) char *folder =
			xasprintf("%s%s", allowed->v[i], n && allowed->v[i][n - 1] == '/' ? "" : "/");
		inside = inside || starts_with(value, folder);
		offer(folders, value, folder);
	}
	if (!inside)
		return result_of(folders, /* more= */ false);
	json_decref(folders);
	const char *slash = strrchr(value, '/');
	AUTO(freep) char *folder = xstrndup(value, (size_t)(slash - value) + 1);
	return names_in(folder, slash + 1, allowed);
}

/* Input of a worker job. */
struct path_request {
	struct strv allowed;
	char *value;
};

static json_t *make_paths(void *ctx)
{
	const struct path_request *p = ctx;
	return completion_of_path(&p->allowed, p->value);
}

static void release_paths(void *ctx)
{
	struct path_request *p = ctx;
	strv_release(&p->allowed);
	free(p->value);
	free(p);
}

static void complete_path(struct connection *c, struct call *call)
{
	struct path_request *p = new0(struct path_request);
	for (size_t i = 0; !c->env.remote && i < c->env.config->import_allowed_dirs.n; i++)
		strv_add(&p->allowed, c->env.config->import_allowed_dirs.v[i]);
	for (size_t i = 0; i < c->env.roots.n; i++)
		strv_add(&p->allowed, c->env.roots.v[i]);
	p->value = xstrdup(typed(call));
	call_reply_later(call, c->loop,
			 &(struct call_work){ .make = make_paths, .release = release_paths, .ctx = p, .bulk = true });
}

/* --- sessions, languages ------------------------------------------------------------------------------------------- */

struct offering {
	json_t *values;
	const char *typed;
};

static void offer_session(void *ctx, const struct session_info *info)
{
	struct offering *o = ctx;
	if (!streq(info->status, "dead"))
		offer(o->values, o->typed, info->id);
}

static void complete_session(struct connection *c, struct call *call)
{
	struct offering o = { json_array(), typed(call) };
	conversation_each_session(c->env.conversation, offer_session, &o);
	reply_values(call, o.values);
}

static void complete_language(struct connection *c, struct call *call)
{
	json_t *values = json_array();
	size_t n;
	const struct runtime *list = runtime_list(&n);
	for (size_t i = 0; i < n; i++)
		offer(values, typed(call), list[i].name);
	reply_values(call, values);
}

/* --- exports, runs -------------------------------------------------------------------------------------------------- */

static const char *context_of(const struct call *call, const char *name)
{
	return json_string_value(json_object_get(json_object_get(call->args, "context"), name));
}

static void on_exports(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	const char *id = context_of(call, "id");
	bool names = json_is_true(json_object_get(call->args, "names"));
	json_t *values = json_array();
	call->op = NULL;
	for (size_t i = 0; !f && i < n; i++)
		if (!names)
			offer(values, typed(call), v[i].id);
		else if (!id || streq(id, v[i].id))
			offer(values, typed(call), v[i].name);
	call_reply(call, result_of(values, /* more= */ n == EXPORTS_MAX));
}

static void complete_export(struct connection *c, struct call *call, bool names)
{
	AUTO(fail_release) struct fail f = { 0 };
	json_object_set_new(call->args, "names", json_boolean(names));
	call->op =
		manager_exports(c->env.conversation,
				&(struct exports_request){ .limit = EXPORTS_MAX, .on_done = on_exports, .ctx = call },
				&f);
	if (!call->op)
		reply_values(call, json_array());
}

static void complete_export_id(struct connection *c, struct call *call)
{
	complete_export(c, call, /* names= */ false);
}

static void complete_export_name(struct connection *c, struct call *call)
{
	complete_export(c, call, /* names= */ true);
}

static void on_info(void *ctx, const struct session_details *d, const struct fail *f)
{
	struct call *call = ctx;
	json_t *values = json_array();
	call->op = NULL;
	for (size_t i = 0; !f && i < d->n_runs; i++) {
		AUTO(freep) char *number = xasprintf("%llu", (unsigned long long)d->runs[i].number);
		offer(values, typed(call), number);
	}
	reply_values(call, values);
}

static void complete_run(struct connection *c, struct call *call)
{
	AUTO(fail_release) struct fail f = { 0 };
	const char *session = context_of(call, "session_id");
	if (session)
		call->op =
			manager_info(c->env.conversation,
				     &(struct info_request){ .session_id = session, .on_done = on_info, .ctx = call },
				     &f);
	if (!call->op)
		reply_values(call, json_array());
}

/* --- the method ----------------------------------------------------------------------------------------------------- */

static const struct completer {
	const char *ref; /* a template, or NULL for any prompt */
	const char *argument;
	void (*complete)(struct connection *c, struct call *call);
} completers[] = {
	{ NULL, "session_id", complete_session },
	{ NULL, "language", complete_language },
	{ NULL, "file", complete_path },
	{ RESOURCES_EXPORT_TEMPLATE, "id", complete_export_id },
	{ RESOURCES_EXPORT_TEMPLATE, "name", complete_export_name },
	{ RESOURCES_RUN_TEMPLATE, "session_id", complete_session },
	{ RESOURCES_RUN_TEMPLATE, "number", complete_run },
};

static bool is_short(const json_t *value)
{
	return json_is_string(value) && json_string_length(value) <= VALUE_BYTES_MAX &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

/* The name of the prompt or template that `ref` refers to; NULL if it does not exist. */
static const char *ref_of(const json_t *ref, bool *ret_prompt)
{
	const char *type = json_string_value(json_object_get(ref, "type"));
	bool prompt = type && streq(type, "ref/prompt");
	const json_t *value = json_object_get(ref, prompt ? "name" : "uri");
	if (!type || (!prompt && !streq(type, "ref/resource")) || !is_short(value))
		return NULL;
	const char *name = json_string_value(value);
	*ret_prompt = prompt;
	if (prompt)
		return prompts_has(name) ? name : NULL;
	return streq(name, RESOURCES_EXPORT_TEMPLATE) || streq(name, RESOURCES_RUN_TEMPLATE) ? name : NULL;
}

void completion_complete(struct connection *c, struct call *call, json_t *params)
{
	bool prompt = false;
	const char *ref = ref_of(json_object_get(params, "ref"), &prompt);
	const json_t *argument = json_object_get(params, "argument");
	json_t *name = json_object_get(argument, "name"), *value = json_object_get(argument, "value");
	json_t *context = json_object_get(json_object_get(params, "context"), "arguments");
	if (!ref || !is_short(name) || !is_short(value)) {
		call_reply_error(
			call, RPC_INVALID_PARAMS,
			ref ? "Invalid params: \"argument\" needs \"name\" and \"value\", strings of at most 4096 bytes" :
			      "Invalid params: \"ref\" is neither a prompt nor a resource template",
			NULL);
		return;
	}
	call->args = json_pack("{s:O}", "value", value);
	if (json_is_object(context))
		json_object_set(call->args, "context", context);
	for (size_t i = 0; i < ARRAY_LEN(completers); i++) {
		const struct completer *k = &completers[i];
		if (streq(k->argument, json_string_value(name)) && (prompt ? !k->ref : k->ref && streq(k->ref, ref))) {
			k->complete(c, call);
			return;
		}
	}
	reply_values(call, json_array());
}
