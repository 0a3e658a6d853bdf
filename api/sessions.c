/* Routes of sessions: create, list, show, keep alive, stop. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"

struct create_body {
	const char *language, *name, *image, *on, *cwd;
	struct arg_switch network;
	json_t *dependencies, *env, *secrets, *labels;
	uint64_t memory, disk;
	double cpus;
};

struct show_query {
	bool brief;
};

struct patch_body {
	bool keep_alive;
	json_t *labels;
};

struct list_query {
	bool all, ended, brief;
};

static const char *language_choice(size_t i)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	return i < n ? list[i].name : NULL;
}

#define LABELS_MAX 4096
#define LABELS_ARG(type)                                                                                               \
	{                                                                                                              \
		"labels", ARG_TEXTS, offsetof(type, labels),                                                           \
			.description = "Texts for programs that manage sessions, at most 4 KiB together.",             \
			.example = "{\"team\": \"data\"}"                                                              \
	}

static const struct arg create_table[] = {
	LABELS_ARG(struct create_body),
	{ "language", ARG_STRING, offsetof(struct create_body, language), .max = 64,
	  .description = "Language of the interpreter; default: python.", .example = "\"python\"",
	  .choice = language_choice },
	{ "name", ARG_STRING, offsetof(struct create_body, name), ARG_NONEMPTY, .max = HANDLE_NAME_MAX,
	  .description = "A name that can be used instead of the id.", .example = "\"sales\"" },
	{ "network", ARG_SWITCH, offsetof(struct create_body, network), .max = 256,
	  .description =
		  "Internet access, or a list of the only hosts that can be reached; default: CONTAINER_NETWORK_ENABLED.",
	  .example = "[\"@python\", \"api.example.com\"]" },
	{ "dependencies", ARG_TEXTS, offsetof(struct create_body, dependencies),
	  .description = "Packages to install before the session starts: name to version, \"\" for any.",
	  .example = "{\"pandas\": \"2.2.3\"}" },
	{ "env", ARG_TEXTS, offsetof(struct create_body, env),
	  .description = "Environment variables of the interpreter and all commands.",
	  .example = "{\"TZ\": \"Europe/Berlin\"}" },
	{ "secrets", ARG_STRINGS, offsetof(struct create_body, secrets), .max = SESSION_SECRETS_MAX,
	  .description =
		  "Names of secrets of the tenant. The variable of each name has a placeholder that can be used in requests to "
		  "the secret's hosts.",
	  .example = "[\"OPENAI_API_KEY\"]" },
	{ "cwd", ARG_STRING, offsetof(struct create_body, cwd), ARG_NONEMPTY, .max = 4095,
	  .description = "Directory to start in, instead of /workspace.", .example = "\"/tmp\"" },
	{ "memory", ARG_SIZE, offsetof(struct create_body, memory),
	  .description = "Memory limit, such as \"4g\"; default: CONTAINER_MEMORY_LIMIT.", .example = "\"4g\"" },
	{ "cpus", ARG_NUMBER, offsetof(struct create_body, cpus),
	  .description = "Number of CPUs; default: CONTAINER_CPU_QUOTA.", .example = "2" },
	{ "disk", ARG_SIZE, offsetof(struct create_body, disk),
	  .description = "Size of the home directory, such as \"10g\"; default: CONTAINER_HOME_SIZE.",
	  .example = "\"10g\"" },
	{ "on", ARG_STRING, offsetof(struct create_body, on), ARG_NONEMPTY, .max = 64,
	  .description = "Host of CONTAINER_POOL on which it runs; default: the one with the most free memory.",
	  .example = "\"gpu\"" },
	{ "image", ARG_STRING, offsetof(struct create_body, image), ARG_NONEMPTY, .max = 64,
	  .description = "Name of an image that the operator offers.", .example = "\"science\"" },
	{ 0 },
};

static const struct arg show_table[] = {
	{ "brief", ARG_BOOL, offsetof(struct show_query, brief),
	  .description = "Only what the server knows without asking the session: no runs, variables, memory and disks.",
	  .example = "true" },
	{ 0 },
};

static const struct arg patch_table[] = {
	LABELS_ARG(struct patch_body),
	{ "keep_alive", ARG_BOOL, offsetof(struct patch_body, keep_alive),
	  .description = "Counts as use of the session, so that it does not end because it is idle.",
	  .example = "true" },
	{ 0 },
};

static const struct arg list_table[] = {
	{ "all", ARG_BOOL, offsetof(struct list_query, all),
	  .description = "List the sessions of all conversations of the tenant, on all servers that share the store.",
	  .example = "true" },
	{ "ended", ARG_BOOL, offsetof(struct list_query, ended),
	  .description = "With `all`: also list sessions that have ended.", .example = "true" },
	{ "brief", ARG_BOOL, offsetof(struct list_query, brief),
	  .description = "With `all`: without the memory in use, so that the engine is not asked.", .example = "true" },
	{ 0 },
};

static void create_defaults(const struct exchange *x, void *query UNUSED, void *args)
{
	struct create_body *body = args;
	body->language = language_choice(0);
	body->network.on = x->api->spec.config->network_enabled;
}

/* --- create -------------------------------------------------------------------------------------------------------- */

static void created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	x->op = NULL;
	if (!result->session) {
		exchange_fail_active(x, f, result->active, result->n_active);
		return;
	}
	json_t *out = session_info_encode(result->session);
	if (result->note)
		json_object_set_new(out, "note", json_shown(result->note));
	http_fields_addf(&fields, "Location", "/v1/sessions/%s", result->session->id);
	exchange_reply_fields(x, 201, &fields, out);
}

/* The labels as JSON text, which the caller owns; NULL = none. -1 with f if they are too long. */
static int labels_text(const json_t *labels, char **ret, struct fail *f)
{
	*ret = labels ? json_dumps(labels, JSON_COMPACT) : NULL;
	return *ret && strlen(*ret) > LABELS_MAX ?
		       fail_set(f, FAIL_INVALID, "labels: they have more than %d bytes together", LABELS_MAX) :
		       0;
}

static void refuse_language(struct fail *f, const char *name)
{
	AUTO(buf_release) struct buf known = { 0 };
	const char *one;
	for (size_t i = 0; (one = language_choice(i)); i++)
		buf_printf(&known, "%s%s", i ? ", " : "", one);
	fail_set(f, FAIL_INVALID, "There is no language '%.64s'.", name);
	fail_hint(f, "Use one of: %s.", buf_str(&known));
}

static void post_session(struct exchange *x)
{
	const struct create_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *labels = NULL;
	AUTO(freep) struct env_var *env = NULL;
	struct create_request request = { .runtime = runtime_find(body->language),
					  .name = body->name,
					  .image = body->image,
					  .on = body->on,
					  .network = body->network.on,
					  .limits = { body->memory, body->disk, body->cpus },
					  .cwd = body->cwd,
					  .on_done = created,
					  .ctx = x };
	AUTO(freep) struct dependency *dependencies = dependencies_decode(body->dependencies, &request.n_dependencies);
	AUTO(strv_release) struct strv allow = { 0 };
	AUTO(freep) const char **secrets = strings_decode(body->secrets);
	request.dependencies = dependencies;
	request.allow = hosts_decode(body->network.list, &allow);
	request.secrets = (struct secret_names){ secrets, json_array_size(body->secrets) };
	if (!request.runtime)
		refuse_language(&f, body->language);
	else if (labels_text(body->labels, &labels, &f) == 0)
		env_decode(body->env, &env, &request.n_env, &f);
	if (f.kind) {
		exchange_fail(x, &f);
		return;
	}
	request.env = env;
	request.labels = labels;
	conversation_wake(x->conversation);
	exchange_await(x, manager_create(x->conversation, &request, &f), &f);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static void add_session(void *ctx, const struct session_info *info)
{
	json_array_append_new(ctx, session_info_encode(info));
}

static void listed(void *ctx, bool complete)
{
	struct exchange *x = ctx;
	json_t *list = json_array();
	x->op = NULL;
	conversation_each_session(x->conversation, add_session, list);
	json_t *out = json_pack("{s:o}", "sessions", list);
	if (!complete)
		json_object_set_new(out, "note",
				    json_string("Sessions of a server that has ended are still being taken over."));
	exchange_reply(x, 200, out);
}

/* With `all`: the sessions of the caller's tenant, wherever they are. */
static void listed_all(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
		       const struct fail *unsure)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		if (tenant_owns(x->caller.tenant, v[i].conversation) && !streq(v[i].state, "warm"))
			json_array_append_new(list, listed_session_encode(&v[i], x->caller.remote));
	json_t *out = json_pack("{s:o}", "sessions", list);
	if (unsure)
		json_object_set_new(
			out, "note",
			json_string("The container engine did not answer, so some states may be out of date."));
	exchange_reply(x, 200, out);
}

static void list_all(struct exchange *x, const struct list_query *query)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct list_request request = { .all = query->ended, .brief = query->brief, .on_done = listed_all, .ctx = x };
	exchange_await(x, manager_list_all(x->api->spec.manager, &request, &f), &f);
}

static void get_sessions(struct exchange *x)
{
	const struct list_query *query = x->query;
	if (query->all || query->ended) {
		list_all(x, query);
		return;
	}
	conversation_wake(x->conversation);
	x->op = manager_await(x->conversation, &(struct await_request){ .on_done = listed, .ctx = x });
}

/* --- one session --------------------------------------------------------------------------------------------------- */

static void shown(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, session_details_encode(details));
}

static void show(struct exchange *x, bool keep_alive, const char *labels)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct info_request request = {
		.session_id = x->session, .keep_alive = keep_alive, .labels = labels, .on_done = shown, .ctx = x
	};
	exchange_await(x, manager_info(x->conversation, &request, &f), &f);
}

struct wanted {
	const char *id;
	json_t *found;
};

static void take_wanted(void *ctx, const struct session_info *info)
{
	struct wanted *w = ctx;
	if (streq(info->id, w->id))
		w->found = session_info_encode(info);
}

static void get_session(struct exchange *x)
{
	const struct show_query *query = x->query;
	struct wanted wanted = { .id = x->session };
	if (query->brief)
		conversation_each_session(x->conversation, take_wanted, &wanted);
	if (wanted.found)
		exchange_reply(x, 200, wanted.found);
	else
		show(x, /* keep_alive= */ false, /* labels= */ NULL);
}

static void patch_session(struct exchange *x)
{
	const struct patch_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *labels = NULL;
	if (labels_text(body->labels, &labels, &f) < 0)
		exchange_fail(x, &f);
	else
		show(x, body->keep_alive, labels);
}

static void delete_session(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	exchange_await(
		x,
		manager_stop(x->conversation,
			     &(struct stop_request){ .session_id = x->session, .on_done = exchange_on_done, .ctx = x },
			     &f),
		&f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer create_answers[] = { { 201, "Session", NULL, "The session is ready." }, { 0 } };
static const struct route_answer list_answers[] = { { 200, "Sessions", NULL, "The sessions, oldest first." }, { 0 } };
static const struct route_answer show_answers[] = { { 200, "Session", NULL, "The session." }, { 0 } };
static const struct route_answer stop_answers[] = { { 204, NULL, NULL, "The container is removed." }, { 0 } };

const struct route routes_sessions[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions",
	  .scope = SCOPE_SESSIONS_WRITE,
	  .name = "createSession",
	  .tag = "sessions",
	  .summary = "Create a session",
	  .body = create_table,
	  .body_size = sizeof(struct create_body),
	  .defaults = create_defaults,
	  .answers = create_answers,
	  .example = "--json '{\"language\": \"python\"}'",
	  .handle = post_session },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions",
	  .scope = SCOPE_SESSIONS_READ,
	  .name = "listSessions",
	  .tag = "sessions",
	  .summary = "List the sessions of the conversation, or of the tenant",
	  .query = list_table,
	  .query_size = sizeof(struct list_query),
	  .answers = list_answers,
	  .example = "",
	  .handle = get_sessions },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getSession",
	  .tag = "sessions",
	  .summary = "Show a session: its runs, variables, memory and disks, and the time that is left",
	  .query = show_table,
	  .query_size = sizeof(struct show_query),
	  .answers = show_answers,
	  .example = "?brief=true",
	  .handle = get_session },
	{ .method = HTTP_METHOD_PATCH,
	  .path = "/v1/sessions/{session}",
	  .scope = SCOPE_SESSIONS_WRITE,
	  .flags = ROUTE_SESSION,
	  .name = "changeSession",
	  .tag = "sessions",
	  .summary = "Keep a session alive, or replace its labels",
	  .body = patch_table,
	  .body_size = sizeof(struct patch_body),
	  .answers = show_answers,
	  .example = "-X PATCH --json '{\"labels\": {\"team\": \"data\"}}'",
	  .handle = patch_session },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/v1/sessions/{session}",
	  .scope = SCOPE_SESSIONS_WRITE,
	  .flags = ROUTE_SESSION,
	  .name = "stopSession",
	  .tag = "sessions",
	  .summary = "Stop a session",
	  .answers = stop_answers,
	  .example = "-X DELETE",
	  .handle = delete_session },
	{ 0 },
};
