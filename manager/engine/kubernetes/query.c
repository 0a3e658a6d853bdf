/* Queries. The client and its place are asked by running kubectl, everything else through its proxy. */
#include "base/alloc.h"
#include "base/child.h"
#include "base/parse.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "manager/engine/kubernetes/kubernetes.h"

#define DEADLINE_MS 10000
#define PAGE 100
#define TRIAL_LEASE_SECONDS 60

struct engine_query {
	struct kubernetes *k;
	enum engine_query_kind kind;
	char *subject;
	struct child *child;
	struct api_call *call;
	struct buf next_page;
	struct engine_answer answer;
	engine_answer_fn done;
	void *ctx;
	struct timer *refusal;
	struct reach_wait reach;
	struct registry_task *image;
};

static const char *doing(enum engine_query_kind kind)
{
	switch (kind) {
	case ENGINE_QUERY_CLIENT:
		return "ask kubectl for its version";
	case ENGINE_QUERY_PLACE:
		return "ask kubectl for its context";
	case ENGINE_QUERY_VERSION:
		return "reach the cluster";
	case ENGINE_QUERY_CONTAINERS:
		return "list the pods";
	case ENGINE_QUERY_CONTAINER:
		return "read the pod";
	default:
		return "query the cluster";
	}
}

/* The callback may free the query. */
static void tell(struct engine_query *q, const struct fail *f)
{
	struct engine_answer answer = q->answer;
	q->answer = (struct engine_answer){ .kind = q->kind };
	q->done(q->ctx, f ? NULL : &answer, f);
	engine_answer_release(&answer);
}

static char *clean_text(const json_t *value)
{
	AUTO(buf_release) struct buf clean = { 0 };
	const char *text = json_string_value(value);
	if (text)
		utf8_clean(&clean, text, strnlen(text, 300));
	return xstrdup(buf_str(&clean));
}

/* --- kubectl ------------------------------------------------------------------------------------------------------- */

static void read_client(struct engine_query *q, const json_t *out)
{
	const json_t *version = json_object_get(out, "clientVersion");
	const char *major = json_string_value(json_object_get(version, "major"));
	const char *minor = json_string_value(json_object_get(version, "minor"));
	q->answer.client.name = xstrdup("kubectl");
	q->answer.client.version = clean_text(json_object_get(version, "gitVersion"));
	if (major)
		(void)parse_u64(major, &q->answer.client.major);
	if (minor)
		(void)parse_u64(minor, &q->answer.client.minor);
}

/* Inside a cluster there is no configuration: kubectl uses the pod's service account. */
static void read_place(struct engine_query *q, const json_t *out)
{
	const json_t *first = json_array_get(json_object_get(out, "clusters"), 0);
	const json_t *server = json_object_get(json_object_get(first, "cluster"), "server");
	const char *inside = getenv("KUBERNETES_SERVICE_HOST");
	q->answer.place.context = clean_text(json_object_get(out, "current-context"));
	q->answer.place.host = clean_text(server);
	if (*q->answer.place.host)
		return;
	free(q->answer.place.host);
	q->answer.place.host = xstrdup(inside ? inside : "none");
}

static void on_child(void *ctx, const struct child_result *r)
{
	struct engine_query *q = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	json_auto_t *out = r->exit_status == 0 ? json_loadb(r->out, r->out_len, 0, NULL) : NULL;
	if (!out) {
		AUTO(buf_release) struct buf clean = { 0 };
		utf8_clean(&clean, r->err, MIN(r->err_len, (size_t)300));
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_CLIENT, "cannot %s: %s", doing(q->kind),
			  r->timed_out ? "no answer" :
			  clean.len    ? buf_str(&clean) :
					 "its answer is not JSON");
		fail_hint(&f, "check that HUSK_KUBECTL, or the first `kubectl` in PATH, works");
	} else if (q->kind == ENGINE_QUERY_CLIENT) {
		read_client(q, out);
	} else {
		read_place(q, out);
	}
	child_free(take_ptr(q->child));
	tell(q, out ? NULL : &f);
}

static int ask_kubectl(struct engine_query *q, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	strv_add(&argv, q->k->program);
	if (q->k->context)
		strv_addf(&argv, "--context=%s", q->k->context);
	if (q->kind == ENGINE_QUERY_CLIENT)
		strv_add_all(&argv, "version", "--client", "--output=json", NULL);
	else
		strv_add_all(&argv, "config", "view", "--minify", "--output=json", NULL);
	struct child_spec child = {
		.argv = strv_argv(&argv), .deadline_ms = DEADLINE_MS, .on_done = on_child, .ctx = q
	};
	if (child_start(q->k->loop, &child, &q->child, f) == 0)
		return 0;
	f->cause = CAUSE_NO_CLIENT;
	return fail_hint(f, "install kubectl, or set HUSK_KUBECTL to its path");
}

/* --- the API server ------------------------------------------------------------------------------------------------ */

static void ask(struct engine_query *q);

static void read_version(struct engine_query *q, const json_t *answer)
{
	q->answer.version.name = xstrdup("Kubernetes");
	q->answer.version.version = clean_text(json_object_get(answer, "gitVersion"));
	q->answer.version.api = xstrdup("v1");
}

static void add_pods(struct engine_query *q, const json_t *answer)
{
	size_t i;
	json_t *item;
	json_array_foreach(json_object_get(answer, "items"), i, item) {
		struct pod pod;
		if (!pod_read(item, &pod))
			continue;
		engine_containers_add(&q->answer.containers, pod.name, pod.owner,
				      pod.phase == POD_RUNNING && !pod_is_over(&pod), pod.created);
		struct engine_container *c = &q->answer.containers.v[q->answer.containers.n - 1];
		c->node = xstrdup(pod.node);
		c->phase = xstrdup(pod.deleting ? "Terminating" : pod_phase_name(pod.phase));
		c->reason = xstrdup(pod.reason);
	}
}

static void read_state(struct engine_query *q, const json_t *answer)
{
	struct engine_state *s = &q->answer.container;
	struct pod pod;
	if (!pod_read(answer, &pod))
		return;
	s->is_there = true;
	s->running = !pod_is_over(&pod);
	s->exit_code = pod.exit_code;
	s->oom = pod.oom;
	snprintf(s->id, sizeof(s->id), "%s", pod.uid);
	snprintf(s->store, sizeof(s->store), "%s", pod.store);
	snprintf(s->mark, sizeof(s->mark), "%s", pod.mark);
}

static void on_answer(void *ctx, int status, const json_t *answer, const struct fail *f)
{
	struct engine_query *q = ctx;
	const char *next = json_string_value(json_object_get(json_object_get(answer, "metadata"), "continue"));
	q->call = api_call_free(q->call);
	/* A pod that does not exist is an answer too, but not if its namespace is missing. */
	if (f && !(q->kind == ENGINE_QUERY_CONTAINER && status == 404 && f->kind == FAIL_DIED)) {
		tell(q, f);
		return;
	}
	if (q->kind == ENGINE_QUERY_VERSION)
		read_version(q, answer);
	else if (q->kind == ENGINE_QUERY_CONTAINERS)
		add_pods(q, answer);
	else
		read_state(q, answer);
	buf_reset(&q->next_page);
	if (next && *next && q->kind == ENGINE_QUERY_CONTAINERS) {
		buf_add_str(&q->next_page, next);
		ask(q);
		return;
	}
	tell(q, NULL);
}

static void make_target(struct engine_query *q, struct buf *target)
{
	AUTO(freep) char *pods = kubernetes_target(q->k, NULL);
	if (q->kind == ENGINE_QUERY_VERSION) {
		buf_add_str(target, "/version");
		return;
	}
	if (q->kind == ENGINE_QUERY_CONTAINER) {
		buf_printf(target, "%s/%s", pods, q->subject);
		return;
	}
	buf_printf(target, "%s?labelSelector=" POD_STORE "%%3D%s&limit=%d", pods, q->subject, PAGE);
	if (q->next_page.len) {
		buf_add_str(target, "&continue=");
		percent_encode(target, buf_str(&q->next_page), /* keep_slash= */ false);
	}
}

static void ask(struct engine_query *q)
{
	AUTO(buf_release) struct buf target = { 0 };
	make_target(q, &target);
	q->call = api_call_new(
		&(struct api_call_spec){ .loop = q->k->loop,
					 .proxy = q->k->proxy,
					 .method = "GET",
					 .target = buf_str(&target),
					 .place = { doing(q->kind), q->kind == ENGINE_QUERY_CONTAINERS ? "list" : "get",
						    "pods", q->k->namespace },
					 .deadline_ms = DEADLINE_MS,
					 .done = on_answer,
					 .ctx = q });
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void on_reach(void *ctx, enum reach_verdict verdict, const struct fail *f)
{
	struct engine_query *q = ctx;
	if (q->kind == ENGINE_QUERY_FENCE)
		q->answer.fence = FENCE_STOOD;
	else
		q->answer.network = (struct engine_network){ .is_there = true, .isolated = true };
	tell(q, verdict == REACH_NOTHING ? NULL : f);
}

/* A trial of the policies: those around a session with a network stand in for the fence. */
static void try_network(struct engine_query *q, const char *image)
{
	struct container_spec spec = { .image = image,
				       .store = "trial",
				       .owner = "trial",
				       .lease = TRIAL_LEASE_SECONDS,
				       .network = q->kind == ENGINE_QUERY_FENCE };
	q->reach.fn = on_reach;
	q->reach.ctx = q;
	reach_get(q->k->reach, &spec, &q->reach);
}

static void add_label(struct strv *labels, const char *name, const json_t *value)
{
	const char *text = json_string_value(value);
	if (text)
		strv_addf(labels, "%s=%s", name, text);
}

static void on_image(void *ctx, const json_t *config, const struct fail *f)
{
	struct engine_query *q = ctx;
	const char *name;
	json_t *value;
	if (f) {
		tell(q, f);
		return;
	}
	q->answer.image.id = xstrdup("");
	q->answer.image.arch = clean_text(json_object_get(config, "architecture"));
	json_object_foreach(json_object_get(json_object_get(config, "config"), "Labels"), name, value)
		add_label(&q->answer.image.labels, name, value);
	tell(q, NULL);
}

static void look_for_image(struct engine_query *q, const char *name)
{
	AUTO(freep) char *reference = kubernetes_image(q->k, name);
	q->image = registry_read(q->k->images, reference, on_image, q);
}

static void on_refusal(void *ctx)
{
	struct engine_query *q = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_NOT_SUPPORTED, "Kubernetes does not report this to Husk");
	tell(q, &f);
}

struct engine_query *kube_query(struct engine *e, const struct query_spec *spec, struct fail *f)
{
	struct engine_query *q = new0(struct engine_query);
	q->k = kubernetes_of(e);
	q->kind = q->answer.kind = spec->kind;
	q->subject = spec->subject ? xstrdup(spec->subject) : NULL;
	q->done = spec->done;
	q->ctx = spec->ctx;
	list_init(&q->reach.node);
	switch (spec->kind) {
	case ENGINE_QUERY_CLIENT:
	case ENGINE_QUERY_PLACE:
		return ask_kubectl(q, f) < 0 ? kube_query_free(q) : q;
	case ENGINE_QUERY_VERSION:
	case ENGINE_QUERY_CONTAINERS:
	case ENGINE_QUERY_CONTAINER:
		ask(q);
		return q;
	case ENGINE_QUERY_FENCE:
		try_network(q, spec->fence->image);
		return q;
	case ENGINE_QUERY_NETWORK:
		try_network(q, spec->subject);
		return q;
	case ENGINE_QUERY_IMAGE:
		look_for_image(q, spec->subject);
		return q;
	default:
		q->refusal = timer_new(q->k->loop, on_refusal, q);
		timer_start(q->refusal, 0, 0);
		return q;
	}
}

struct engine_query *kube_query_free(struct engine_query *q)
{
	if (!q)
		return NULL;
	child_free(q->child);
	api_call_free(q->call);
	timer_free(q->refusal);
	reach_forget(&q->reach);
	registry_task_free(q->image);
	engine_answer_release(&q->answer);
	buf_release(&q->next_page);
	free(q->subject);
	free(q);
	return NULL;
}
