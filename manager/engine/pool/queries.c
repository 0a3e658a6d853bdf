/* Queries: some go to one host, the others to each host that is up, one after another. */
#include "base/alloc.h"
#include "manager/engine/pool/pool.h"

/* The longest wait for the first check of all hosts. */
#define FIRST_CHECK_MS 12000

struct engine_query {
	struct list node; /* in pool->waits */
	struct pool *pool;
	enum engine_query_kind kind;
	char *subject;
	/* ENGINE_QUERY_HOST */
	struct place_spec place;
	char *on;
	/* ENGINE_QUERY_FENCE */
	struct fence_spec fence;
	struct strv openings;
	bool has_fence;
	struct host *host; /* of the current part; NULL = none */
	bool one;	   /* goes to this host only */
	bool *asked;	   /* for each host */
	bool *answered;	   /* for each host; only of lists */
	size_t n_asked;
	struct engine_query *inner;
	struct engine_answer answer; /* what was collected */
	struct fail failure;
	struct timer *timer;
	engine_answer_fn done;
	void *ctx;
};

static void answer(struct engine_query *q)
{
	/* The callback may free the query, and uses the answer after that. */
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(engine_answer_release) struct engine_answer found = q->answer;
	fail_move(&f, &q->failure);
	q->answer = (struct engine_answer){ .kind = q->kind };
	q->done(q->ctx, f.kind ? NULL : &found, f.kind ? &f : NULL);
}

/* --- what is collected --------------------------------------------------------------------------------------------- */

static void add_containers(struct engine_query *q, const struct engine_containers *list)
{
	struct engine_containers *all = &q->answer.containers;
	for (size_t i = 0; i < list->n; i++) {
		const struct engine_container *c = &list->v[i];
		engine_containers_add(all, c->name, c->owner, c->running, c->created);
		all->v[all->n - 1].node = xstrdup(q->host->name);
	}
}

/* The rules are the same on all hosts: the answer is the worst of them. */
static void add_fence(struct engine_query *q, const struct engine_answer *part)
{
	q->host->fenced |= !q->fence.check_only;
	q->answer.fence = MAX(q->answer.fence, part->fence);
}

/* False if the answer of this host is the whole answer, and was given. */
static bool collect(struct engine_query *q, const struct engine_answer *part)
{
	switch (q->kind) {
	case ENGINE_QUERY_CONTAINERS:
		add_containers(q, &part->containers);
		return true;
	case ENGINE_QUERY_STATS:
		for (size_t i = 0; i < part->stats.n; i++)
			engine_stats_add(&q->answer.stats, part->stats.v[i].name, part->stats.v[i].memory);
		return true;
	case ENGINE_QUERY_IMAGES:
		for (size_t i = 0; i < part->images.n; i++)
			engine_images_add(&q->answer.images, part->images.v[i].name, part->images.v[i].size,
					  part->images.v[i].created);
		return true;
	case ENGINE_QUERY_FENCE:
		add_fence(q, part);
		return true;
	default:
		return false;
	}
}

/* --- the parts ----------------------------------------------------------------------------------------------------- */

static void ask_next(struct engine_query *q);

/* A host that does not answer is left out of lists. It is not asked again: it could fail in the same way each time. */
static bool may_miss(const struct engine_query *q, const struct fail *f)
{
	bool lists =
		q->kind == ENGINE_QUERY_CONTAINERS || q->kind == ENGINE_QUERY_STATS || q->kind == ENGINE_QUERY_IMAGES;
	return lists && !q->one && f->kind != FAIL_INVALID;
}

/* A host that comes back meanwhile is asked too. NULL = all were asked. */
static struct host *next_host(const struct engine_query *q)
{
	for (size_t i = 0; !q->one && i < q->pool->n; i++)
		if (q->pool->hosts[i].state == HOST_UP && !q->asked[i])
			return &q->pool->hosts[i];
	return NULL;
}

static void on_part(void *ctx, const struct engine_answer *part, const struct fail *f)
{
	struct engine_query *q = ctx;
	struct engine_query *ended = take_ptr(q->inner);
	struct engine *engine = q->host->engine;
	if (f) {
		host_failed(q->host, f);
		if (may_miss(q, f)) {
			engine->ops->query_free(ended);
			ask_next(q);
			return;
		}
		fail_copy(&q->failure, f);
		pool_name_host(q->host, &q->failure);
		engine->ops->query_free(ended);
		answer(q);
		return;
	}
	if (!collect(q, part) && !next_host(q)) {
		engine_answer_fn done = q->done;
		void *to = q->ctx;
		/* The inner query owns the answer, and the callback may free the outer one. */
		done(to, part, NULL);
		engine->ops->query_free(ended);
		return;
	}
	q->answered[q->host - q->pool->hosts] = true;
	engine->ops->query_free(ended);
	ask_next(q);
}

static void ask(struct engine_query *q, struct host *h)
{
	q->host = h;
	struct query_spec spec = { .kind = q->kind,
				   .subject = q->subject,
				   .fence = q->has_fence ? &q->fence : NULL,
				   .done = on_part,
				   .ctx = q };
	q->inner = h->engine->ops->query(h->engine, &spec, &q->failure);
	if (q->inner)
		return;
	pool_name_host(h, &q->failure);
	answer(q);
}

/* For hosts that come back. */
static void remember_fence(struct engine_query *q)
{
	struct pool *p = q->pool;
	if (q->fence.check_only)
		return;
	free((char *)p->fence.image);
	free((char *)p->fence.owner);
	strv_release(&p->openings);
	for (size_t i = 0; i < q->openings.n; i++)
		strv_add(&p->openings, q->openings.v[i]);
	p->fence = q->fence;
	p->fence.image = xstrdup(q->fence.image);
	p->fence.owner = q->fence.owner ? xstrdup(q->fence.owner) : NULL;
	p->fence.openings = &p->openings;
	p->has_fence = true;
}

static void all_asked(struct engine_query *q)
{
	struct pool *p = q->pool;
	bool lists =
		q->kind == ENGINE_QUERY_CONTAINERS || q->kind == ENGINE_QUERY_STATS || q->kind == ENGINE_QUERY_IMAGES;
	if (!q->n_asked && !lists)
		(void)hosts_choose(p, &(struct place_spec){ 0 }, &q->failure);
	else if (q->kind == ENGINE_QUERY_FENCE)
		remember_fence(q);
	for (size_t i = 0; q->kind == ENGINE_QUERY_CONTAINERS && i < p->n; i++)
		if (!q->answered[i])
			strv_add(&q->answer.containers.away, p->hosts[i].name);
	answer(q);
}

static void ask_next(struct engine_query *q)
{
	struct host *h = next_host(q);
	if (!h) {
		all_asked(q);
		return;
	}
	q->asked[h - q->pool->hosts] = true;
	q->n_asked++;
	ask(q, h);
}

/* --- hosts --------------------------------------------------------------------------------------------------------- */

static void list_hosts(struct engine_query *q)
{
	struct engine_hosts *list = &q->answer.hosts;
	list->v = xcalloc(q->pool->n, sizeof(*list->v));
	for (size_t i = 0; i < q->pool->n; i++) {
		const struct host *h = &q->pool->hosts[i];
		list->v[list->n++] = (struct engine_host){
			.name = xstrdup(h->name),
			.failure = h->state == HOST_UP ? NULL : xstrdup(h->why.kind ? h->why.message : "no answer yet"),
			.memory = h->memory,
			.used = h->used,
			.containers = h->containers,
		};
	}
}

static void choose(struct engine_query *q)
{
	const struct host *h = hosts_choose(q->pool, &q->place, &q->failure);
	q->answer.host = h ? h->name : NULL;
}

/* --- begin --------------------------------------------------------------------------------------------------------- */

/* The host that has the container or the machine in question. The largest machine if none is named, and the first host
 * for questions about the client. */
static struct host *only_host(struct engine_query *q)
{
	struct pool *p = q->pool;
	struct host *found = NULL;
	if (q->kind == ENGINE_QUERY_CONTAINER)
		return pool_find(p, q->subject, &q->failure);
	for (size_t i = 0; i < p->n; i++) {
		struct host *h = &p->hosts[i];
		bool fits = q->kind != ENGINE_QUERY_INFO || !q->subject || streq(q->subject, h->name);
		if (fits && h->state == HOST_UP && (!found || h->memory > found->memory))
			found = h;
	}
	return found ? found : &p->hosts[0];
}

static void begin(struct engine_query *q)
{
	struct host *h;
	switch (q->kind) {
	case ENGINE_QUERY_HOST:
		choose(q);
		answer(q);
		return;
	case ENGINE_QUERY_HOSTS:
		list_hosts(q);
		answer(q);
		return;
	case ENGINE_QUERY_FENCE:
	case ENGINE_QUERY_CONTAINERS:
	case ENGINE_QUERY_STATS:
	case ENGINE_QUERY_IMAGE:
	case ENGINE_QUERY_IMAGES:
		ask_next(q);
		return;
	default:
		q->one = true;
		h = only_host(q);
		if (h)
			ask(q, h);
		else
			answer(q);
	}
}

static void on_timer(void *ctx)
{
	struct engine_query *q = ctx;
	list_remove(&q->node);
	begin(q);
}

void pool_queries_resume(struct pool *p)
{
	list_for_each(q, &p->waits, struct engine_query, node)
		timer_start(q->timer, 0, 0);
}

/* These need no answer of any other host. */
static bool needs_check(enum engine_query_kind kind)
{
	return kind != ENGINE_QUERY_CLIENT && kind != ENGINE_QUERY_PLACE && kind != ENGINE_QUERY_CONTAINER;
}

struct engine_query *pool_query(struct engine *e, const struct query_spec *spec, struct fail *f UNUSED)
{
	struct pool *p = pool_of(e);
	struct engine_query *q = new0(struct engine_query);
	q->pool = p;
	q->kind = q->answer.kind = spec->kind;
	q->asked = xcalloc(p->n, sizeof(*q->asked));
	q->answered = xcalloc(p->n, sizeof(*q->answered));
	q->subject = spec->subject ? xstrdup(spec->subject) : NULL;
	q->done = spec->done;
	q->ctx = spec->ctx;
	list_init(&q->node);
	if (spec->place) {
		q->place = *spec->place;
		q->place.on = q->on = spec->place->on ? xstrdup(spec->place->on) : NULL;
	}
	if (spec->fence) {
		q->has_fence = true;
		q->fence = *spec->fence;
		q->fence.image = xstrdup(spec->fence->image);
		q->fence.owner = spec->fence->owner ? xstrdup(spec->fence->owner) : NULL;
		for (size_t i = 0; spec->fence->openings && i < spec->fence->openings->n; i++)
			strv_add(&q->openings, spec->fence->openings->v[i]);
		q->fence.openings = &q->openings;
	}
	bool waits = needs_check(q->kind) && !hosts_known(p);
	q->timer = timer_new(p->loop, on_timer, q);
	timer_start(q->timer, waits ? FIRST_CHECK_MS : 0, 0);
	if (waits) {
		list_append(&p->waits, &q->node);
		hosts_check(p);
	}
	return q;
}

struct engine_query *pool_query_free(struct engine_query *q)
{
	if (!q)
		return NULL;
	list_remove(&q->node);
	if (q->inner)
		q->host->engine->ops->query_free(q->inner);
	engine_answer_release(&q->answer);
	fail_release(&q->failure);
	timer_free(q->timer);
	strv_release(&q->openings);
	free((char *)q->fence.image);
	free((char *)q->fence.owner);
	free(q->asked);
	free(q->answered);
	free(q->on);
	free(q->subject);
	free(q);
	return NULL;
}
