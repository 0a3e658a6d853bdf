/* Creates a session. A create passes through these phases; the file has them in the same order:
 *
 *   check         validates the request without contacting anything             manager_create()
 *   conversation  waits until the conversation has an id                        prepare()
 *   secrets       reads the values of its secrets, if it has any                read_secrets()
 *   limits        asks for the machine's memory and CPUs, if a limit needs them check_machine()
 *   image         adapts the image that the request names, if any               take_image()
 *   packages      finds or builds an image with the dependencies, if any        take_packages()
 *   host          chooses a host, if the engine has several                     take_host()
 *   slot          claims a slot in the store, or is refused                     take_slot()
 *   container     takes a warm container or starts a new one                    start()
 *   fence         waits for the firewall rules, if the session has a network    ready()
 *   proof         runs husk-probe in the session, if SESSION_PROBE=require      prove()
 *   record        records the session as running and answers the caller         record()
 *
 * A phase with nothing to do starts the next one at once. Any phase can fail with op_fail() or be cancelled. If a warm
 * container is gone by the time it is needed, go_cold() returns to the slot phase and takes a new container. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/deps/set.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/registry/claims.h"
#include "manager/registry/conversation.h"
#include "manager/registry/create-network.h"
#include "manager/registry/keeper.h"
#include "manager/registry/proof.h"
#include "manager/registry/secret-values.h"
#include "manager/registry/session-entry.h"
#include "manager/registry/warm.h"

struct create_op {
	struct op op;
	struct create_request request;
	uint64_t began_ms;	   /* in loop_now_ms() */
	struct dependency *wanted; /* a copy of the requested dependencies */
	struct conversation_wait wait;
	struct fence_wait fence;
	struct proof *proof;
	struct limits limits;
	struct create_network network;
	struct engine_query *query; /* resources of the engine's machine */
	char *on, *host;	    /* the wanted host, and the chosen one; NULL = any, or there are none */
	char *wanted_image;	    /* name of the image; NULL = the runtime's own */
	struct fitting_wait *fitting;
	struct deps_wait *deps; /* waits for the image with the dependencies */
	char *image, *versions; /* NULL = the runtime's own image; versions of its packages, as JSON */
	char *secrets;		/* names, separated by blanks; NULL = none */
	struct secret_reading *reading;
	struct secret_set *values; /* NULL = none, or not read yet */
	struct strv env;	   /* the session's own variables; freed once they are sent */
	char *env_names, *cwd, *name;
	char *labels;
	struct store_job *job; /* claims the slot, then records that the session runs */
	bool claimed;
	bool cold, was_warm;  /* must not take a warm container; has taken a warm container */
	bool swept, sweeping; /* was rejected once; waits for a round of gc */
	int names;	      /* container names tried whose user id another session has */
};

/* After this number of names, the session may have the user id of another one. The two only share some limits of the
 * host's kernel. */
#define NAMES_TRIED 32

static const struct op_type create_type;
static void prepare(struct create_op *o);
static void read_secrets(struct create_op *o);
static void check_machine(struct create_op *o);
static void take_image(struct create_op *o);
static void take_packages(struct create_op *o);
static void take_host(struct create_op *o);
static void take_slot(struct create_op *o);
static void start(struct create_op *o);
static void prove(struct create_op *o);
static void record(struct create_op *o);

static struct create_op *create_op_of(struct op *op)
{
	return container_of(op, struct create_op, op);
}

static struct session_entry_spec spec_of(const struct create_op *o)
{
	return (struct session_entry_spec){ .runtime = o->request.runtime,
					    .image = o->image,
					    .conversation = o->op.conversation->id,
					    .host = o->host,
					    .network = o->network.container,
					    .limits = o->limits };
}

/* --- check ------------------------------------------------------------------------------------------------------- */

/* A session that was promised no network must not have one. */
static int refuse_uncut(const struct engine *e, struct fail *f)
{
	cause_set(f, FAIL_INVALID, CAUSE_NOT_SUPPORTED,
		  "network: the engine '%s' cannot guarantee that a session has no network", e->ops->name);
	return fail_hint(f, "Create the session with the network (CONTAINER_NETWORK_ENABLED=true); see husk doctor.");
}

static int check_network(const struct registry *r, const struct create_network *network, struct fail *f)
{
	return !network->container && !engine_capabilities(r->engine).cuts_network ? refuse_uncut(r->engine, f) : 0;
}

static int check_on(const struct registry *r, const struct create_request *req, struct fail *f)
{
	if (!req->on || engine_capabilities(r->engine).several_hosts)
		return 0;
	cause_set(f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "on: sessions run on one host, which has no name here");
	return fail_hint(f, "Leave it out. CONTAINER_ENGINE=pool uses several hosts.");
}

static int check_name(const char *name, struct fail *f)
{
	if (!name || handle_name_is_valid(name))
		return 0;
	return fail_set(
		f, FAIL_INVALID,
		"name: '%.100s' is not a name: use letters, digits, '.', '_' and '-', with a letter first, and at most %d characters",
		name, HANDLE_NAME_MAX);
}

/* NULL if there are none. The caller owns the text. */
static char *joined(const struct secret_names *names)
{
	struct buf out = { 0 };
	for (size_t i = 0; i < names->n; i++)
		buf_printf(&out, "%s%s", i ? " " : "", names->v[i]);
	return names->n ? buf_steal_str(&out) : NULL;
}

static void copy_wanted(struct create_op *o, const struct create_request *req)
{
	o->began_ms = loop_now_ms();
	o->wanted = xcalloc(req->n_dependencies + 1, sizeof(*o->wanted));
	for (size_t i = 0; i < req->n_dependencies; i++)
		o->wanted[i] = (struct dependency){ .name = xstrdup(req->dependencies[i].name),
						    .version = xstrdup(req->dependencies[i].version) };
	o->request.dependencies = NULL;
	env_copy(&o->env, req->env, req->n_env);
	o->env_names = env_names(req->env, req->n_env);
	o->cwd = req->cwd ? xstrdup(req->cwd) : NULL;
	o->name = req->name ? xstrdup(req->name) : NULL;
	o->labels = req->labels ? xstrdup(req->labels) : NULL;
	o->wanted_image = req->image ? xstrdup(req->image) : NULL;
	o->secrets = joined(&req->secrets);
	o->request.secrets = (struct secret_names){ 0 };
	o->on = req->on ? xstrdup(req->on) : NULL;
	o->request.image = o->request.on = NULL;
	o->request.env = NULL;
	o->request.allow = NULL;
	o->request.cwd = o->request.name = o->request.labels = NULL;
}

struct op *manager_create(struct conversation *c, const struct create_request *req, struct fail *f)
{
	struct limits limits;
	AUTO(create_network_release) struct create_network network = { 0 };
	if (create_network_choose(&network, c->registry->config, req, f) < 0 ||
	    check_network(c->registry, &network, f) < 0 || check_name(req->name, f) < 0 ||
	    check_on(c->registry, req, f) < 0 ||
	    (req->image && fitting_check(c->registry->config, req->runtime, req->image, f) < 0) ||
	    limits_choose(&limits, c->registry->config, &req->limits, f) < 0 ||
	    deps_check(req->runtime, req->dependencies, req->n_dependencies, f) < 0 ||
	    env_check(req->env, req->n_env, f) < 0 || secrets_check(&req->secrets, req->env, req->n_env, f) < 0)
		return NULL;
	struct create_op *o = new0(struct create_op);
	op_init(&o->op, c->registry, c, &create_type);
	o->request = *req;
	o->limits = limits;
	o->network = network;
	network = (struct create_network){ 0 };
	list_init(&o->wait.node);
	list_init(&o->fence.node);
	copy_wanted(o, req);
	if (o->network.container)
		fence_prepare(c->registry->fence);
	prepare(o);
	return &o->op;
}

/* --- conversation ------------------------------------------------------------------------------------------------ */

static void on_prepared(void *ctx, const char *id UNUSED)
{
	read_secrets(ctx);
}

static void prepare(struct create_op *o)
{
	struct conversation *c = o->op.conversation;
	if (conversation_is_prepared(c)) {
		read_secrets(o);
		return;
	}
	o->wait.make = true;
	o->wait.fn = on_prepared;
	o->wait.ctx = o;
	conversation_prepare(c, &o->wait);
}

/* --- secrets ----------------------------------------------------------------------------------------------------- */

static void on_secrets(void *ctx, struct secret_set *set, const struct fail *f)
{
	struct create_op *o = ctx;
	o->reading = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	AUTO(strv_release) struct strv hosts = { 0 };
	AUTO(fail_release) struct fail why = { 0 };
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->v[i].hosts.n; k++)
			strv_add(&hosts, set->v[i].hosts.v[k]);
	o->values = secret_set_ref(set);
	if (create_network_add(&o->network, o->op.registry->config, &hosts, &why) < 0)
		op_fail(&o->op, &why);
	else
		check_machine(o);
}

static void read_secrets(struct create_op *o)
{
	struct secret_read request = {
		.conversation = o->op.conversation->id, .names = o->secrets, .on_done = on_secrets, .ctx = o
	};
	if (o->secrets)
		o->reading = secret_values_read(o->op.registry->values, &request);
	else
		check_machine(o);
}

/* --- limits ------------------------------------------------------------------------------------------------------ */

static void on_machine(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct create_op *o = ctx;
	struct registry *r = o->op.registry;
	AUTO(fail_release) struct fail why = { 0 };
	o->query = r->engine->ops->query_free(o->query);
	if (f)
		fail_copy(&why, f);
	else
		(void)limits_check_machine(r->config, &o->request.limits,
					   &(struct limits_machine){ answer->info.memory, answer->info.cpus }, &why);
	if (why.kind)
		op_fail(&o->op, &why);
	else
		take_image(o);
}

/* The engine is queried only if a limit depends on the machine, since the query takes a moment. */
static void check_machine(struct create_op *o)
{
	struct registry *r = o->op.registry;
	AUTO(fail_release) struct fail f = { 0 };
	struct query_spec query = { .kind = ENGINE_QUERY_INFO, .subject = o->on, .done = on_machine, .ctx = o };
	struct engine_capabilities can = engine_capabilities(r->engine);
	if (!limits_need_machine(r->config, &o->request.limits) || (!can.reports_machine && !can.several_hosts)) {
		take_image(o);
		return;
	}
	o->query = r->engine->ops->query(r->engine, &query, &f);
	if (!o->query)
		take_image(o); /* the engine cannot be queried, so a later phase fails with the same reason */
}

/* --- image ------------------------------------------------------------------------------------------------------- */

static void on_fitted(void *ctx, const char *image, const struct fail *f)
{
	struct create_op *o = ctx;
	o->fitting = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	o->image = xstrdup(image);
	take_packages(o);
}

static void take_image(struct create_op *o)
{
	if (!o->wanted_image) {
		take_packages(o);
		return;
	}
	o->fitting = fitting_get(o->op.registry->fitting, &(struct fitting_request){ .runtime = o->request.runtime,
										     .name = o->wanted_image,
										     .on_done = on_fitted,
										     .ctx = o });
}

/* --- packages ---------------------------------------------------------------------------------------------------- */

static void on_install_output(void *ctx, const char *text, size_t n)
{
	struct create_op *o = ctx;
	if (o->request.on_output)
		o->request.on_output(o->request.ctx, text, n);
}

static void on_dependencies(void *ctx, const char *image, const char *versions, const struct fail *f)
{
	struct create_op *o = ctx;
	o->deps = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	free(o->image);
	o->image = xstrdup(image);
	o->versions = xstrdup(versions);
	take_host(o);
}

static void take_packages(struct create_op *o)
{
	size_t n = o->request.n_dependencies;
	if (!n) {
		take_host(o);
		return;
	}
	o->deps = deps_get(o->op.registry->deps, &(struct deps_request){ .runtime = o->request.runtime,
									 .base = o->image,
									 .v = o->wanted,
									 .n = n,
									 .on_output = on_install_output,
									 .on_done = on_dependencies,
									 .ctx = o });
}

/* --- host -------------------------------------------------------------------------------------------------------- */

static void on_host(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct create_op *o = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	if (f)
		fail_copy(&why, f);
	else
		o->host = xstrdup(answer->host);
	o->query = o->op.registry->engine->ops->query_free(o->query);
	if (why.kind)
		op_fail(&o->op, &why);
	else
		take_slot(o);
}

static void take_host(struct create_op *o)
{
	struct engine *e = o->op.registry->engine;
	AUTO(fail_release) struct fail f = { 0 };
	struct place_spec place = { .on = o->on, .memory = o->limits.memory, .network = o->request.network };
	struct query_spec query = { .kind = ENGINE_QUERY_HOST, .place = &place, .done = on_host, .ctx = o };
	if (!engine_capabilities(e).several_hosts) {
		take_slot(o);
		return;
	}
	o->query = e->ops->query(e, &query, &f);
	if (!o->query)
		op_fail(&o->op, &f);
}

/* --- slot -------------------------------------------------------------------------------------------------------- */

static void refuse(struct create_op *o, const struct session_list *active, const struct fail *f)
{
	size_t n = active ? active->n : 0;
	AUTO(freep) struct session_info *infos = xcalloc(n + 1, sizeof(*infos));
	uint64_t now = store_now_ms();
	for (size_t i = 0; i < n; i++) {
		const struct session_record *row = &active->v[i];
		struct session_entry *entry = registry_find(o->op.registry, row->id);
		infos[i] = entry ? session_entry_info(entry) :
				   (struct session_info){
					   .id = row->id,
					   .name = row->name,
					   .runtime = row->runtime,
					   .status = row_state_name(row->state),
					   .age_seconds = (now - MIN(row->created, now)) / 1000,
					   .idle_seconds = row->busy ? 0 : (now - MIN(row->used, now)) / 1000,
					   .limits = limits_from_json(row->limits, o->op.registry->config),
				   };
	}
	/* The session never held a slot, and no container was started. */
	struct session_entry *entry = take_ptr(o->op.entry);
	if (*entry->warm)
		warm_give_back(entry);
	else
		session_entry_free(entry);
	o->request.on_done(o->request.ctx, &(struct create_result){ .active = infos, .n_active = n }, f);
	op_end(&o->op);
}

/* The slot of the warm container was given to another session, or the container has just died. */
static void go_cold(struct create_op *o)
{
	struct session_entry *entry = take_ptr(o->op.entry);
	claim_drop(o->op.registry, session_id(entry->session));
	session_stop(entry->session);
	free(take_ptr(o->op.wanted));
	o->cold = true;
	o->claimed = o->was_warm = false;
	take_slot(o);
}

static void on_claimed(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct create_op *o = ctx;
	struct session_entry *entry = o->op.entry;
	bool gone = *entry->warm && (session_state(entry->session) != SESSION_WARM || (f && f->kind == FAIL_NOT_FOUND));
	o->job = NULL;
	if (!f)
		warm_evict(o->op.registry->warm, list);
	if (gone && (!f || f->kind == FAIL_NOT_FOUND)) {
		go_cold(o);
	} else if (!f) {
		start(o);
	} else if (cause_of(f) == CAUSE_USER_TAKEN) {
		o->names++;
		session_entry_free(take_ptr(o->op.entry));
		take_slot(o);
	} else if (f->kind == FAIL_LIMIT && !o->swept) {
		/* Slots may be held by sessions that died with their server: run gc once, then try again. */
		o->swept = o->sweeping = true;
		keeper_collect(o->op.registry->keeper);
	} else {
		refuse(o, list, f);
	}
}

static void claim(struct create_op *o)
{
	o->job = claim_slot(o->op.entry, o->op.conversation->id, o->op.conversation->max_sessions,
			    o->names < NAMES_TRIED, on_claimed, o);
}

static void swept(struct op *op)
{
	struct create_op *o = create_op_of(op);
	if (!o->sweeping)
		return;
	o->sweeping = false;
	claim(o);
}

static void take_slot(struct create_op *o)
{
	struct registry *r = o->op.registry;
	struct session_entry_spec spec = spec_of(o);
	o->op.entry = o->cold ? NULL : warm_take(r->warm, &spec);
	if (!o->op.entry)
		o->op.entry = session_entry_new(r, &spec);
	free(o->op.entry->name);
	o->op.entry->name = o->name ? xstrdup(o->name) : NULL;
	free(o->op.entry->rules);
	o->op.entry->rules = o->network.rules ? xstrdup(o->network.rules) : NULL;
	free(o->op.entry->labels);
	o->op.entry->labels = o->labels ? xstrdup(o->labels) : NULL;
	session_entry_add_secrets(o->op.entry, o->op.conversation->id, o->secrets);
	claim(o);
}

/* --- container --------------------------------------------------------------------------------------------------- */

/* The certificates that its programs trust beside those of the image; NULL = none. */
static char *certificates_of(const struct session_entry *entry)
{
	const char *authority = session_secrets_authority(entry->own_secrets);
	bool reaches_hosts = session_network(entry->session) || entry->rules;
	const char *chosen = reaches_hosts ? entry->registry->config->certificates : NULL;
	return chosen || authority ? xasprintf("%s\n%s", chosen ? chosen : "", authority ? authority : "") : NULL;
}

static void start(struct create_op *o)
{
	struct session_entry *entry = o->op.entry;
	AUTO(fail_release) struct fail f = { 0 };
	o->claimed = true;
	/* From here on ops_ready() and ops_dead() apply to this operation. */
	o->op.wanted = xstrdup(session_id(entry->session));
	o->was_warm = *entry->warm;
	log_created(entry, o->env_names);
	if (o->values && session_secrets_give(entry->own_secrets, o->values, &o->env, &f) < 0) {
		op_fail(&o->op, &f);
		return;
	}
	AUTO(freep) char *certificates = certificates_of(entry);
	struct session_terms terms = { .env = &o->env, .cwd = o->cwd, .authority = certificates };
	if (o->was_warm) {
		/* The variables are kept: if the warm container turns out to be dead, the next one needs them. */
		session_entry_claim(entry, o->op.conversation->id, &terms);
		return;
	}
	session_entry_start(entry, &terms);
	strv_release(&o->env);
}

static bool dead(struct op *op, const struct fail *f)
{
	struct create_op *o = create_op_of(op);
	if (!o->was_warm || f->kind == FAIL_INVALID || session_state(op->entry->session) != SESSION_DEAD)
		return false;
	go_cold(o);
	return true;
}

/* The session was stopped before its create was answered. Its id was known from the list of active sessions in the
 * error of another create. */
static void stopped(struct op *op, const struct fail *f UNUSED)
{
	AUTO(fail_release) struct fail why = { 0 };
	struct create_op *o = create_op_of(op);
	struct create_result none = { 0 };
	cause_set(&why, FAIL_CANCELLED, CAUSE_STOPPED, "the session was stopped while it started");
	o->request.on_done(o->request.ctx, &none, &why);
}

/* --- fence ------------------------------------------------------------------------------------------------------- */

static void on_fence(void *ctx, const struct fail *f)
{
	struct create_op *o = ctx;
	if (f)
		op_fail(&o->op, f);
	else
		prove(o);
}

/* No code has run in the session yet, and none will before the firewall rules are set. */
static int ready(struct op *op, struct fail *f UNUSED)
{
	struct create_op *o = create_op_of(op);
	strv_release(&o->env);
	o->fence.fn = on_fence;
	o->fence.ctx = o;
	if (!o->network.container || fence_pass(op->registry->fence, &o->fence))
		prove(o);
	return 0;
}

/* --- proof ------------------------------------------------------------------------------------------------------- */

static void on_proven(void *ctx, const struct fail *f)
{
	struct create_op *o = ctx;
	o->proof = NULL;
	if (f)
		op_fail(&o->op, f);
	else
		record(o);
}

static void prove(struct create_op *o)
{
	if (o->op.registry->config->probe == PROBE_REQUIRE)
		o->proof = proof_start(o->op.entry, on_proven, o);
	else
		record(o);
}

/* --- record ------------------------------------------------------------------------------------------------------ */

/* The session can be used even if the store failed. */
static void on_recorded(void *ctx, const struct fail *f)
{
	struct create_op *o = ctx;
	o->job = NULL;
	if (f)
		log_warning("a session was not recorded as running: %s", f->message);
	struct session_info info = session_entry_info(o->op.entry);
	info.dependencies = o->versions;
	o->op.entry->versions = o->versions ? xstrdup(o->versions) : NULL;
	struct create_result result = {
		.session = &info,
		.note = o->network.container ? fence_note(o->op.registry->fence) : o->network.note,
	};
	metrics_add_create(&o->op.registry->metrics,
			   o->wanted->name ? CREATE_PACKAGES :
			   o->was_warm	   ? CREATE_WARM :
					     CREATE_COLD,
			   loop_now_ms() - o->began_ms);
	o->request.on_done(o->request.ctx, &result, NULL);
	struct session_entry_spec spec = spec_of(o);
	warm_used(o->op.registry->warm, &spec, o->was_warm);
	op_end(&o->op);
}

/* The session is recorded before the answer, so that the next server finds it if this server is killed right after the
 * answer. */
static void record(struct create_op *o)
{
	o->job = claim_running(o->op.entry, on_recorded, o);
}

/* --- end --------------------------------------------------------------------------------------------------------- */

static void answer_fail(struct op *op, const struct fail *f)
{
	struct create_op *o = create_op_of(op);
	struct create_result none = { 0 };
	/* The session's id was never delivered, so the session is forgotten once its container is removed. */
	if (op->entry)
		session_stop(op->entry->session);
	o->request.on_done(o->request.ctx, &none, f);
}

static void cancel(struct op *op)
{
	struct create_op *o = create_op_of(op);
	struct session_entry *entry = take_ptr(op->entry);
	if (o->deps)
		deps_cancel(take_ptr(o->deps));
	if (o->fitting)
		fitting_cancel(take_ptr(o->fitting));
	if (!entry)
		return;
	if (o->claimed) {
		session_stop(entry->session);
		return;
	}
	/* The claim may still be under way; the store runs the jobs below after it. */
	if (*entry->warm) {
		claim_drop(op->registry, session_id(entry->session));
		claim_drop(op->registry, entry->warm);
		session_stop(entry->session);
		return;
	}
	claim_end(entry, /* cause= */ NULL);
	session_entry_free(entry);
}

static void create_op_free(struct op *op)
{
	struct create_op *o = create_op_of(op);
	list_remove(&o->wait.node);
	list_remove(&o->fence.node);
	proof_cancel(o->proof);
	store_cancel(o->job);
	op->registry->engine->ops->query_free(o->query);
	if (o->deps)
		deps_cancel(o->deps);
	if (o->fitting)
		fitting_cancel(o->fitting);
	secret_reading_cancel(o->reading);
	secret_set_unref(o->values);
	free(o->secrets);
	free(o->wanted_image);
	free(o->on);
	free(o->host);
	for (size_t i = 0; o->wanted && i < o->request.n_dependencies; i++) {
		free((char *)o->wanted[i].name);
		free((char *)o->wanted[i].version);
	}
	free(o->wanted);
	free(o->image);
	create_network_release(&o->network);
	strv_release(&o->env);
	free(o->env_names);
	free(o->cwd);
	free(o->name);
	free(o->labels);
	free(o->versions);
	free(o);
}

static const struct op_type create_type = {
	.start = ready,
	.dead = dead,
	.stopped = stopped,
	.swept = swept,
	.fail = answer_fail,
	.cancel = cancel,
	.free = create_op_free,
};

char *manager_packages_command(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f)
{
	return deps_command(runtime, v, n, f);
}
