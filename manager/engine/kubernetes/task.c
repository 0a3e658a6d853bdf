/* Pods: creating and removing them.
 *
 * A create posts the pod and follows it in the feed. As soon as the pod has a node, it tries to open the stream to PID
 * 1: that is faster than waiting for the pod's status. Only one attempt at a time is under way for a pod, because
 * abandoned ones can wedge a node's container runtime. The open stream is kept for the attach that follows. */
#include "base/alloc.h"
#include "base/child.h"
#include "base/log.h"
#include "manager/engine/kubernetes/kubernetes.h"

#define QUICK_DEADLINE_MS 15000
#define REMOVE_DEADLINE_MS 30000
/* Shorter than a session's own deadline, so that the reason is reported. */
#define START_DEADLINE_MS 75000
/* An autoscaler needs minutes, so a call does not wait for one. */
#define NO_ROOM_MS 20000
#define TRY_MS 50
#define RETRY_MS 1000
/* After this number of attempts the node is probably pulling the image. */
#define TRIES_FAST 60
#define TRY_SLOWLY_MS 250
#define GRACE_SECONDS 1

struct engine_task {
	struct list node;
	struct kubernetes *k;
	char *pod; /* its name */
	char *image;
	char *store, *mark;	    /* of a removal: labels that it must have; store NULL = nothing is compared */
	char uid[65];		    /* "" = not known yet */
	json_t *body;		    /* of a create */
	struct container_spec spec; /* of a create: its strings are not valid */
	engine_done_fn done;
	engine_created_fn created;
	void *ctx;
	bool is_create, cancelled, ended, only_ended, forgotten;
	bool left;	/* the pod may exist */
	bool confirmed; /* the pod is known to be gone */
	struct api_call *call;
	struct feed_listener listener;
	struct reach_wait reach;
	struct exec *exec;
	unsigned tries;
	struct timer *deadline, *retry, *no_room;
	struct pod last; /* as reported; name "" = not reported yet */
	struct fail failure;
};

static void remove_pod(struct engine_task *t);

static struct status_place place_of(const struct engine_task *t, const char *doing, const char *verb)
{
	return (struct status_place){ doing, verb, "pods", t->k->namespace };
}

static void task_free(struct engine_task *t)
{
	list_remove(&t->node);
	api_call_free(t->call);
	feed_ignore(&t->listener);
	reach_forget(&t->reach);
	exec_free(t->exec);
	timer_free(t->deadline);
	timer_free(t->retry);
	timer_free(t->no_room);
	fail_release(&t->failure);
	json_decref(t->body);
	free(t->pod);
	free(t->image);
	free(t->store);
	free(t->mark);
	free(t);
}

static void finish(struct engine_task *t)
{
	const struct fail *f = t->failure.kind ? &t->failure : NULL;
	struct engine_created created = { .id = t->uid };
	if (t->created && !t->cancelled)
		t->created(t->ctx, f ? NULL : &created, f);
	else if (t->done && !t->cancelled)
		t->done(t->ctx, f);
	task_free(t);
}

static void on_deadline(void *ctx);
static void on_pod(void *ctx, const struct pod *pod, bool deleted);

static struct engine_task *task_new(struct kubernetes *k, const char *pod, engine_done_fn done, void *ctx)
{
	struct engine_task *t = new0(struct engine_task);
	t->k = k;
	t->pod = xstrdup(pod);
	t->done = done;
	t->ctx = ctx;
	list_init(&t->reach.node);
	list_init(&t->listener.node);
	t->listener.on_pod = on_pod;
	t->listener.ctx = t;
	t->deadline = timer_new(k->loop, on_deadline, t);
	list_append(&k->tasks, &t->node);
	return t;
}

/* --- removal ------------------------------------------------------------------------------------------------------- */

/* Failures of an API server that is restarted or overloaded, and of the connection to it. */
static bool may_pass(int status)
{
	return status == 0 || status == 429 || status >= 500;
}

/* A create has reported its own failure. */
static void removal_failed(struct engine_task *t, const struct fail *f)
{
	log_debug("kubernetes: the pod '%s' was not removed: %s", t->pod, f->message);
	if (!t->is_create)
		fail_copy(&t->failure, f);
	else
		log_warning("kubernetes: %s", f->message);
	finish(t);
}

static void on_gone_check(void *ctx, int status, const json_t *answer, const struct fail *f);

/* The feed may not have the pod, for example while the API server was down: the server is asked. */
static void check_gone(void *ctx)
{
	struct engine_task *t = ctx;
	AUTO(freep) char *target = kubernetes_target(t->k, t->pod);
	api_call_free(t->call);
	t->call = api_call_new(&(struct api_call_spec){ .loop = t->k->loop,
							.proxy = t->k->proxy,
							.method = "GET",
							.target = target,
							.place = place_of(t, "remove the pod", "get"),
							.deadline_ms = QUICK_DEADLINE_MS,
							.done = on_gone_check,
							.ctx = t });
}

static void on_gone_check(void *ctx, int status, const json_t *answer, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct pod pod;
	t->call = api_call_free(t->call);
	bool other = !f && pod_read(answer, &pod) && *t->uid && !streq(pod.uid, t->uid);
	if (!f && !other)
		t->last = pod;
	if (status == 404 || other || (!f && pod.ended))
		finish(t);
	else
		timer_start(t->retry, RETRY_MS, 0);
}

/* 404 and 409: it is gone, or another pod has its name. */
static void on_deleted(void *ctx, int status, const json_t *answer, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct pod pod;
	t->call = api_call_free(t->call);
	if (status == 404 || status == 409) {
		finish(t);
	} else if (f && may_pass(status)) {
		timer_start(t->retry, RETRY_MS, 0);
	} else if (f) {
		removal_failed(t, f);
	} else if (pod_read(answer, &pod) && pod.ended) {
		finish(t);
	} else {
		/* The feed reports its end; this is for the case that the feed is down. */
		t->confirmed = true;
		timer_start(t->retry, 5000, 0);
	}
}

static void send_delete(struct engine_task *t)
{
	AUTO(freep) char *target = kubernetes_target(t->k, t->pod);
	json_auto_t *body = json_pack("{s:s, s:s, s:i}", "kind", "DeleteOptions", "apiVersion", "v1",
				      "gracePeriodSeconds", GRACE_SECONDS);
	if (*t->uid)
		json_object_set_new(body, "preconditions", json_pack("{s:s}", "uid", t->uid));
	api_call_free(t->call);
	t->call = api_call_new(&(struct api_call_spec){ .loop = t->k->loop,
							.proxy = t->k->proxy,
							.method = "DELETE",
							.target = target,
							.body = body,
							.place = place_of(t, "remove the pod", "delete"),
							.deadline_ms = QUICK_DEADLINE_MS,
							.done = on_deleted,
							.ctx = t });
}

static void on_removal_retry(void *ctx)
{
	struct engine_task *t = ctx;
	if (t->confirmed)
		check_gone(t);
	else
		send_delete(t);
}

static void remove_pod(struct engine_task *t)
{
	t->ended = true;
	t->exec = exec_free(t->exec);
	reach_forget(&t->reach);
	timer_free(t->retry);
	timer_free(t->no_room);
	t->no_room = NULL;
	t->retry = timer_new(t->k->loop, on_removal_retry, t);
	timer_start(t->deadline, REMOVE_DEADLINE_MS, 0);
	send_delete(t);
}

/* --- the labels of a pod that is to be removed ----------------------------------------------------------------------- */

static void on_meant(struct engine_task *t, const struct pod *pod)
{
	struct engine_state found = { .is_there = true };
	struct container_ref ref = { .name = t->pod, .store = t->store, .mark = t->mark };
	AUTO(fail_release) struct fail f = { 0 };
	snprintf(found.store, sizeof(found.store), "%s", pod->store);
	snprintf(found.mark, sizeof(found.mark), "%s", pod->mark);
	snprintf(t->uid, sizeof(t->uid), "%s", pod->uid);
	t->last = *pod;
	if (!engine_is_meant(&found, &ref)) {
		(void)engine_not_meant(&f, t->pod);
		removal_failed(t, &f);
	} else if (t->only_ended && !pod->ended && *pod->node) {
		cause_set(&f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the pod '%s' still runs", t->pod);
		removal_failed(t, &f);
	} else {
		remove_pod(t);
	}
}

static void on_read(void *ctx, int status, const json_t *answer, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct pod pod;
	AUTO(fail_release) struct fail none = { 0 };
	t->call = api_call_free(t->call);
	if (status == 404) {
		finish(t);
	} else if (f && may_pass(status)) {
		timer_start(t->retry, RETRY_MS, 0);
	} else if (f) {
		removal_failed(t, f);
	} else if (!pod_read(answer, &pod)) {
		cause_set(&none, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the API server's answer is not a pod");
		removal_failed(t, &none);
	} else {
		on_meant(t, &pod);
	}
}

static void read_pod(void *ctx)
{
	struct engine_task *t = ctx;
	AUTO(freep) char *target = kubernetes_target(t->k, t->pod);
	if (!t->retry) {
		t->retry = timer_new(t->k->loop, read_pod, t);
		timer_start(t->deadline, REMOVE_DEADLINE_MS, 0);
	}
	t->call = api_call_new(&(struct api_call_spec){ .loop = t->k->loop,
							.proxy = t->k->proxy,
							.method = "GET",
							.target = target,
							.place = place_of(t, "remove the pod", "get"),
							.deadline_ms = QUICK_DEADLINE_MS,
							.done = on_read,
							.ctx = t });
}

/* --- creation ------------------------------------------------------------------------------------------------------ */

/* Reports the failure at once. If the pod exists, its removal may take until its node answers. */
static void create_failed(struct engine_task *t, const struct fail *f)
{
	engine_created_fn created = take_ptr(t->created);
	AUTO(fail_release) struct fail why = { 0 };
	bool cancelled = t->cancelled;
	void *ctx = t->ctx;
	fail_copy(&why, f);
	t->cancelled = true;
	if (t->left)
		remove_pod(t);
	else
		task_free(t);
	if (created && !cancelled)
		created(ctx, NULL, &why);
}

static void fail_by_trouble(struct engine_task *t)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct pod pod = t->last;
	if (!*pod.name)
		snprintf(pod.name, sizeof(pod.name), "%.63s", t->pod);
	(void)pod_trouble(&pod, t->k->namespace, &f);
	if (f.kind == FAIL_IMAGE && t->image)
		fail_wrap(&f, "image '%s'", t->image);
	create_failed(t, &f);
}

static void on_deadline(void *ctx)
{
	struct engine_task *t = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (t->is_create && !t->ended) {
		fail_by_trouble(t);
		return;
	}
	cause_set(&f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT,
		  "the pod '%s' was not removed within %d s: its node '%s' does not confirm it", t->pod,
		  REMOVE_DEADLINE_MS / 1000, *t->last.node ? t->last.node : "unknown");
	fail_hint(&f, "`kubectl get pod %s -n %s -o wide` shows it; it is removed when the node answers", t->pod,
		  t->k->namespace);
	removal_failed(t, &f);
}

static void try_exec(void *ctx);

static void on_exec_open(void *ctx)
{
	struct engine_task *t = ctx;
	struct exec *x = take_ptr(t->exec);
	if (t->cancelled) {
		exec_free(x);
		remove_pod(t);
		return;
	}
	kube_streams_keep(t->k, t->pod, x);
	finish(t);
}

static void on_exec_closed(void *ctx, const struct fail *f)
{
	struct engine_task *t = ctx;
	int status = exec_status(t->exec);
	t->exec = exec_free(t->exec);
	if (t->cancelled) {
		remove_pod(t);
		return;
	}
	/* Until the pod runs, other refusals are usual. A missing right or login does not pass by itself. */
	if (cause_of(f) == CAUSE_NO_CLIENT || status == 401 || status == 403) {
		create_failed(t, f);
		return;
	}
	timer_start(t->retry, t->tries < TRIES_FAST ? TRY_MS : TRY_SLOWLY_MS, 0);
}

static void try_exec(void *ctx)
{
	struct engine_task *t = ctx;
	if (t->exec || t->ended)
		return;
	t->tries++;
	t->exec = exec_new(&(struct exec_spec){ .loop = t->k->loop,
						.proxy = t->k->proxy,
						.namespace = t->k->namespace,
						.pod = t->pod,
						.on_open = on_exec_open,
						.handler = { .on_closed = on_exec_closed, .ctx = t } });
}

static void on_no_room(void *ctx)
{
	fail_by_trouble(ctx);
}

/* The state of the pod that is being created. */
static void follow(struct engine_task *t, const struct pod *pod)
{
	AUTO(fail_release) struct fail f = { 0 };
	t->last = *pod;
	if (pod_is_over(pod)) {
		(void)pod_death(pod, &f);
		create_failed(t, &f);
		return;
	}
	if (pod->stuck) {
		fail_by_trouble(t);
		return;
	}
	if (!pod->unschedulable)
		timer_stop(t->no_room);
	else if (!timer_active(t->no_room))
		timer_start(t->no_room, NO_ROOM_MS, 0);
	if (*pod->node && !t->exec && !timer_active(t->retry))
		timer_start(t->retry, t->tries ? TRY_MS : 0, 0);
}

static void on_pod(void *ctx, const struct pod *pod, bool deleted)
{
	struct engine_task *t = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (!streq(pod->name, t->pod) || !*t->uid || !streq(pod->uid, t->uid))
		return;
	if (t->ended) {
		t->last = *pod;
		if (deleted || (t->confirmed && pod->ended))
			finish(t);
		return;
	}
	if (!t->is_create || t->call)
		return;
	if (!deleted) {
		follow(t, pod);
		return;
	}
	cause_set(&f, FAIL_DIED, CAUSE_REMOVED, "the pod was removed while it started");
	t->left = false;
	create_failed(t, &f);
}

static void on_feed_trouble(void *ctx, const struct fail *f)
{
	struct engine_task *t = ctx;
	/* Without the right to watch, nothing would ever be reported. */
	if (t->is_create && !t->ended && !t->call && cause_of(f) == CAUSE_ENGINE_REFUSED)
		create_failed(t, f);
}

/* Without an answer it is unknown whether the pod exists. */
static void on_posted(void *ctx, int status, const json_t *answer, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct pod pod;
	t->call = api_call_free(t->call);
	t->left = (status >= 0 && status < 300) || status >= 500;
	if (f) {
		create_failed(t, f);
		return;
	}
	if (pod_read(answer, &pod))
		snprintf(t->uid, sizeof(t->uid), "%s", pod.uid);
	if (t->cancelled || !*t->uid) {
		remove_pod(t);
		return;
	}
	/* The feed may have been faster than the answer. */
	const struct pod *known = feed_find(t->k->feed, t->pod);
	follow(t, known && streq(known->uid, t->uid) ? known : &pod);
}

static void post(struct engine_task *t)
{
	AUTO(freep) char *target = kubernetes_target(t->k, NULL);
	t->listener.on_trouble = on_feed_trouble;
	feed_listen(t->k->feed, &t->listener);
	t->call = api_call_new(&(struct api_call_spec){ .loop = t->k->loop,
							.proxy = t->k->proxy,
							.method = "POST",
							.target = target,
							.body = t->body,
							.place = place_of(t, "start the pod", "create"),
							.deadline_ms = QUICK_DEADLINE_MS,
							.done = on_posted,
							.ctx = t });
}

static void on_trial(void *ctx, enum reach_verdict verdict, const struct fail *f)
{
	struct engine_task *t = ctx;
	if (t->cancelled) {
		finish(t);
		return;
	}
	if (verdict != REACH_NOTHING)
		create_failed(t, f);
	else
		post(t);
}

struct engine_task *kube_pods_create(struct engine *e, const struct container_spec *spec, engine_created_fn done,
				     void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_task *t = task_new(k, spec->name, /* done= */ NULL, ctx);
	t->created = done;
	t->is_create = true;
	t->image = kubernetes_image(k, spec->image);
	t->body = pod_make(spec, t->image);
	t->retry = timer_new(k->loop, try_exec, t);
	t->no_room = timer_new(k->loop, on_no_room, t);
	timer_start(t->deadline, START_DEADLINE_MS, 0);
	(void)kubernetes_feed(k);
	if (spec->network) {
		post(t);
		return t;
	}
	t->reach.fn = on_trial;
	t->reach.ctx = t;
	reach_get(k->reach, spec, &t->reach);
	return t;
}

/* --- the rest ------------------------------------------------------------------------------------------------------ */

/* A removal by id: the feed knows the pod's name. */
static const char *name_of(struct kubernetes *k, const char *word)
{
	const struct pod *pod = k->feed ? feed_find(k->feed, word) : NULL;
	return pod ? pod->name : word;
}

struct engine_task *kube_pods_remove(struct engine *e, const struct container_ref *ref, engine_done_fn done, void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_task *t = task_new(k, name_of(k, ref->name), done, ctx);
	t->store = ref->store ? xstrdup(ref->store) : NULL;
	t->mark = ref->mark ? xstrdup(ref->mark) : NULL;
	if (k->feed)
		feed_listen(k->feed, &t->listener);
	read_pod(t);
	return t;
}

struct engine_task *kube_pods_remove_ended(struct engine *e, const char *pod, engine_done_fn done, void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_task *t = task_new(k, name_of(k, pod), done, ctx);
	t->only_ended = true;
	read_pod(t);
	return t;
}

static void on_nothing(void *ctx)
{
	finish(ctx);
}

struct engine_task *kube_pods_prune(struct engine *e, uint64_t min_age UNUSED, engine_done_fn done, void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_task *t = task_new(k, "", done, ctx);
	t->retry = timer_new(k->loop, on_nothing, t);
	timer_start(t->retry, 0, 0);
	return t;
}

void kube_pods_cancel(struct engine_task *t)
{
	t->cancelled = true;
	if (!t->is_create || t->ended || t->call)
		return;
	/* A stream that is being opened is not abandoned; its end removes the pod. */
	if (*t->uid && !t->exec)
		remove_pod(t);
}

/* True for a pod that this process made: it need not be compared with a row of the store. */
static bool is_own(const struct engine_task *t)
{
	return *t->pod && !t->forgotten && (t->is_create || t->ended || (!t->store && !t->only_ended));
}

void kube_pods_remove_and_forget(struct engine *e, char *const *containers, size_t n)
{
	struct kubernetes *k = kubernetes_of(e);
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	const char *context = k->context ? k->context : "";
	strv_add_all(&argv, k->helper ? k->helper : "/proc/self/exe", "reap", k->engine.ops->name, k->program, "--",
		     NULL);
	size_t fixed = argv.n;
	for (size_t i = 0; i < n; i++)
		strv_addf(&argv, "%s/%s/%s", context, k->namespace, name_of(k, containers[i]));
	list_for_each(t, &k->tasks, struct engine_task, node) {
		if (is_own(t))
			strv_addf(&argv, "%s/%s/%s", context, k->namespace, t->pod);
		t->forgotten = true;
	}
	if (argv.n > fixed && child_spawn_forgotten(k->loop, strv_argv(&argv), /* env= */ NULL, &f) < 0)
		log_warning("%s", f.message);
}

void kube_pods_release(struct kubernetes *k)
{
	kube_pods_remove_and_forget(&k->engine, NULL, 0);
	list_for_each(t, &k->tasks, struct engine_task, node)
		task_free(t);
}
