/* Sessions: create, stop, list, info. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "libhusk/call.h"
#include "libhusk/env.h"
#include "libhusk/take.h"

/* --- create -------------------------------------------------------------------------------------------------------- */

#define DEPENDENCIES_MAX 1000

struct create_call {
	struct call call;
	struct husk_create options;
	struct create_request request;
	struct husk_session *session;
};

static struct create_call *create_call_of(struct call *call)
{
	return container_of(call, struct create_call, call);
}

static void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct create_call *c = ctx;
	if (!f) {
		c->session = take_session(result->session, result->note);
		strv_add(&c->call.conversation->made, result->session->id);
	}
	call_finish(&c->call, f);
}

static void on_install_output(void *ctx, const char *text, size_t n)
{
	struct create_call *c = ctx;
	call_text(&c->call, 1, text, n);
}

static void pass_install_output(struct call *call, int stream UNUSED, const char *text, size_t n)
{
	const struct husk_create *options = &create_call_of(call)->options;
	options->on_output(options->ctx, text, n);
}

static struct op *start_create(struct call *call, struct fail *f)
{
	return manager_create(call->conversation->conversation, &create_call_of(call)->request, f);
}

/* Splits "name==version" or "name". The caller frees the list and `text`, which holds the list's strings. */
static struct husk_error *split_dependencies(const char *const *wanted, struct strv *text, struct dependency **ret,
					     size_t *ret_n)
{
	size_t n = 0;
	while (wanted && wanted[n])
		if (++n > DEPENDENCIES_MAX)
			return error_misuse("husk_create(): more than %d .dependencies", DEPENDENCIES_MAX);
	struct dependency *list = xcalloc(n, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		const char *separator = strstr(wanted[i], "==");
		size_t name = separator ? (size_t)(separator - wanted[i]) : strlen(wanted[i]);
		strv_addf(text, "%.*s", (int)MIN(name, 4096), wanted[i]);
		strv_add(text, separator ? separator + 2 : "");
	}
	for (size_t i = 0; i < n; i++)
		list[i] = (struct dependency){ .name = text->v[2 * i], .version = text->v[2 * i + 1] };
	*ret = list;
	*ret_n = n;
	return NULL;
}

static struct husk_error *no_language(const char *name)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf all = { 0 };
	size_t n;
	const struct runtime *list = runtime_list(&n);
	for (size_t i = 0; i < n; i++)
		buf_printf(&all, "%s%s", i ? ", " : "", list[i].name);
	fail_set(&f, FAIL_INVALID, "there is no language '%.64s'", name);
	fail_hint(&f, "There are: %s.", buf_str(&all));
	return error_of(&f);
}

struct husk_error *husk_create(struct husk_conversation *conversation, const struct husk_create *options,
			       const struct husk_wait *wait, struct husk_session **ret)
{
	static const char function[] = "husk_create";
	struct create_call c = { .call.start = start_create };
	struct husk_create *o = &c.options;
	AUTO(strv_release) struct strv text = { 0 }, hosts = { 0 };
	AUTO(freep) struct dependency *dependencies = NULL;
	AUTO(env_release) struct env_list env = { 0 };
	size_t n = 0;
	if (!ret)
		return error_missing(function, "ret");
	struct husk_error *error = HANDLE_TAKE(function, struct husk_create, options, o);
	if (!error)
		error = split_dependencies(o->dependencies, &text, &dependencies, &n);
	if (!error)
		error = env_take(&env, function, o->env);
	if (error)
		return error;
	const char *language = o->language && *o->language ? o->language : runtime_list(&(size_t){ 0 })->name;
	const struct runtime *runtime = runtime_find(language);
	if (!runtime)
		return no_language(language);
	size_t n_secrets = 0;
	while (o->secrets && o->secrets[n_secrets])
		n_secrets++;
	if (o->network < -1 || o->network > 1)
		return error_misuse("husk_create(): .network must be 1, 0 or -1");
	if (o->network && o->network_hosts)
		return error_misuse("husk_create(): set either .network or .network_hosts");
	for (size_t i = 0; o->network_hosts && o->network_hosts[i]; i++)
		strv_add(&hosts, o->network_hosts[i]);
	struct husk *held = handle_hold_conversation(conversation, function, &error);
	if (!held)
		return error;
	c.call.on_text = o->on_output ? pass_install_output : NULL;
	c.request = (struct create_request){ .runtime = runtime,
					     .name = o->name,
					     .image = o->image,
					     .network = o->network ? o->network > 0 : held->config.network_enabled,
					     .allow = o->network_hosts ? &hosts : NULL,
					     .dependencies = dependencies,
					     .n_dependencies = n,
					     .env = env.v,
					     .n_env = env.n,
					     .secrets = { o->secrets, n_secrets },
					     .cwd = o->cwd,
					     .limits = { .memory = o->memory, .disk = o->disk, .cpus = o->cpus },
					     .on_output = o->on_output ? on_install_output : NULL,
					     .on_done = on_created,
					     .ctx = &c };
	error = call_perform(&c.call, &(struct call_target){ function, NULL, conversation, wait });
	handle_let_go(held);
	if (!error)
		*ret = c.session;
	else
		husk_session_free(c.session);
	return error;
}

/* --- stop ---------------------------------------------------------------------------------------------------------- */

struct stop_call {
	struct call call;
	const char *session;
};

static void forget(struct strv *made, const char *session)
{
	for (size_t i = 0; i < made->n; i++) {
		if (!streq(made->v[i], session))
			continue;
		free(made->v[i]);
		made->v[i] = made->v[--made->n];
		made->v[made->n] = NULL;
		return;
	}
}

static void on_stopped(void *ctx, const struct fail *f)
{
	struct stop_call *c = ctx;
	if (!f)
		forget(&c->call.conversation->made, c->session);
	call_finish(&c->call, f);
}

static struct op *start_stop(struct call *call, struct fail *f)
{
	struct stop_call *c = container_of(call, struct stop_call, call);
	return manager_stop(call->conversation->conversation,
			    &(struct stop_request){ .session_id = c->session, .on_done = on_stopped, .ctx = c }, f);
}

struct husk_error *husk_stop(struct husk_conversation *conversation, const char *session, const struct husk_wait *wait)
{
	struct stop_call c = { .call.start = start_stop, .session = session };
	if (!session)
		return error_missing("husk_stop", "the session's id");
	return call_perform(&c.call, &(struct call_target){ "husk_stop", NULL, conversation, wait });
}

/* --- list and info ------------------------------------------------------------------------------------------------- */

struct list_call {
	struct call call;
	const char *session; /* for husk_info() */
	struct husk_sessions *sessions;
	struct husk_session *found;
};

static void add(void *ctx, const struct session_info *info)
{
	struct list_call *c = ctx;
	if (!c->session)
		take_add(c->sessions, info);
	else if (streq(c->session, info->id))
		c->found = take_session(info, /* note= */ NULL);
}

/* Answers at once, so there is no operation. */
static struct op *start_list(struct call *call, struct fail *f)
{
	struct list_call *c = container_of(call, struct list_call, call);
	conversation_each_session(call->conversation->conversation, add, c);
	if (c->session && !c->found)
		cause_no_session(f, c->session);
	return NULL;
}

struct husk_error *husk_list(struct husk_conversation *conversation, const struct husk_wait *wait,
			     struct husk_sessions **ret)
{
	if (!ret)
		return error_missing("husk_list", "ret");
	struct list_call c = { .call.start = start_list, .sessions = take_nothing() };
	struct husk_error *error =
		call_perform(&c.call, &(struct call_target){ "husk_list", NULL, conversation, wait });
	if (!error)
		*ret = c.sessions;
	else
		husk_sessions_free(c.sessions);
	return error;
}

struct husk_error *husk_info(struct husk_conversation *conversation, const char *session, const struct husk_wait *wait,
			     struct husk_session **ret)
{
	if (!ret)
		return error_missing("husk_info", "ret");
	if (!session)
		return error_missing("husk_info", "the session's id");
	struct list_call c = { .call.start = start_list, .session = session };
	struct husk_error *error =
		call_perform(&c.call, &(struct call_target){ "husk_info", NULL, conversation, wait });
	if (!error)
		*ret = c.found;
	return error;
}
