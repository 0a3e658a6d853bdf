#include "kernels/cells/branches.h"

#include <errno.h>

#include "base/alloc.h"
#include "kernels/cells/checkpoint-story.h"
#include "kernels/checkpoint-name.h"
#include "kernels/system/clock.h"

/* A request waits this long for copies that are being made, and looks this often. */
#define LATER_MS 7000
#define RETRY_MS 2

#define IS_BRANCH "'%s' is a branch: \"keep\" makes it the main interpreter."

static struct kernel *find(const struct branches *all, const char *name)
{
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (name && k->branch && streq(k->branch->name, name))
			return k;
	return NULL;
}

static size_t count(const struct branches *all)
{
	return list_length(&all->kernels->list) - 1;
}

/* No copy has taken its place yet. */
static bool is_coming(const struct kernel *k)
{
	return k->branch->waits || k->branch->copy;
}

static bool is_quiet(const struct branches *all, const struct kernel *k)
{
	return !runs_next(all->runs, RUN_EXECUTE, k->number);
}

/* ---- how branches ended */

static struct ended *find_ended(struct branches *all, const char *name)
{
	for (size_t i = 0; i < BRANCHES_MAX; i++)
		if (all->ended[i].name && streq(all->ended[i].name, name))
			return &all->ended[i];
	return NULL;
}

static void forget_ended(struct ended *e)
{
	free(take_ptr(e->name));
	free(take_ptr(e->how));
}

static void note_ended(struct branches *all, const char *name, const char *how)
{
	struct ended *e = find_ended(all, name);
	e = e ? e : &all->ended[all->n_ended++ % BRANCHES_MAX];
	forget_ended(e);
	*e = (struct ended){ xstrdup(name), xstrdup(how) };
}

/* ---- answers */

static json_t *describe(const struct kernel *k)
{
	const struct branch *b = k->branch;
	json_t *own = json_array();
	for (size_t i = b->shared; i < k->history.n; i++)
		json_array_append_new(own, json_integer(k->history.runs[i]));
	json_t *o = json_pack("{s:s, s:s, s:I, s:o, s:I, s:I}", "name", b->name, "state",
			      is_coming(k) ? "starting" :
			      k->cell.run  ? "busy" :
					     "ready",
			      "run", (json_int_t)history_last(&k->history), "runs", own, "age_ms",
			      (json_int_t)(clock_now_ms() - b->made_ms), "bytes", (json_int_t)b->bytes);
	if (json_array_size(b->lacks))
		json_object_set(o, "lost", b->lacks);
	return o;
}

void branches_add(struct branches *all, json_t *to, bool measure)
{
	json_t *list = json_array();
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch) {
			if (measure)
				k->branch->bytes = checkpoint_private_bytes(k->pid);
			json_array_append_new(list, describe(k));
		}
	json_object_set_new(to, "branches", list);
}

/* Takes `said`. */
static void answer(struct branches *all, uint32_t call, json_t *said)
{
	checkpoints_add_list(&all->kernels->checkpoints, said);
	all->on_answer(all, call, said);
	json_decref(said);
}

static void refuse(struct branches *all, uint32_t call, const char *status, const char *why)
{
	answer(all, call, json_pack("{s:s, s:s}", "status", status, "why", why));
}

/* ---- ends */

static void on_sweep(struct timeout *t)
{
	struct branches *all = container_of(t, struct branches, sweep);
	list_for_each(c, &all->copies, struct checkpoint, node)
		checkpoint_free(c);
}

static void discard_copy(struct branches *all, struct kernel *k)
{
	struct checkpoint *c = k->branch ? take_ptr(k->branch->copy) : NULL;
	if (!c)
		return;
	list_append(&all->copies, &c->node);
	timeout_start(all->kernels->setup.poller, &all->sweep, 1, on_sweep);
}

/* Its queued cells end with this detail. */
static void leave(struct branches *all, struct kernel *k, const char *ending, const char *detail)
{
	discard_copy(all, k);
	list_for_each(run, &all->runs->list, struct run, node)
		if (run->kind == RUN_EXECUTE && run->state == RUN_QUEUED && run->kernel == k->number)
			run_end(run, &(struct run_ending){ .ending = ending,
							   .detail = detail,
							   .cause = streq(ending, "refused") ? "no_branch" : NULL });
	kernels_remove(all->kernels, k);
}

static void drop(struct branches *all, struct kernel *k, const char *detail)
{
	kernel_end(k, detail);
	leave(all, k, "interrupted", detail);
}

/* Requests for several branches make all of them or none. */
static void fail_request(struct branches *all, const char *status, const char *why)
{
	uint32_t call = all->call;
	all->call = 0;
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch && k->branch->asked)
			drop(all, k, "The branch was not made.");
	if (call)
		refuse(all, call, status, why);
}

static void fail_new(struct branches *all, struct kernel *k, const char *status, const char *why)
{
	bool asked = k->branch->asked;
	AUTO(freep) char *detail = xasprintf("The branch '%s' could not be made. %s", k->branch->name, why);
	kernel_end(k, detail);
	leave(all, k, "refused", detail);
	if (asked)
		fail_request(all, status, detail);
}

void branches_died(struct branches *all, struct kernel *k, const char *how)
{
	AUTO(freep) char *detail =
		xasprintf("The branch '%s' ended before this run: its interpreter %s.", k->branch->name, how);
	note_ended(all, k->branch->name, how);
	leave(all, k, "refused", detail);
}

/* ---- making one */

static struct branches *of(const struct kernel *k)
{
	return k->setup->branches;
}

static void on_ready(struct checkpoint *c)
{
	checkpoint_wake(c);
}

static void on_failed(struct checkpoint *c)
{
	fail_new(of(c->owner), c->owner, "failed", "The copy of the interpreter did not start.");
}

/* The first cell says from where its variables come. */
static void set_past(struct branches *all, struct kernel *k)
{
	AUTO(freep) char *from = k->history.n ?
					 xasprintf("the main interpreter after run %u", history_last(&k->history)) :
					 xstrdup("the main interpreter before its first run");
	struct ended *e = find_ended(all, k->branch->name);
	if (e)
		k->past.note =
			xasprintf("The branch '%s' had ended, since its interpreter %s. A new one was made from %s.",
				  k->branch->name, e->how, from);
	else if (!k->branch->asked)
		k->past.news = xasprintf("The branch '%s' was made from %s.", k->branch->name, from);
	if (e)
		forget_ended(e);
}

static void answer_made(struct branches *all)
{
	uint32_t call = all->call;
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch && k->branch->asked && is_coming(k))
			return;
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch)
			k->branch->asked = false;
	all->call = 0;
	if (call)
		answer(all, call, json_pack("{s:s}", "status", "ok"));
}

static void on_woken(struct checkpoint *c)
{
	struct kernel *k = c->owner;
	struct branches *all = of(k);
	struct kernel_process p = checkpoint_give(c);
	k->history = c->history;
	k->branch->shared = k->history.n;
	k->branch->lacks = take_ptr(c->lost);
	discard_copy(all, k);
	set_past(all, k);
	kernel_begin(k, &p, all->kernels->main);
	if (all->call)
		answer_made(all);
}

static int request_copy(struct branches *all, struct kernel *k)
{
	struct kernel *main = all->kernels->main;
	struct checkpoint *c;
	int r = limits_pids_full(main->setup->limits) ? -EAGAIN : checkpoint_take(&c, main, k->pipes);
	k->branch->waits = false;
	if (r < 0)
		return r;
	c->owner = k;
	c->history = main->history;
	c->on_ready = on_ready;
	c->on_woken = on_woken;
	c->on_failed = on_failed;
	k->branch->copy = c;
	all->fork_open = true;
	return 0;
}

bool branches_hold(struct branches *all, const struct run *next)
{
	struct kernel *main = all->kernels->main;
	list_for_each(k, &all->kernels->list, struct kernel, node) {
		if (!k->branch || !k->branch->waits || (next && k->branch->after >= next->number))
			continue;
		const char *cannot = checkpoints_why_not(&all->kernels->checkpoints);
		if (!cannot && main->fork_id)
			return true;
		int r = cannot ? 0 : request_copy(all, k);
		if (!cannot && r == 0)
			continue;
		fail_new(all, k, cannot ? "cannot" : "failed",
			 cannot	      ? cannot :
			 r == -EAGAIN ? "The process limit is reached." :
					"The interpreter could not be copied now.");
		return branches_hold(all, next); /* the list has changed */
	}
	return false;
}

static struct kernel *add(struct branches *all, const char *name, uint32_t after)
{
	struct kernel *k = kernels_add(all->kernels);
	if (!k)
		return NULL;
	k->branch = new0(struct branch);
	*k->branch = (struct branch){ .name = xstrdup(name), .after = after, .waits = true, .made_ms = clock_now_ms() };
	k->state = KERNEL_WAKING;
	return k;
}

/* NULL, or why there cannot be another branch of this name. */
static char *why_not(const struct branches *all, const char *name)
{
	const struct checkpoints *checkpoints = &all->kernels->checkpoints;
	if (!checkpoint_name_valid(name))
		return xstrdup(CHECKPOINT_NAME_RULE);
	if (checkpoints_name(checkpoints, name))
		return xasprintf("'%s' is the name of a checkpoint: choose another one.", name);
	if (find(all, name))
		return xasprintf("There is a branch '%s' already: drop it first.", name);
	if (count(all) >= BRANCHES_MAX)
		return xasprintf("A session has at most %d branches: keep or drop one first.", BRANCHES_MAX);
	return NULL;
}

static void refuse_run(struct run *run, const char *why)
{
	AUTO(freep) char *detail = xasprintf("The branch '%s' could not be made. %s", run->branch, why);
	run_end(run, &(struct run_ending){ .ending = "refused", .detail = detail, .cause = "no_branch" });
}

void branches_take(struct branches *all, struct run *run)
{
	struct kernel *k = run->branch ? find(all, run->branch) : all->kernels->main;
	AUTO(freep) char *why = k ? NULL : why_not(all, run->branch);
	if (!k && !why)
		k = add(all, run->branch, run->number);
	if (k)
		run->kernel = k->number;
	else
		refuse_run(run, why ? why : "Too many files are open.");
}

bool branches_forked(struct branches *all, const char *cannot)
{
	if (!all->fork_open)
		return false;
	all->fork_open = false;
	list_for_each(k, &all->kernels->list, struct kernel, node) {
		struct checkpoint *c = k->branch ? k->branch->copy : NULL;
		if (!c || c->state != CHECKPOINT_COMING || (cannot && c->pid))
			continue;
		if (cannot)
			fail_new(all, k, "cannot", cannot);
		else
			checkpoint_forked(c);
		break;
	}
	checkpoints_fork_over(&all->kernels->checkpoints);
	return true;
}

void branches_main_changed(struct branches *all)
{
	if (!all->fork_open)
		return;
	all->fork_open = false;
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch && k->branch->copy && !k->branch->copy->pid) {
			fail_new(all, k, "failed", "The interpreter ended.");
			return;
		}
}

/* ---- requests */

static void make_all(struct branches *all, uint32_t call, const json_t *names)
{
	struct kernel *main = all->kernels->main;
	size_t i, n = json_array_size(names);
	json_t *name;
	const char *cannot = checkpoints_why_not(&all->kernels->checkpoints);
	AUTO(freep) char *why = NULL;
	if (cannot) {
		refuse(all, call, "cannot", cannot);
		return;
	}
	if (all->call || !kernel_idle(main) || !is_quiet(all, main)) {
		refuse(all, call, "busy", "The interpreter is busy.");
		return;
	}
	all->call = call;
	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		why = why_not(all, text ? text : "");
		struct kernel *k = why ? NULL : add(all, text, 0);
		if (!k) {
			fail_request(all, why ? "invalid" : "failed", why ? why : "Too many files are open.");
			return;
		}
		k->branch->asked = true;
	}
	if (n)
		all->on_change(all);
	else
		fail_request(all, "invalid", "A branch needs a name.");
}

static void keep(struct branches *all, uint32_t call, struct kernel *k)
{
	struct kernel *former = all->kernels->main;
	AUTO(freep) char *note = NULL;
	all->later_call = 0;
	json_t *dropped = json_array();
	json_t *restored = branch_compare(k->branch->name, &k->history, &former->history, k->branch->lacks, &note);
	AUTO(freep) char *detail =
		xasprintf("The branch '%s' was kept, and this interpreter was dropped.", k->branch->name);
	list_for_each(other, &all->kernels->list, struct kernel, node)
		if (other != k && other != former) {
			json_array_append_new(dropped, json_string(other->branch->name));
			drop(all, other, detail);
		}
	all->kernels->main = k;
	kernel_lead(k);
	drop(all, former, detail);
	checkpoints_follow(&all->kernels->checkpoints, k);
	answer(all, call,
	       json_pack("{s:s, s:o, s:s, s:o}", "status", "ok", "restored", restored, "note", note, "dropped",
			 dropped));
}

static void on_retry(struct timeout *t)
{
	struct branches *all = container_of(t, struct branches, retry);
	json_auto_t *request = take_ptr(all->later);
	(void)branches_request(all, all->later_call, request);
}

/* Handles it once no copy is being made. */
static void put_off(struct branches *all, uint32_t call, const json_t *request)
{
	if (all->later_call != call)
		all->later_until_ms = clock_now_ms() + LATER_MS;
	all->later = json_deep_copy(request);
	all->later_call = call;
	timeout_start(all->kernels->setup.poller, &all->retry, RETRY_MS, on_retry);
}

static bool is_settled(const struct branches *all)
{
	list_for_each(k, &all->kernels->list, struct kernel, node)
		if (k->branch && is_coming(k))
			return false;
	return checkpoints_settled(&all->kernels->checkpoints);
}

static void request_keep(struct branches *all, uint32_t call, const json_t *request, const char *name)
{
	struct kernel *k = find(all, name), *main = all->kernels->main;
	struct ended *e = name && !k ? find_ended(all, name) : NULL;
	AUTO(freep) char *why = e ? xasprintf("The branch '%s' has ended: its interpreter %s.", name, e->how) :
				k ? xasprintf("The branch '%s' is busy.", name) :
				    xstrdup(checkpoints_name(&all->kernels->checkpoints, name ? name : "") ?
						    "This is a checkpoint: \"undo\" returns to it." :
						    "There is no such branch.");
	bool again = all->later_call != call || clock_now_ms() < all->later_until_ms;
	if (!k)
		refuse(all, call, "none", why);
	else if (!is_quiet(all, k) || k->cell.run)
		refuse(all, call, "busy", why);
	else if (!is_quiet(all, main) || main->cell.run)
		refuse(all, call, "busy", "The main interpreter is busy.");
	else if (again && (!is_settled(all) || !kernel_idle(k) || !kernel_idle(main)))
		put_off(all, call, request);
	else if (!kernel_idle(k) || !kernel_idle(main))
		refuse(all, call, "busy", "The interpreter is busy.");
	else
		keep(all, call, k);
}

static void request_drop(struct branches *all, uint32_t call, struct kernel *k)
{
	AUTO(freep) char *detail = xasprintf("The branch '%s' was dropped.", k->branch->name);
	drop(all, k, detail);
	answer(all, call, json_pack("{s:s}", "status", "ok"));
	all->on_change(all);
}

bool branches_request(struct branches *all, uint32_t call, const json_t *request)
{
	const char *action = json_string_value(json_object_get(request, "action"));
	const char *name = json_string_value(json_object_get(request, "name"));
	struct kernel *k = find(all, name);
	if (!action)
		return false;
	if (streq(action, "branch")) {
		make_all(all, call, json_object_get(request, "names"));
	} else if (streq(action, "keep")) {
		request_keep(all, call, request, name);
	} else if (k && streq(action, "drop")) {
		request_drop(all, call, k);
	} else if (k) {
		AUTO(freep) char *why = xasprintf(IS_BRANCH, name);
		refuse(all, call, "invalid", why);
	} else {
		return false;
	}
	return true;
}

void branches_init(struct branches *all)
{
	list_init(&all->copies);
}
