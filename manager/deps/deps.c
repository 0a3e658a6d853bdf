#include "manager/deps/deps.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"
#include "kernels/protocol.h"
#include "manager/deps/install.h"
#include "manager/deps/set.h"
#include "manager/model/token.h"

/* How often to check whether another server has built the set. */
#define POLL_MS 500
/* A builder that is gone is replaced after this time; a live one renews its claim earlier. */
#define BUILDER_LEASE_MS 60000
#define RENEW_MS 15000

struct deps {
	struct deps_spec spec;
	struct list sets, evictions;
	struct store_job *listing;
};

struct deps_wait {
	struct list node;
	struct set *set;
	struct deps_request req;
};

/* A set with at least one waiting caller. */
struct set {
	struct list node;
	struct deps *deps;
	struct list waits;
	const struct runtime *runtime;
	char key[DEPS_KEY_SIZE];
	char *image, *base, *wanted, *scratch;
	struct strv sources; /* index settings with logins */
	bool unpinned;

	struct engine_query *query;
	struct store_job *claim, *renewal;
	struct fence_wait fence_wait;
	struct install *install;
	struct engine_bake *bake;
	struct timer *timer; /* checks again, or renews the claim */
	bool yours;	     /* this server builds it */
	/* Learned from the store's row and the image's labels. */
	bool claimed, checked, being_built;
	struct deps_content content; /* content of the image; no versions if it does not exist or is too old */
};

/* A set that is being removed from the cache. */
struct eviction {
	struct list node;
	struct deps *deps;
	char *key;
	struct engine_bake *task;
};

static void check(struct set *s);
static void evict_others(struct set *s);

/* --- the end of a set -------------------------------------------------------------------------------------------- */

static void forget_content(struct set *s)
{
	free(s->content.versions);
	s->content = (struct deps_content){ 0 };
}

static void set_free(struct set *s)
{
	struct engine *e = s->deps->spec.engine;
	list_remove(&s->node);
	list_remove(&s->fence_wait.node);
	e->ops->query_free(s->query);
	store_cancel(s->claim);
	store_cancel(s->renewal);
	install_free(s->install);
	if (s->bake)
		e->ops->bake_cancel(s->bake);
	timer_free(s->timer);
	free(s->image);
	free(s->base);
	free(s->wanted);
	free(s->scratch);
	forget_content(s);
	strv_release(&s->sources);
	free(s);
}

/* Answers all waiting callers. A callback may request the same set again, so the set leaves the list first. */
static void finish(struct set *s, const struct fail *f)
{
	list_remove(&s->node);
	list_init(&s->node);
	if (!f)
		store_set_used(s->deps->spec.store, s->key, /* fn= */ NULL, NULL);
	else if (s->yours)
		store_set_remove(s->deps->spec.store, s->key, /* fn= */ NULL, NULL);
	while (!list_empty(&s->waits)) {
		struct deps_wait *w = list_entry(s->waits.next, struct deps_wait, node);
		list_remove(&w->node);
		w->req.on_done(w->req.ctx, f ? NULL : s->image, f ? NULL : s->content.versions, f);
		free(w);
	}
	set_free(s);
}

/* --- building ---------------------------------------------------------------------------------------------------- */

static struct set_record row_of(const struct set *s)
{
	return (struct set_record){
		.key = s->key,
		.image = s->image,
		.runtime = s->runtime->name,
		.wanted = s->wanted,
		.unpinned = s->unpinned,
		.builder = s->deps->spec.owner,
		.builder_until = store_now_ms() + BUILDER_LEASE_MS,
		.used = store_now_ms(),
	};
}

static void on_recorded(void *ctx, const struct fail *f)
{
	struct set *s = ctx;
	s->renewal = NULL;
	/* The image exists even if the store did not record it, and its labels answer the next request. */
	if (f)
		log_warning("dependency set %s: %s", s->key, f->message);
	evict_others(s);
	finish(s, NULL);
}

static void record(struct set *s)
{
	struct set_record row = row_of(s);
	row.versions = s->content.versions;
	row.size = s->content.size;
	row.built = s->content.built;
	timer_stop(s->timer);
	store_cancel(s->renewal);
	s->renewal = store_set_built(s->deps->spec.store, &row, on_recorded, s);
}

static void on_renewed(void *ctx, const struct fail *f)
{
	struct set *s = ctx;
	s->renewal = NULL;
	if (f)
		log_debug("dependency set %s: %s", s->key, f->message);
}

static void on_renew(void *ctx)
{
	struct set *s = ctx;
	struct set_record row = row_of(s);
	if (!s->renewal)
		s->renewal = store_set_built(s->deps->spec.store, &row, on_renewed, s);
	/* Keeps the fence's opening to the package index, which perhaps only this build needs. */
	fence_prepare(s->deps->spec.fence);
	timer_start(s->timer, RENEW_MS, 0);
}

static void on_baked(void *ctx, const struct fail *f)
{
	struct set *s = ctx;
	s->bake = NULL;
	s->install = install_free(s->install);
	if (f)
		finish(s, f);
	else
		record(s);
}

static void on_installed(void *ctx, const char *versions, uint64_t size, const struct fail *f)
{
	struct set *s = ctx;
	AUTO(strv_release) struct strv labels = { 0 };
	if (f) {
		finish(s, f);
		return;
	}
	s->content.versions = xstrdup(versions);
	s->content.size = size;
	s->content.built = store_now_ms();
	deps_labels(&labels, s->key, &s->content);
	char token[TOKEN_SIZE];
	token_make(token);
	s->scratch = xasprintf("husk-%s", token);
	struct bake_spec bake = {
		.container = install_container(s->install),
		.path = DEPENDENCIES_PATH,
		.base = s->base,
		.image = s->image,
		.scratch = s->scratch,
		.store = store_id(s->deps->spec.store),
		.labels = &labels,
	};
	s->bake = s->deps->spec.engine->ops->bake(s->deps->spec.engine, &bake, on_baked, s);
}

static void on_install_output(void *ctx, const char *text, size_t n)
{
	struct set *s = ctx;
	list_for_each(w, &s->waits, struct deps_wait, node)
		if (w->req.on_output)
			w->req.on_output(w->req.ctx, text, n);
}

/* CONTAINER_NETWORK_ENABLED applies to installers too. */
static void refuse_build(struct set *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(
		&f, FAIL_INSTALL, CAUSE_NETWORK_OFF,
		"these dependencies are not cached, and the network is switched off (CONTAINER_NETWORK_ENABLED=false)");
	fail_hint(
		&f,
		"Only the person who runs Husk can switch it on, in its settings. Use a set that is cached, or none.");
	finish(s, &f);
}

static void start_install(struct set *s)
{
	struct deps *d = s->deps;
	timer_free(s->timer);
	s->timer = timer_new(d->spec.loop, on_renew, s);
	timer_start(s->timer, RENEW_MS, 0);
	s->install = install_start(&(struct install_spec){
		.loop = d->spec.loop,
		.engine = d->spec.engine,
		.config = d->spec.config,
		.image = s->base,
		.owner = d->spec.owner,
		.store = store_id(d->spec.store),
		.wanted = s->wanted,
		.sources = &s->sources,
		.on_output = on_install_output,
		.on_done = on_installed,
		.ctx = s,
	});
}

static void on_fence(void *ctx, const struct fail *f)
{
	struct set *s = ctx;
	if (f)
		finish(s, f);
	else
		start_install(s);
}

static void build(struct set *s)
{
	if (!s->deps->spec.config->network_enabled) {
		refuse_build(s);
		return;
	}
	s->fence_wait.fn = on_fence;
	s->fence_wait.ctx = s;
	if (fence_pass(s->deps->spec.fence, &s->fence_wait))
		start_install(s);
}

/* --- existing images --------------------------------------------------------------------------------------------- */

static void on_forgotten(void *ctx, const struct fail *f)
{
	struct set *s = ctx;
	s->claim = NULL;
	if (f)
		finish(s, f);
	else
		check(s);
}

static void on_check_again(void *ctx)
{
	check(ctx);
}

/* Called once both the store and the engine have answered. */
static void decide(struct set *s)
{
	if (!s->claimed || !s->checked)
		return;
	if (s->yours && s->content.versions) {
		record(s); /* built for another store, or by a server that was killed before it recorded the set */
	} else if (s->yours) {
		build(s);
	} else if (s->being_built) {
		timer_start(s->timer, POLL_MS, 0);
	} else if (s->content.versions) {
		finish(s, NULL);
	} else {
		/* The store says that the set is built, but its image was removed. */
		s->claim = store_set_remove(s->deps->spec.store, s->key, on_forgotten, s);
	}
}

static void on_claimed(void *ctx, const struct set_record *found, bool yours, const struct fail *f)
{
	struct set *s = ctx;
	s->claim = NULL;
	if (f) {
		finish(s, f);
		return;
	}
	s->claimed = true;
	s->yours = yours;
	s->being_built = !yours && found->builder;
	decide(s);
}

static void on_image(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct set *s = ctx;
	s->query = s->deps->spec.engine->ops->query_free(s->query);
	s->checked = true;
	if (f && f->kind != FAIL_IMAGE) {
		finish(s, f);
		return;
	}
	if (answer)
		(void)deps_read_labels(&s->content, &answer->image.labels, s->key, s->wanted);
	/* Without the network an outdated set is better than none. */
	if (s->deps->spec.config->network_enabled &&
	    deps_stale(s->unpinned, s->content.built, store_now_ms(), s->deps->spec.config->dependency_max_age_days))
		forget_content(s);
	decide(s);
}

static void check(struct set *s)
{
	struct deps *d = s->deps;
	AUTO(fail_release) struct fail f = { 0 };
	struct set_record row = row_of(s);
	uint64_t age = d->spec.config->dependency_max_age_days * 86400000ull, now = store_now_ms();
	s->claimed = s->checked = false;
	forget_content(s);
	s->claim = store_set_claim(d->spec.store, &row, now - MIN(age, now), on_claimed, s);
	s->query = d->spec.engine->ops->query(
		d->spec.engine,
		&(struct query_spec){ .kind = ENGINE_QUERY_IMAGE, .subject = s->image, .done = on_image, .ctx = s },
		&f);
	/* If the engine cannot be queried, the build fails with that reason. */
	s->checked = !s->query;
}

/* --- the cache --------------------------------------------------------------------------------------------------- */

static void eviction_free(struct eviction *e)
{
	list_remove(&e->node);
	free(e->key);
	free(e);
}

static void on_evicted(void *ctx, const struct fail *f)
{
	struct eviction *e = ctx;
	/* A set that a session uses is kept; the next build tries again to remove it. */
	if (f)
		log_debug("dependency set %s stays: %s", e->key, f->message);
	else
		store_set_remove(e->deps->spec.store, e->key, /* fn= */ NULL, NULL);
	eviction_free(e);
}

static bool is_going(const struct deps *d, const char *key)
{
	list_for_each(e, &d->evictions, struct eviction, node)
		if (streq(e->key, key))
			return true;
	return false;
}

static struct set *find_set(struct deps *d, const char *key)
{
	list_for_each(s, &d->sets, struct set, node)
		if (streq(s->key, key))
			return s;
	return NULL;
}

static void on_sets(void *ctx, const struct set_list *list, const struct fail *f)
{
	struct deps *d = ctx;
	d->listing = NULL;
	if (f || !list->n)
		return;
	AUTO(freep) size_t *chosen = xcalloc(list->n, sizeof(*chosen));
	size_t n = deps_evict(list, d->spec.config->dependency_cache_size, list->v[list->n - 1].key, chosen);
	for (size_t i = 0; i < n; i++) {
		const struct set_record *row = &list->v[chosen[i]];
		if (is_going(d, row->key) || find_set(d, row->key))
			continue;
		/* The row's image column is not used: it could name any image of the engine. */
		AUTO(freep) char *image = deps_image(row->key);
		if (!image) {
			store_set_remove(d->spec.store, row->key, /* fn= */ NULL, NULL);
			continue;
		}
		struct eviction *e = new0(struct eviction);
		e->deps = d;
		e->key = xstrdup(row->key);
		list_append(&d->evictions, &e->node);
		e->task = d->spec.engine->ops->remove_image(d->spec.engine, image, on_evicted, e);
	}
}

/* The set that was just built is kept, since it is the most recently used one. */
static void evict_others(struct set *s)
{
	struct deps *d = s->deps;
	if (!d->listing)
		d->listing = store_sets(d->spec.store, on_sets, d);
}

/* --- callers ----------------------------------------------------------------------------------------------------- */

static void on_refuse(void *ctx)
{
	struct set *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_INVALID, CAUSE_NOT_SUPPORTED,
		  "this engine cannot store images, so it cannot add dependencies to a session");
	fail_hint(&f, "create the session without dependencies, or use an image that has them");
	finish(s, &f);
}

static struct set *set_new(struct deps *d, const struct deps_request *req)
{
	const char *base = req->base ? req->base : runtime_image(req->runtime, d->spec.config);
	AUTO(strv_release) struct strv open = { 0 };
	struct set *s = new0(struct set);
	s->deps = d;
	s->runtime = req->runtime;
	s->base = xstrdup(base);
	s->wanted = deps_wanted(req->v, req->n);
	s->unpinned = deps_unpinned(req->runtime, req->v, req->n);
	deps_sources(&s->sources, req->runtime, d->spec.config, /* with_logins= */ true);
	deps_sources(&open, req->runtime, d->spec.config, /* with_logins= */ false);
	deps_key(s->key, base, s->wanted, &open);
	s->image = deps_image(s->key);
	s->timer = timer_new(d->spec.loop, on_check_again, s);
	list_init(&s->waits);
	list_init(&s->node);
	list_init(&s->fence_wait.node);
	return s;
}

static void begin(struct set *s)
{
	if (engine_capabilities(s->deps->spec.engine).bakes_images) {
		check(s);
		return;
	}
	timer_free(s->timer);
	s->timer = timer_new(s->deps->spec.loop, on_refuse, s);
	timer_start(s->timer, 0, 0);
}

struct deps_wait *deps_get(struct deps *d, const struct deps_request *req)
{
	struct set *fresh = set_new(d, req), *s = find_set(d, fresh->key);
	struct deps_wait *w = new0(struct deps_wait);
	if (s) {
		set_free(fresh);
	} else {
		s = fresh;
		list_append(&d->sets, &s->node);
		begin(s);
	}
	w->set = s;
	w->req = *req;
	w->req.v = NULL;
	w->req.base = NULL;
	list_append(&s->waits, &w->node);
	return w;
}

void deps_cancel(struct deps_wait *w)
{
	struct set *s = w->set;
	list_remove(&w->node);
	free(w);
	if (!list_empty(&s->waits))
		return;
	if (s->yours)
		store_set_remove(s->deps->spec.store, s->key, /* fn= */ NULL, NULL);
	set_free(s);
}

struct deps *deps_new(const struct deps_spec *spec)
{
	struct deps *d = new0(struct deps);
	d->spec = *spec;
	list_init(&d->sets);
	list_init(&d->evictions);
	return d;
}

struct deps *deps_free(struct deps *d)
{
	if (!d)
		return NULL;
	store_cancel(d->listing);
	list_for_each(s, &d->sets, struct set, node) {
		list_for_each(w, &s->waits, struct deps_wait, node) {
			list_remove(&w->node);
			free(w);
		}
		set_free(s);
	}
	list_for_each(e, &d->evictions, struct eviction, node) {
		d->spec.engine->ops->bake_cancel(e->task);
		eviction_free(e);
	}
	free(d);
	return NULL;
}
