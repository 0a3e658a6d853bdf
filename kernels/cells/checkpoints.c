#include "kernels/cells/checkpoints.h"

#include <errno.h>

#include "base/alloc.h"
#include "kernels/cells/checkpoint-story.h"
#include "kernels/checkpoint-name.h"
#include "kernels/system/clock.h"

/* A checkpoint is made this long after a cell if the cells since the last one took WORK_SHARE times as long as a fork.
 * Otherwise it is made after a longer pause, IDLE_SHARE times as long as a fork. So forks take at most 5 % of the time
 * in which cells run, or 1 % of all time. */
#define PAUSE_MS 20
#define WORK_SHARE 20
#define PAUSE_LONG_MS 1000
#define IDLE_SHARE 100
/* A checkpoint that became the interpreter is made again this long after the answer. */
#define REMAKE_MS 1
/* Between two looks whether a copy is there. */
#define RETRY_MS 2
/* Assumed before the first fork. */
#define COST_US 5000
/* Memory is measured this often, and only above WATCH_PERCENT of the limit, because it takes PID 1's time. */
#define WATCH_MS 1000
#define WATCH_PERCENT 60
/* All checkpoints together. */
#define HELD_PERCENT 25
/* Above FULL_PERCENT no automatic checkpoint is kept, unless it holds so little that it makes no difference: then it is
 * worth more after an OOM. */
#define FULL_PERCENT 85
#define LITTLE_PERCENT 1

static void wake_next(struct checkpoints *all);
static void on_idle(struct timeout *t);
static void on_pause(struct timeout *t);

/* ---- the list */

static void on_sweep(struct timeout *t)
{
	struct checkpoints *all = container_of(t, struct checkpoints, sweep);
	list_for_each(c, &all->gone, struct checkpoint, node)
		checkpoint_free(c);
}

static void discard(struct checkpoints *all, struct checkpoint *c)
{
	if (c == all->waking)
		all->waking = NULL;
	list_remove(&c->node);
	list_append(&all->gone, &c->node);
	timeout_start(all->poller, &all->sweep, 1, on_sweep);
	if (list_empty(&all->list))
		timeout_stop(&all->watch);
}

static size_t count(const struct checkpoints *all, bool automatic)
{
	size_t n = 0;
	list_for_each(c, &all->list, struct checkpoint, node)
		n += (c->name == NULL) == automatic;
	return n;
}

static void drop_automatic(struct checkpoints *all, size_t keep)
{
	size_t n = count(all, true);
	list_for_each(c, &all->list, struct checkpoint, node)
		if (!c->name && c != all->waking && n > keep) {
			discard(all, c);
			n--;
		}
}

static struct checkpoint *find(const struct checkpoints *all, const char *name)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->name && c->state == CHECKPOINT_KEPT && streq(c->name, name))
			return c;
	return NULL;
}

static bool is_wanted(const char *its_name, const struct history *h, const char *name, json_int_t run)
{
	return name ? its_name && streq(its_name, name) : history_last(h) == run;
}

/* It will be found in a moment. */
static bool is_coming(const struct checkpoints *all, const char *name, json_int_t run)
{
	if (all->remake && is_wanted(all->remade, &all->kernel->history, name, run))
		return true;
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->state == CHECKPOINT_COMING && is_wanted(c->name, &c->history, name, run))
			return true;
	return false;
}

void checkpoints_drop(struct checkpoints *all)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		discard(all, c);
}

static json_t *describe(const struct checkpoints *all)
{
	json_t *list = json_array();
	/* A named one that is made again was never gone. */
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->state == CHECKPOINT_KEPT || (c->state == CHECKPOINT_COMING && c->name && !c->asked))
			json_array_append_new(list, checkpoint_describe(c));
	return list;
}

void checkpoints_add_list(const struct checkpoints *all, json_t *to)
{
	json_object_set_new(to, "checkpoints", describe(all));
}

/* ---- answers */

/* Takes `answer`. */
static void answer(struct checkpoints *all, uint32_t call, json_t *answer)
{
	checkpoints_add_list(all, answer);
	all->on_answer(all, call, answer);
	json_decref(answer);
}

static void refuse(struct checkpoints *all, uint32_t call, const char *status, const char *why)
{
	answer(all, call, json_pack("{s:s, s:s}", "status", status, "why", why));
}

static void answer_call(struct checkpoints *all, json_t *said)
{
	uint32_t call = all->call;
	all->call = 0;
	if (call)
		answer(all, call, said);
	else
		json_decref(said);
}

/* ---- memory */

static bool is_above(const struct checkpoints *all, uint64_t bytes, unsigned percent)
{
	uint64_t limit = all->limits->memory_limit;
	return bytes != LIMIT_UNKNOWN && limit != LIMIT_UNKNOWN && bytes > limit / 100 * percent;
}

static uint64_t held(const struct checkpoints *all)
{
	uint64_t sum = 0;
	list_for_each(c, &all->list, struct checkpoint, node)
		sum += c->bytes;
	return sum;
}

static void add_news(struct checkpoints *all, const char *name)
{
	AUTO(freep) char *before = take_ptr(all->news);
	all->news = xasprintf("%s%sThe checkpoint '%s' was dropped, since checkpoints held too much memory.",
			      before ? before : "", before ? " " : "", name);
}

static struct checkpoint *oldest(const struct checkpoints *all, bool automatic)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if ((c->name == NULL) == automatic && c != all->waking)
			return c;
	return NULL;
}

static void make_room(struct checkpoints *all)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		checkpoint_measure(c);
	bool full = is_above(all, limits_memory_now(all->limits), FULL_PERCENT);
	list_for_each(c, &all->list, struct checkpoint, node)
		if (full && !c->name && c != all->waking && is_above(all, c->bytes, LITTLE_PERCENT))
			discard(all, c);
	while (is_above(all, held(all), HELD_PERCENT)) {
		struct checkpoint *c = oldest(all, true);
		c = c ? c : oldest(all, false);
		if (!c)
			return;
		if (c->name)
			add_news(all, c->name);
		discard(all, c);
	}
}

static void on_watch(struct timeout *t)
{
	struct checkpoints *all = container_of(t, struct checkpoints, watch);
	timeout_start(all->poller, &all->watch, WATCH_MS, on_watch);
	if (is_above(all, limits_memory_now(all->limits), WATCH_PERCENT))
		make_room(all);
}

/* ---- making one */

static struct checkpoints *of(const struct checkpoint *c)
{
	return c->kernel->setup->checkpoints;
}

static void on_ready(struct checkpoint *c)
{
	struct checkpoints *all = of(c);
	/* A newer one of the same name may be coming, for which a request waits. */
	list_for_each(old, &all->list, struct checkpoint, node) {
		if (old == c)
			break;
		if (c->name && old->name && streq(old->name, c->name))
			discard(all, old);
	}
	if (c->asked) {
		json_t *made = checkpoint_describe(c);
		json_object_set_new(made, "status", json_string("ok"));
		answer_call(all, made);
	}
	if (!c->name && kernel_idle(all->kernel))
		timeout_start(all->poller, &all->idle, all->idle_ms, on_idle);
	drop_automatic(all, MIN((size_t)CHECKPOINTS_AUTOMATIC_MAX, CHECKPOINTS_MAX - count(all, false)));
	if (!timeout_active(&all->watch))
		timeout_start(all->poller, &all->watch, WATCH_MS, on_watch);
	if (all->restores && !all->waking)
		wake_next(all);
}

static void on_failed(struct checkpoint *c)
{
	struct checkpoints *all = of(c);
	bool was_waking = c == all->waking, was_coming = c->state == CHECKPOINT_COMING;
	discard(all, c);
	if (was_coming && c->asked)
		answer_call(all, json_pack("{s:s, s:s}", "status", "failed", "why",
					   "The copy of the interpreter did not start."));
	if (all->restores && (was_waking || !all->waking))
		wake_next(all);
}

static void on_woken(struct checkpoint *c)
{
	struct checkpoints *all = of(c);
	struct past next = { 0 };
	next.restored = checkpoint_compare(c, &all->kernel->history, &next.note);
	json_t *said = json_pack("{s:s, s:O, s:s}", "status", "ok", "restored", next.restored, "note", next.note);
	bool undo = all->call != 0;
	if (undo)
		past_release(&next); /* the answer says it */
	all->restores = false;
	all->remake = true;
	free(all->remade);
	all->remade = take_ptr(c->name);
	all->kernel->history = c->history;
	all->covered = false;
	discard(all, c);
	struct kernel_process p = checkpoint_give(c);
	kernel_adopt(all->kernel, &p, &next);
	answer_call(all, said);
	timeout_start(all->poller, &all->pause, REMAKE_MS, on_pause);
}

/* asked: it answers the request that waits. */
static int make(struct checkpoints *all, const char *name, bool asked)
{
	struct checkpoint *c;
	if (limits_pids_full(all->limits))
		return -EAGAIN;
	all->asked_us = clock_now_us();
	int r = checkpoint_take(&c, all->kernel, all->kernel->pipes);
	if (r < 0)
		return r;
	c->name = name ? xstrdup(name) : NULL;
	c->asked = asked;
	c->history = all->kernel->history;
	c->on_ready = on_ready;
	c->on_woken = on_woken;
	c->on_failed = on_failed;
	list_append(&all->list, &c->node);
	all->worked_us = all->kernel->worked_us;
	all->covered = true;
	all->expired = false;
	timeout_stop(&all->pause);
	return 0;
}

static void save_now(struct checkpoints *all, const char *name)
{
	int r = make(all, name, /* asked= */ true);
	if (r < 0)
		answer_call(all, json_pack("{s:s, s:s}", "status", "failed", "why",
					   r == -EAGAIN ? "The process limit is reached." :
							  "The interpreter could not be copied now."));
}

void checkpoints_forked(struct checkpoints *all, const char *cannot)
{
	free(take_ptr(all->cannot));
	all->cost_us = clock_now_us() - all->asked_us;
	all->cannot = cannot ? xstrdup(cannot) : NULL;
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->state == CHECKPOINT_COMING && !cannot) {
			checkpoint_forked(c);
		} else if (c->state == CHECKPOINT_COMING && !c->pid) {
			if (c->asked)
				answer_call(all, json_pack("{s:s, s:s}", "status", "cannot", "why", cannot));
			discard(all, c);
		}
	checkpoints_fork_over(all);
}

void checkpoints_fork_over(struct checkpoints *all)
{
	if (all->restores && !all->waking)
		wake_next(all);
	AUTO(freep) char *wanted = take_ptr(all->wanted);
	if (wanted)
		save_now(all, wanted);
}

void checkpoints_follow(struct checkpoints *all, struct kernel *k)
{
	drop_automatic(all, 0);
	list_for_each(c, &all->list, struct checkpoint, node)
		c->kernel = k;
	list_for_each(c, &all->gone, struct checkpoint, node)
		c->kernel = k;
	all->kernel = k;
	all->worked_us = k->worked_us;
	all->covered = all->expired = false;
	all->remake = true;
	free(take_ptr(all->remade));
	timeout_start(all->poller, &all->pause, REMAKE_MS, on_pause);
}

bool checkpoints_settled(const struct checkpoints *all)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->name && c->state != CHECKPOINT_KEPT)
			return false;
	return !all->kernel->fork_id && !all->call && !all->restores && !all->later;
}

bool checkpoints_name(const struct checkpoints *all, const char *name)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->name && streq(c->name, name))
			return true;
	return false;
}

/* ---- automatic ones */

static bool is_possible(const struct checkpoints *all)
{
	return all->mode == CHECKPOINTS_AUTO && all->kernel->forks && !all->covered;
}

static void on_idle(struct timeout *t)
{
	struct checkpoints *all = container_of(t, struct checkpoints, idle);
	all->expired = count(all, true) > 0;
	drop_automatic(all, 0);
}

static bool remake(struct checkpoints *all)
{
	if (!all->remake)
		return false;
	AUTO(freep) char *name = take_ptr(all->remade);
	all->remake = false;
	if (name || all->mode == CHECKPOINTS_AUTO)
		(void)make(all, name, /* asked= */ false);
	return true;
}

static void on_pause(struct timeout *t)
{
	struct checkpoints *all = container_of(t, struct checkpoints, pause);
	if (kernel_idle(all->kernel) && all->is_quiet(all) && !remake(all) && is_possible(all))
		(void)make(all, NULL, /* asked= */ false);
}

void checkpoints_idle(struct checkpoints *all)
{
	if (count(all, true))
		timeout_start(all->poller, &all->idle, all->idle_ms, on_idle);
	if (remake(all) || !is_possible(all))
		return;
	uint64_t worked = all->kernel->worked_us - all->worked_us;
	uint64_t pause = worked >= WORK_SHARE * all->cost_us ?
				 PAUSE_MS :
				 MAX((uint64_t)PAUSE_LONG_MS, IDLE_SHARE * all->cost_us / 1000);
	timeout_start(all->poller, &all->pause, pause, on_pause);
}

void checkpoints_before_run(struct checkpoints *all, uint32_t run)
{
	timeout_stop(&all->pause);
	timeout_stop(&all->idle);
	if (!remake(all) && all->expired && all->mode == CHECKPOINTS_AUTO)
		(void)make(all, NULL, /* asked= */ false);
	all->covered = false;
	all->expired = false;
	history_add(&all->kernel->history, run);
	if (all->news) {
		free(all->kernel->past.news);
		all->kernel->past.news = take_ptr(all->news);
	}
}

void checkpoints_started(struct checkpoints *all)
{
	drop_automatic(all, 0);
	all->kernel->history.n = 0;
	all->covered = true;
	all->remake = all->expired = false;
	all->worked_us = all->kernel->worked_us;
	free(take_ptr(all->cannot));
}

/* ---- restoring */

/* The newest of those that the kernel's cells continue. If there is none, for example after a restart, then the newest
 * of all. */
static struct checkpoint *newest(const struct checkpoints *all)
{
	struct checkpoint *found = NULL, *last = NULL;
	list_for_each(c, &all->list, struct checkpoint, node) {
		found = history_continues(&c->history, &all->kernel->history) ? c : found;
		last = c;
	}
	return found ? found : last;
}

static void wake_next(struct checkpoints *all)
{
	bool undo = all->kernel->pid != 0; /* then no other checkpoint will do */
	struct checkpoint *c = undo ? NULL : newest(all);
	if (!c) {
		all->restores = false;
		answer_call(all, json_pack("{s:s, s:s}", "status", "failed", "why",
					   "The checkpoint did not wake up, and was dropped."));
		kernel_give_up(all->kernel);
		return;
	}
	if (c->state != CHECKPOINT_KEPT)
		return; /* on_ready or on_failed follows */
	all->waking = c;
	checkpoint_wake(c);
}

bool checkpoints_died(struct checkpoints *all)
{
	timeout_stop(&all->pause);
	if (all->wanted) {
		free(take_ptr(all->wanted));
		answer_call(all, json_pack("{s:s, s:s}", "status", "failed", "why", "The interpreter ended."));
	}
	if (list_empty(&all->list) || all->mode >= CHECKPOINTS_OFF)
		return false;
	all->restores = true;
	wake_next(all);
	return true;
}

void checkpoints_reaped(struct checkpoints *all, pid_t pid)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->pid == pid) {
			c->pid = 0;
			on_failed(c);
			return;
		}
}

bool checkpoints_have(const struct checkpoints *all, pid_t pid)
{
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->pid == pid)
			return true;
	return false;
}

/* ---- requests */

const char *checkpoints_why_not(const struct checkpoints *all)
{
	if (all->mode == CHECKPOINTS_OFF)
		return "The operator has turned checkpoints off.";
	if (all->mode == CHECKPOINTS_GVISOR)
		return "The session runs in gVisor, where an interpreter cannot be copied.";
	return all->kernel->forks ? NULL :
				    "Only Python and R interpreters can be copied: Node.js and Jupyter kernels need "
				    "threads, which a copy would not have.";
}

static void save(struct checkpoints *all, uint32_t call, const char *name)
{
	if (!name || !checkpoint_name_valid(name)) {
		refuse(all, call, "invalid", CHECKPOINT_NAME_RULE);
		return;
	}
	if (count(all, false) >= CHECKPOINTS_MAX && !find(all, name)) {
		refuse(all, call, "full", "A session has at most 8 named checkpoints: drop one first.");
		return;
	}
	all->call = call;
	if (all->kernel->fork_id) /* an automatic one is being made */
		all->wanted = xstrdup(name);
	else
		save_now(all, name);
}

static struct checkpoint *find_target(const struct checkpoints *all, const char *name, json_int_t run)
{
	if (name)
		return find(all, name);
	struct checkpoint *found = NULL;
	list_for_each(c, &all->list, struct checkpoint, node)
		if (c->state == CHECKPOINT_KEPT && history_last(&c->history) == run)
			found = c;
	return found;
}

static void undo(struct checkpoints *all, uint32_t call, struct checkpoint *c)
{
	all->call = call;
	all->restores = true;
	all->waking = c;
	kernel_hold(all->kernel);
	checkpoint_wake(c);
}

static void on_retry(struct timeout *t)
{
	struct checkpoints *all = container_of(t, struct checkpoints, retry);
	json_auto_t *request = take_ptr(all->later);
	checkpoints_request(all, all->later_call, request);
}

/* Handles it once the copy that is being made is there, or is given up. */
static void put_off(struct checkpoints *all, uint32_t call, const json_t *request)
{
	all->later = json_deep_copy(request);
	all->later_call = call;
	timeout_start(all->poller, &all->retry, RETRY_MS, on_retry);
}

void checkpoints_request(struct checkpoints *all, uint32_t call, const json_t *request)
{
	const char *action = json_string_value(json_object_get(request, "action"));
	const char *name = json_string_value(json_object_get(request, "name"));
	const json_t *number = json_object_get(request, "run");
	json_int_t run = json_is_integer(number) ? json_integer_value(number) : -1;
	bool saves = action && streq(action, "save"), undoes = action && streq(action, "undo");
	struct checkpoint *c = saves ? NULL : find_target(all, name, run);
	const char *cannot = checkpoints_why_not(all);
	if (!action || !(saves || undoes || streq(action, "drop")))
		refuse(all, call, "invalid", "The action is not known.");
	else if (cannot)
		refuse(all, call, "cannot", cannot);
	else if ((saves || undoes) && (all->call || all->restores || !kernel_idle(all->kernel) || !all->is_quiet(all)))
		refuse(all, call, "busy", "The interpreter is busy.");
	else if (saves)
		save(all, call, name);
	else if (!all->later && (all->kernel->fork_id || is_coming(all, name, run)))
		put_off(all, call, request);
	else if (!c)
		refuse(all, call, "none", "There is no such checkpoint.");
	else if (undoes)
		undo(all, call, c);
	else {
		all->expired |= all->covered;
		all->covered = false;
		discard(all, c);
		answer(all, call, json_pack("{s:s}", "status", "ok"));
	}
}

void checkpoints_add_info(struct checkpoints *all, json_t *info)
{
	const char *cannot = checkpoints_why_not(all);
	cannot = cannot ? cannot : all->cannot;
	list_for_each(c, &all->list, struct checkpoint, node)
		checkpoint_measure(c);
	checkpoints_add_list(all, info);
	if (cannot)
		json_object_set_new(info, "no_checkpoints", json_string(cannot));
}

void checkpoints_init(struct checkpoints *all)
{
	list_init(&all->list);
	list_init(&all->gone);
	all->cost_us = COST_US;
	all->covered = true;
}
