#include "manager/fence/fence.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/work.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/networks.h"
#include "manager/model/runtime.h"

/* If resolving takes longer, the results of the last time are used. */
#define RESOLVE_MS 5000
#define PLACES_MAX 64
/* Openings (exceptions to the rules) last for this number of gc rounds. Each round renews them while there are
 * sessions, and an install renews them while it runs. */
#define ROUNDS 4

#define OLD_NETWORK                                                                                                    \
	"sessions of an older Husk still use its network, which has no firewall rules: private addresses and "         \
	"services of the host can be reached"

/* Openings last as if rounds took at least this time, since an install renews them only every few seconds. */
#define INTERVAL_MIN_SECONDS 30

enum fence_state { UNCHECKED, IS_SET, UNAVAILABLE, LOST };

/* A worker job that resolves names to addresses. */
struct resolving {
	struct fence *fence;
	struct url_place places[PLACES_MAX];
	size_t n;
	struct strv found;
};

struct fence {
	struct fence_options options;
	struct strv urls;
	enum fence_state state;
	uint64_t checked_ms;
	bool needed;
	struct strv images; /* images that may contain the program for the rules; images.v[at] is tried now */
	size_t at;
	struct work *work;
	struct timer *patience, *tell;
	struct strv openings; /* results of the last resolving */
	struct engine_query *query;
	struct fail failure; /* why the last check failed; reported to the waits */
	char *note;
	struct list waits;
};

/* --- waits ------------------------------------------------------------------------------------------------------- */

/* True if code must not use the network. This is always so if the rules were set before and are gone. If they could
 * never be set, CONTAINER_NETWORK_FENCE decides. */
static bool refuses(const struct fence *f)
{
	return f->state == LOST || (f->state == UNAVAILABLE && f->options.config->network_fence == FENCE_REQUIRE);
}

static void describe(struct fence *f, struct fail *ret)
{
	if (f->state == LOST) {
		cause_set(ret, FAIL_ENGINE, CAUSE_NO_FENCE,
			  "the firewall rules around sessions are gone and could not be set again (%s)",
			  f->failure.message);
		fail_hint(ret, "Try again in a minute, or continue without the network.");
		return;
	}
	cause_set(
		ret, FAIL_ENGINE, CAUSE_NO_FENCE,
		"the network is not available: CONTAINER_NETWORK_FENCE=require, but the firewall rules around sessions cannot be set (%s)",
		f->failure.message);
	fail_hint(ret,
		  "Only the person who runs Husk can change that (see husk doctor). Continue without the network.");
}

static void on_tell(void *ctx)
{
	struct fence *f = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	bool refused = refuses(f);
	if (refused)
		describe(f, &why);
	/* The list is read again after each callback, since callbacks may add waits. */
	while (!list_empty(&f->waits)) {
		struct fence_wait *w = list_first(&f->waits, struct fence_wait, node);
		list_remove(&w->node);
		w->fn(w->ctx, refused ? &why : NULL);
	}
}

/* --- checks ------------------------------------------------------------------------------------------------------ */

static void check(struct fence *f);

static void set_note(struct fence *f)
{
	free(f->note);
	f->note = NULL;
	if (f->state == UNAVAILABLE)
		f->note = xasprintf(
			"this session has no firewall rules: private addresses and services of the host can be reached (%s)",
			f->failure.message);
}

static void on_checked(void *ctx, const struct engine_answer *answer, const struct fail *failure)
{
	struct fence *f = ctx;
	if (f->query)
		f->query = f->options.engine->ops->query_free(f->query);
	if (failure && failure->kind == FAIL_IMAGE && f->at + 1 < f->images.n) {
		f->at++;
		check(f);
		return;
	}
	if (failure && !f->needed) {
		log_debug("fence: %s", failure->message);
		return;
	}
	fail_release(&f->failure);
	if (failure)
		fail_copy(&f->failure, failure);
	f->options.engine->our_kernel |= answer && answer->our_kernel;
	bool stood = f->state == IS_SET || f->state == LOST;
	f->state = answer ? IS_SET : stood ? LOST : UNAVAILABLE;
	if (f->state == LOST)
		log_warning("the firewall rules around sessions are gone: %s", failure->message);
	else if (failure)
		log_debug("fence: %s", failure->message);
	f->checked_ms = loop_now_ms();
	set_note(f);
	timer_start(f->tell, 0, 0);
}

static void check(struct fence *f)
{
	const struct config *c = f->options.config;
	AUTO(strv_release) struct strv openings = { 0 };
	AUTO(fail_release) struct fail failure = { 0 };
	for (size_t i = 0; i < c->private_networks.n; i++)
		strv_add(&openings, c->private_networks.v[i]);
	for (size_t i = 0; i < f->openings.n; i++)
		strv_add(&openings, f->openings.v[i]);
	struct fence_spec spec = {
		.image = f->images.v[f->at],
		.owner = f->options.owner,
		.openings = &openings,
		.seconds = ROUNDS * MAX(c->gc_interval, (uint64_t)INTERVAL_MIN_SECONDS),
	};
	struct query_spec query = { .kind = ENGINE_QUERY_FENCE, .fence = &spec, .done = on_checked, .ctx = f };
	f->query = f->options.engine->ops->query(f->options.engine, &query, &failure);
	if (!f->query)
		on_checked(f, NULL, &failure);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static void add_places(struct resolving *r, const struct strv *urls)
{
	for (size_t i = 0; i < urls->n; i++) {
		for (const char *p = urls->v[i] + strspn(urls->v[i], " \t"); *p;) {
			size_t n = strcspn(p, " \t");
			if (r->n < PLACES_MAX && networks_read_url(p, n, &r->places[r->n]))
				r->n++;
			p += n;
			p += strspn(p, " \t");
		}
	}
}

static void resolve(void *ctx)
{
	struct resolving *r = ctx;
	for (size_t i = 0; i < r->n; i++)
		networks_resolve(&r->found, &r->places[i]);
}

static void resolving_free(struct resolving *r)
{
	strv_release(&r->found);
	free(r);
}

static void on_resolved(void *ctx, bool forgotten)
{
	struct resolving *r = ctx;
	struct fence *f = r->fence;
	if (!forgotten) {
		timer_stop(f->patience);
		f->work = NULL;
		strv_release(&f->openings);
		f->openings = r->found;
		r->found = (struct strv){ 0 };
		check(f);
	}
	resolving_free(r);
}

static void on_patience(void *ctx)
{
	struct fence *f = ctx;
	work_forget(take_ptr(f->work));
	check(f);
}

/* The images of this build come first, since an image that a setting chooses may lack the program. */
static void list_images(struct fence *f)
{
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	for (size_t i = 0; i < n; i++)
		strv_add(&f->images, runtimes[i].image);
	for (size_t i = 0; i < n; i++)
		strv_add(&f->images, runtime_image(&runtimes[i], f->options.config));
}

static void start(struct fence *f)
{
	const struct config *c = f->options.config;
	AUTO(strv_release) struct strv proxies = { 0 };
	if (f->query || f->work)
		return;
	if (!engine_capabilities(f->options.engine).sets_fence) {
		AUTO(fail_release) struct fail none = { 0 };
		cause_set(&none, FAIL_ENGINE, CAUSE_NOT_SUPPORTED, "Husk sets no firewall rules on the engine '%s'",
			  f->options.engine->ops->name);
		on_checked(f, NULL, &none);
		return;
	}
	f->at = 0;
	struct resolving *r = new0(struct resolving);
	r->fence = f;
	if (c->proxy_enabled && f->options.engine->ops->proxies)
		f->options.engine->ops->proxies(f->options.engine, &proxies);
	add_places(r, &f->urls);
	add_places(r, &proxies);
	if (!r->n) {
		resolving_free(r);
		check(f);
		return;
	}
	timer_start(f->patience, RESOLVE_MS, 0);
	f->work = work_start(f->options.loop,
			     &(struct work_spec){ .fn = resolve, .on_done = on_resolved, .ctx = r, .bulk = true });
}

/* --- life -------------------------------------------------------------------------------------------------------- */

/* A check is valid for two rounds of gc. While there are sessions, each round checks again. */
static bool is_recent(const struct fence *f)
{
	uint64_t age = loop_now_ms() - f->checked_ms;
	return (f->state == IS_SET || f->state == UNAVAILABLE) && age <= 2 * f->options.config->gc_interval * 1000;
}

void fence_foresee(struct fence *f)
{
	if (f->state == UNCHECKED)
		start(f);
}

void fence_prepare(struct fence *f)
{
	f->needed = true;
	if (!is_recent(f))
		start(f);
}

bool fence_pass(struct fence *f, struct fence_wait *w)
{
	fence_prepare(f);
	if (is_recent(f) && !refuses(f))
		return true;
	list_append(&f->waits, &w->node);
	if (!f->query && !f->work)
		timer_start(f->tell, 0, 0);
	return false;
}

void fence_tick(struct fence *f, bool needed)
{
	if (f->needed || needed)
		start(f);
}

const char *fence_note(const struct fence *f)
{
	if (engine_capabilities(f->options.engine).outside_fence)
		return OLD_NETWORK;
	return f->note;
}

struct fence *fence_new(const struct fence_options *options)
{
	struct fence *f = new0(struct fence);
	f->options = *options;
	for (size_t i = 0; i < options->urls->n; i++)
		strv_add(&f->urls, options->urls->v[i]);
	f->options.urls = NULL;
	list_images(f);
	f->patience = timer_new(options->loop, on_patience, f);
	f->tell = timer_new(options->loop, on_tell, f);
	list_init(&f->waits);
	return f;
}

struct fence *fence_free(struct fence *f)
{
	if (!f)
		return NULL;
	if (f->work)
		work_forget(f->work);
	f->options.engine->ops->query_free(f->query);
	timer_free(f->patience);
	timer_free(f->tell);
	strv_release(&f->urls);
	strv_release(&f->images);
	strv_release(&f->openings);
	fail_release(&f->failure);
	free(f->note);
	free(f);
	return NULL;
}
