/* Pods that try what they can reach. */
#include "base/alloc.h"
#include "manager/engine/kubernetes/kubernetes.h"
#include "manager/model/token.h"

#define DEADLINE_MS 60000
/* Exit codes of the script. A target counts as reached even if it refuses: its answer came back. */
#define REACHED 10
#define NOT_RUN 9
/* Targets of a session without a network: the API server, the kubelet of its node, and public servers. One with a
 * network must not reach the first two, which are private. */
#define SCRIPT                                                                                                         \
	"reach() { words=$(timeout 2 bash -c 'exec 3<>\"/dev/tcp/$1/$2\"' - \"$1\" \"$2\" 2>&1);"                      \
	" case $?:$words in 0:*|*refused*) exit $3;; esac; };"                                                         \
	" command -v timeout >/dev/null || exit 9;"                                                                    \
	" reach \"${KUBERNETES_SERVICE_HOST:-127.0.0.2}\" \"${KUBERNETES_SERVICE_PORT:-443}\" 10 &"                    \
	" a=$!; reach \"$NODE\" 10250 11 & b=$!; %s wait $a; r=$?; [ $r = 0 ] || exit $r;"                             \
	" wait $b; r=$?; [ $r = 0 ] || exit $r; %s exit 0"
#define PUBLIC_START "reach 1.1.1.1 443 12 & c=$!; reach 8.8.8.8 53 13 & d=$!;"
#define PUBLIC_WAIT "wait $c; r=$?; [ $r = 0 ] || exit $r; wait $d; r=$?; [ $r = 0 ] || exit $r;"

/* The trial of one kind of network. */
struct attempt {
	struct reach *reach;
	bool network;
	enum reach_verdict verdict;
	struct fail failure;
	struct list waits;
	char pod[CONTAINER_NAME_SIZE];
	struct api_call *call;
	struct feed_listener listener;
	struct timer *deadline, *tell;
	bool running;
};

struct reach {
	struct kubernetes *k;
	struct attempt off, on;
};

static void on_tell(void *ctx)
{
	struct attempt *a = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_copy(&f, &a->failure);
	while (!list_empty(&a->waits)) {
		struct reach_wait *w = list_entry(a->waits.next, struct reach_wait, node);
		list_remove(&w->node);
		w->fn(w->ctx, a->verdict, f.kind ? &f : NULL);
	}
}

static void end(struct attempt *a, enum reach_verdict verdict)
{
	struct kubernetes *k = a->reach->k;
	a->verdict = verdict;
	a->running = false;
	a->call = api_call_free(a->call);
	feed_ignore(&a->listener);
	timer_stop(a->deadline);
	if (*a->pod)
		(void)kube_pods_remove(&k->engine, &(struct container_ref){ .name = a->pod }, /* done= */ NULL, NULL);
	*a->pod = '\0';
	timer_start(a->tell, 0, 0);
}

static const char *const targets[] = { "the API server", "the kubelet of its node", "1.1.1.1:443", "8.8.8.8:53" };

static void judge(struct attempt *a, int exit_code)
{
	const char *namespace = a->reach->k->namespace;
	size_t at = (size_t)(exit_code - REACHED);
	fail_release(&a->failure);
	if (exit_code == 0) {
		end(a, REACH_NOTHING);
		return;
	}
	if (exit_code < REACHED || at >= ARRAY_LEN(targets)) {
		cause_set(&a->failure, FAIL_ENGINE, CAUSE_NOT_SUPPORTED,
			  "the trial of the network in a pod ended with status %d%s", exit_code,
			  exit_code == NOT_RUN ? ": the image has no `timeout`" : "");
		end(a, REACH_UNKNOWN);
		return;
	}
	if (a->network)
		cause_set(&a->failure, FAIL_ENGINE, CAUSE_NO_FENCE,
			  "the cluster does not enforce the NetworkPolicy of sessions: a pod reached %s", targets[at]);
	else
		cause_set(&a->failure, FAIL_ENGINE, CAUSE_NOT_SUPPORTED,
			  "a session without a network is refused: the cluster does not enforce the NetworkPolicy, and "
			  "a pod with the network off reached %s",
			  targets[at]);
	fail_hint(&a->failure,
		  "use a network plugin that enforces policies; `kubectl get networkpolicies -n %s` lists them",
		  namespace);
	end(a, REACH_SOMETHING);
}

static void on_pod(void *ctx, const struct pod *pod, bool deleted)
{
	struct attempt *a = ctx;
	if (!a->running || !streq(pod->name, a->pod))
		return;
	if (pod->ended && !pod->disrupted) {
		judge(a, pod->exit_code);
	} else if (deleted || pod_is_over(pod) || pod->stuck) {
		fail_release(&a->failure);
		if (pod->stuck)
			(void)pod_trouble(pod, a->reach->k->namespace, &a->failure);
		else
			(void)pod_death(pod, &a->failure);
		end(a, REACH_UNKNOWN);
	}
}

/* Without the right to watch, the pod's end is never seen. Other troubles pass. */
static void on_trouble(void *ctx, const struct fail *f)
{
	struct attempt *a = ctx;
	if (!a->running || cause_of(f) != CAUSE_ENGINE_REFUSED)
		return;
	fail_release(&a->failure);
	fail_copy(&a->failure, f);
	end(a, REACH_UNKNOWN);
}

static void on_posted(void *ctx, int status UNUSED, const json_t *answer UNUSED, const struct fail *f)
{
	struct attempt *a = ctx;
	a->call = api_call_free(a->call);
	if (!f)
		return;
	fail_copy(&a->failure, f);
	end(a, REACH_UNKNOWN);
}

static void on_deadline(void *ctx)
{
	struct attempt *a = ctx;
	const struct pod *pod = feed_find(a->reach->k->feed, a->pod);
	struct pod unseen = { .phase = POD_UNKNOWN };
	snprintf(unseen.name, sizeof(unseen.name), "%s", a->pod);
	(void)pod_trouble(pod ? pod : &unseen, a->reach->k->namespace, &a->failure);
	fail_wrap(&a->failure, "the network cannot be tried");
	end(a, REACH_UNKNOWN);
}

static void start(struct attempt *a, const struct container_spec *spec)
{
	struct kubernetes *k = a->reach->k;
	struct container_spec trial = *spec;
	AUTO(freep) char *image = kubernetes_image(k, spec->image);
	AUTO(freep) char *target = kubernetes_target(k, NULL);
	AUTO(freep) char *script = xasprintf(SCRIPT, a->network ? "" : PUBLIC_START, a->network ? "" : PUBLIC_WAIT);
	token_make_container(a->pod);
	trial.name = trial.mark = a->pod;
	json_auto_t *body = pod_make_trial(&trial, image, script);
	fail_release(&a->failure);
	a->running = true;
	feed_listen(kubernetes_feed(k), &a->listener);
	timer_start(a->deadline, DEADLINE_MS, 0);
	a->call = api_call_new(&(struct api_call_spec){
		.loop = k->loop,
		.proxy = k->proxy,
		.method = "POST",
		.target = target,
		.body = body,
		.place = { "start a pod that tries the network", "create", "pods", k->namespace },
		.deadline_ms = DEADLINE_MS,
		.done = on_posted,
		.ctx = a });
}

void reach_get(struct reach *t, const struct container_spec *spec, struct reach_wait *wait)
{
	struct attempt *a = spec->network ? &t->on : &t->off;
	list_append(&a->waits, &wait->node);
	if (a->verdict != REACH_UNKNOWN)
		timer_start(a->tell, 0, 0);
	else if (!a->running && !timer_active(a->tell))
		start(a, spec);
}

void reach_forget(struct reach_wait *wait)
{
	list_remove(&wait->node);
}

enum reach_verdict reach_known(const struct reach *t, bool network)
{
	return network ? t->on.verdict : t->off.verdict;
}

static void init(struct attempt *a, struct reach *t, bool network)
{
	*a = (struct attempt){ .reach = t, .network = network };
	list_init(&a->waits);
	list_init(&a->listener.node);
	a->listener.on_pod = on_pod;
	a->listener.on_trouble = on_trouble;
	a->listener.ctx = a;
	a->deadline = timer_new(t->k->loop, on_deadline, a);
	a->tell = timer_new(t->k->loop, on_tell, a);
}

static void release(struct attempt *a)
{
	struct kubernetes *k = a->reach->k;
	if (*a->pod)
		(void)kube_pods_remove(&k->engine, &(struct container_ref){ .name = a->pod }, /* done= */ NULL, NULL);
	api_call_free(a->call);
	feed_ignore(&a->listener);
	timer_free(a->deadline);
	timer_free(a->tell);
	fail_release(&a->failure);
}

struct reach *reach_new(struct kubernetes *k)
{
	struct reach *t = new0(struct reach);
	t->k = k;
	init(&t->off, t, /* network= */ false);
	init(&t->on, t, /* network= */ true);
	return t;
}

struct reach *reach_free(struct reach *t)
{
	if (!t)
		return NULL;
	release(&t->off);
	release(&t->on);
	free(t);
	return NULL;
}
