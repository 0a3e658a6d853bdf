/* The manager that faces use: a registry, and the parts that maintain it. */
#include "manager/manager.h"

#include "base/alloc.h"
#include "manager/deps/set.h"
#include "manager/engine/open.h"
#include "manager/registry/adoption.h"
#include "manager/registry/answer-budget.h"
#include "manager/registry/journal.h"
#include "manager/registry/keeper.h"
#include "manager/registry/known-keys.h"
#include "manager/registry/own-id.h"
#include "manager/registry/secret-values.h"
#include "manager/registry/stream-slots.h"
#include "manager/registry/task.h"
#include "manager/registry/warm.h"

/* The fence lets sessions reach the package indexes of the settings. */
static struct fence *make_fence(struct registry *r)
{
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	AUTO(strv_release) struct strv settings = { 0 }, urls = { 0 };
	for (size_t i = 0; i < n; i++)
		deps_sources(&settings, &runtimes[i], r->config, /* with_logins= */ false);
	for (size_t i = 0; i < settings.n; i++)
		strv_add(&urls, strchr(settings.v[i], '=') + 1);
	return fence_new(&(struct fence_options){
		.loop = r->loop, .engine = r->engine, .config = r->config, .owner = r->self.id, .urls = &urls });
}

struct manager *manager_new(struct loop *loop, const struct config *config)
{
	struct manager *m = new0(struct manager);
	struct registry *r = &m->registry;
	r->loop = loop;
	r->config = config;
	list_init(&r->entries);
	list_init(&r->conversations);
	list_init(&r->ops);
	list_init(&r->tasks);
	AUTO(fail_release) struct fail f = { 0 };
	r->engine = engine_open(
		config->engine,
		&(struct engine_options){
			.loop = loop, .program = config_client(config), .helper = config->helper, .config = config },
		&f);
	r->store = store_new(loop, config);
	owner_init(&r->self, config->advertise);
	r->fence = make_fence(r);
	r->fitting = fitting_new(
		&(struct fitting_spec){ .loop = loop, .engine = r->engine, .config = config, .store = r->store });
	r->deps = deps_new(&(struct deps_spec){ .loop = loop,
						.engine = r->engine,
						.config = config,
						.store = r->store,
						.fence = r->fence,
						.owner = r->self.id });
	r->keeper = keeper_new(r);
	r->adoptions = adoptions_new(r);
	r->warm = warm_new(r);
	r->values = secret_values_new(loop, config, r->store);
	r->journals = journals_new(loop, config, &r->metrics);
	r->streams = stream_slots_new(r);
	return m;
}

void manager_leave_nothing(struct manager *m)
{
	m->registry.leaves_nothing = true;
}

void manager_settle(struct manager *m, uint64_t ms, void (*fn)(void *ctx), void *ctx)
{
	warm_leave(m->registry.warm);
	stream_slots_leave(m->registry.streams);
	store_settle(m->registry.store, ms, fn, ctx);
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	struct registry *r = &m->registry;
	/* Operations are freed first, then builds are stopped, and finally the engine drops its tasks. */
	list_for_each(op, &r->ops, struct op, node)
		op_end(op);
	r->deps = deps_free(r->deps);
	r->fitting = fitting_free(r->fitting);
	bool sessions_stay = keeper_leave(r->keeper);
	warm_free(r->warm);
	known_keys_free(r->keys);
	answer_budget_free(r->answers);
	stream_slots_free(r->streams);
	signing_key_free(r);
	metrics_release(&r->metrics);
	adoptions_free(r->adoptions);
	keeper_free(r->keeper);
	tasks_forget(r, NULL);
	list_for_each(entry, &r->entries, struct session_entry, node)
		session_entry_free(entry);
	journals_free(r->journals);
	secret_values_free(r->values);
	list_for_each(c, &r->conversations, struct conversation, node)
		conversation_free(c);
	fence_free(r->fence);
	r->engine->ops->free(r->engine);
	store_free(r->store);
	owner_release(&r->self, sessions_stay);
	free(m);
	return NULL;
}

const char *conversation_id(const struct conversation *c)
{
	return c->id;
}

bool manager_find_session(struct conversation *c, const char *word, struct session_place *ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct session_entry *entry;
	if (registry_resolve(c->registry, c->id, word, &entry, &f) < 0 || !entry)
		return false;
	*ret = (struct session_place){ session_id(entry->session), entry->conversation };
	return true;
}

/* --- conversations ----------------------------------------------------------------------------------------------- */

/* Cancelling one operation may cancel another. */
static struct op *next_of(const struct conversation *c)
{
	list_for_each(op, &c->registry->ops, struct op, node)
		if (op->conversation == c)
			return op;
	return NULL;
}

struct conversation *conversation_close(struct conversation *c)
{
	if (!c)
		return NULL;
	for (struct op *op; (op = next_of(c));)
		op_cancel(op);
	adopt_forget(c);
	tasks_forget(c->registry, c);
	journals_forget_conversation(c->registry->journals, c);
	conversation_free(c);
	return NULL;
}

static void on_warm_prepared(void *ctx, const char *id UNUSED)
{
	const struct conversation *c = ctx;
	warm_wake(c->registry->warm);
}

/* Other servers must be able to see that this one is alive before it owns a session. */
static void prepare_warm(struct conversation *c)
{
	c->warm.make = true;
	c->warm.fn = on_warm_prepared;
	c->warm.ctx = c;
	conversation_prepare(c, &c->warm);
}

void conversation_wake(struct conversation *c)
{
	if (c->awake)
		return;
	c->awake = true;
	adopt_all(c);
	if (warm_is_eager(c->registry->warm))
		prepare_warm(c);
}

/* --- without a conversation -------------------------------------------------------------------------------------- */

char *manager_own_conversation(const struct config *config)
{
	return config->thread_id ? xstrdup(config->thread_id) : own_id_known(config->state_dir);
}

int manager_reap(const char *engine, const char *program, char *const *containers)
{
	return engine_reap(engine, program, containers);
}
