/* The state of the hosts, and the choice among them.
 *
 * A check asks a host for its machine, sets the firewall rules if some were set before, and then the host is up. From
 * then on each check measures the memory of its containers. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "manager/engine/pool/pool.h"

static void check_next(struct host *h, enum host_check step);

bool hosts_known(const struct pool *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->hosts[i].state == HOST_UNKNOWN)
			return false;
	return true;
}

static void set_state(struct host *h, enum host_state state, const struct fail *why)
{
	bool changed = h->state != state;
	if (why)
		fail_copy(&h->why, why);
	else
		fail_release(&h->why);
	h->state = state;
	if (changed && state == HOST_DOWN)
		log_warning("host '%s' gets no new sessions: %s", h->name, h->why.message);
	if (changed && state == HOST_UP)
		pool_watch_host(h);
	if (hosts_known(h->pool))
		pool_queries_resume(h->pool);
}

static bool is_hosts_fault(const struct fail *f)
{
	enum cause cause = cause_of(f);
	return cause == CAUSE_NO_ENGINE || cause == CAUSE_ENGINE_SILENT || cause == CAUSE_NO_CLIENT;
}

void host_failed(struct host *h, const struct fail *f)
{
	if (!is_hosts_fault(f) || h->state == HOST_DOWN)
		return;
	h->fenced = false;
	set_state(h, HOST_DOWN, f);
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

static void check_ended(struct host *h, const struct fail *f)
{
	h->check = h->engine->ops->query_free(h->check);
	h->checking = CHECK_NONE;
	if (!f)
		return;
	h->fenced = false;
	set_state(h, HOST_DOWN, f);
}

static void measure(struct host *h, const struct engine_stats *stats)
{
	/* Containers that were placed during the measurement may not be in it. */
	h->promised -= h->promised_before;
	h->containers = stats->n + h->placed - h->placed_before;
	h->placed -= h->placed_before;
	h->used = 0;
	for (size_t i = 0; i < stats->n; i++)
		h->used += stats->v[i].memory;
}

static void on_checked(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct host *h = ctx;
	enum host_check step = h->checking;
	if (f) {
		check_ended(h, f);
		return;
	}
	if (step == CHECK_MACHINE)
		h->memory = answer->info.memory;
	if (step == CHECK_USE)
		measure(h, &answer->stats);
	h->fenced |= step == CHECK_FENCE;
	check_ended(h, NULL);
	if (step == CHECK_MACHINE && h->pool->has_fence && !h->fenced)
		check_next(h, CHECK_FENCE);
	else if (h->state != HOST_UP)
		set_state(h, HOST_UP, NULL);
}

static void check_next(struct host *h, enum host_check step)
{
	static const enum engine_query_kind kinds[] = { [CHECK_MACHINE] = ENGINE_QUERY_INFO,
							[CHECK_FENCE] = ENGINE_QUERY_FENCE,
							[CHECK_USE] = ENGINE_QUERY_STATS };
	AUTO(fail_release) struct fail f = { 0 };
	struct query_spec spec = {
		.kind = kinds[step], .fence = step == CHECK_FENCE ? &h->pool->fence : NULL, .done = on_checked, .ctx = h
	};
	h->checking = step;
	h->promised_before = h->promised;
	h->placed_before = h->placed;
	h->check = h->engine->ops->query(h->engine, &spec, &f);
	if (!h->check)
		check_ended(h, &f);
}

void hosts_check(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct host *h = &p->hosts[i];
		if (h->checking == CHECK_NONE)
			check_next(h, h->state != HOST_UP	 ? CHECK_MACHINE :
				      p->has_fence && !h->fenced ? CHECK_FENCE :
								   CHECK_USE);
	}
}

void hosts_release(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct host *h = &p->hosts[i];
		h->engine->ops->query_free(h->check);
		fail_release(&h->why);
		h->engine->ops->free(h->engine);
	}
	free(p->hosts);
}

/* --- the choice ---------------------------------------------------------------------------------------------------- */

static uint64_t room_of(const struct host *h)
{
	uint64_t taken = h->used + h->promised;
	return h->memory - MIN(taken, h->memory);
}

static bool is_better(const struct host *h, const struct host *than)
{
	uint64_t room = room_of(h), other = room_of(than);
	return room != other ? room > other : h->containers < than->containers;
}

/* While the rules are set for the first time, all hosts that are up take part. */
static bool may_have(const struct pool *p, const struct host *h, const struct place_spec *place)
{
	return h->state == HOST_UP && (!place->network || !p->has_fence || h->fenced);
}

static void list_names(const struct pool *p, struct buf *ret)
{
	for (size_t i = 0; i < p->n; i++)
		buf_printf(ret, "%s%s", i ? ", " : "", p->hosts[i].name);
}

static void list_failures(const struct pool *p, struct buf *ret)
{
	for (size_t i = 0; i < p->n; i++)
		buf_printf(ret, "%s%s: %.200s", i ? "; " : "", p->hosts[i].name,
			   p->hosts[i].why.kind ? p->hosts[i].why.message : "no firewall rules yet");
}

static struct host *find_named(struct pool *p, const struct place_spec *place, struct fail *f)
{
	AUTO(buf_release) struct buf names = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		struct host *h = &p->hosts[i];
		if (!streq(h->name, place->on))
			continue;
		if (may_have(p, h, place))
			return h;
		cause_set(f, FAIL_ENGINE, CAUSE_NO_ENGINE, "the host '%s' cannot be used now: %s", h->name,
			  h->why.kind ? h->why.message : "its firewall rules are not set yet");
		fail_hint(f, "Leave out `on` to use another host.");
		return NULL;
	}
	list_names(p, &names);
	cause_set(f, FAIL_INVALID, CAUSE_NONE, "on: there is no host '%.40s'; the hosts are %s", place->on,
		  buf_str(&names));
	return NULL;
}

struct host *hosts_choose(struct pool *p, const struct place_spec *place, struct fail *f)
{
	struct host *best = place->on ? find_named(p, place, f) : NULL;
	if (place->on && !best)
		return NULL;
	for (size_t i = 0; !place->on && i < p->n; i++)
		if (may_have(p, &p->hosts[i], place) && (!best || is_better(&p->hosts[i], best)))
			best = &p->hosts[i];
	if (best) {
		best->promised += place->memory;
		best->placed++;
		best->containers++;
		return best;
	}
	AUTO(buf_release) struct buf failures = { 0 };
	list_failures(p, &failures);
	cause_set(f, FAIL_ENGINE, CAUSE_NO_ENGINE, "no host of CONTAINER_POOL can be used: %s", buf_str(&failures));
	fail_hint(f, "`husk doctor` checks each host.");
	return NULL;
}
