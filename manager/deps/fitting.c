#include "manager/deps/fitting.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/utf8.h"
#include "kernels/protocol.h"
#include "manager/model/cause.h"
#include "manager/model/image.h"
#include "manager/model/token.h"

#define FITTED_IMAGE "husk-fit"
/* /opt/husk is all that Husk's images add to Debian's. Copied by its parent, which the other image need not have. */
#define LAYER "/opt"
#define LACKS_SHOWN 50

struct fitting {
	struct fitting_spec spec;
	struct list jobs;
};

struct fitting_wait {
	struct list node;
	struct job *job;
	struct fitting_request req;
};

/* An image with at least one waiting caller. */
struct job {
	struct list node;
	struct fitting *fitting;
	struct list waits;
	const struct runtime *runtime;
	char *name, *reference, *own; /* own: the runtime's image */
	char key[TOKEN_HASH_SIZE];
	char *image;
	struct engine_query *query;
	struct store_job *identify;
	struct engine_bake *bake;
	struct timer *refusal;
	struct fail failure; /* to be reported from the loop */
	struct strv lacks;
};

static void job_free(struct job *j)
{
	struct engine *e = j->fitting->spec.engine;
	list_remove(&j->node);
	e->ops->query_free(j->query);
	store_cancel(j->identify);
	if (j->bake)
		e->ops->bake_cancel(j->bake);
	timer_free(j->refusal);
	free(j->name);
	free(j->reference);
	free(j->own);
	free(j->image);
	strv_release(&j->lacks);
	fail_release(&j->failure);
	free(j);
}

/* Answers all waiting callers. A request from inside a callback starts another fitting. */
static void finish(struct job *j, const struct fail *f)
{
	list_remove(&j->node);
	list_init(&j->node);
	while (!list_empty(&j->waits)) {
		struct fitting_wait *w = list_entry(j->waits.next, struct fitting_wait, node);
		list_remove(&w->node);
		w->req.on_done(w->req.ctx, f ? NULL : j->image, f);
		free(w);
	}
	job_free(j);
}

/* --- missing requirements ---------------------------------------------------------------------------------------- */

static void add_lack(struct job *j, const char *text)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, text, MIN(strlen(text), 300));
	if (j->lacks.n < LACKS_SHOWN)
		strv_add(&j->lacks, buf_str(&clean));
}

static void finish_unfit(struct job *j)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf all = { 0 };
	for (size_t i = 0; i < j->lacks.n; i++)
		buf_printf(&all, "%s%s", i ? "; " : "", j->lacks.v[i]);
	cause_set(&f, FAIL_IMAGE, CAUSE_UNFIT, "the image '%s' (%s) does not fit the %s runtime. It lacks: %s", j->name,
		  j->reference, j->runtime->name, buf_str(&all));
	fail_hint(
		&f,
		"Only the person who runs Husk can add that to the image, or list another one (CONTAINER_IMAGES). Continue without `image`.");
	finish(j, &f);
}

/* --- building ---------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, const char *text, size_t n)
{
	struct job *j = ctx;
	json_auto_t *report = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, NULL);
	size_t i;
	json_t *lack;
	json_array_foreach(json_object_get(report, "lacks"), i, lack) {
		if (json_is_string(lack))
			add_lack(j, json_string_value(lack));
	}
}

static void on_baked(void *ctx, const struct fail *f)
{
	struct job *j = ctx;
	struct engine *e = j->fitting->spec.engine;
	j->bake = NULL;
	/* Faults in its configuration are known beforehand; husk-fit finds the rest, so that all are reported
	 * together. */
	if (!f && j->lacks.n)
		e->ops->remove_image(e, j->image, /* done= */ NULL, NULL);
	if (j->lacks.n)
		finish_unfit(j);
	else
		finish(j, f);
}

static void make(struct job *j)
{
	struct fitting *f = j->fitting;
	AUTO(strv_release) struct strv labels = { 0 };
	char source[CONTAINER_NAME_SIZE], scratch[CONTAINER_NAME_SIZE];
	token_make_container(source);
	token_make_container(scratch);
	strv_addf(&labels, FIT_LABEL "=%s", j->key);
	struct bake_spec bake = {
		.container = source,
		.source = j->own,
		.path = LAYER,
		.base = j->reference,
		.image = j->image,
		.scratch = scratch,
		.store = store_id(f->spec.store),
		.labels = &labels,
		.program = FIT_PATH,
		.on_output = on_output,
	};
	j->bake = f->spec.engine->ops->bake(f->spec.engine, &bake, on_baked, j);
}

static void on_identified(void *ctx, const struct fail *f)
{
	struct job *j = ctx;
	j->identify = NULL;
	if (f)
		finish(j, f);
	else
		make(j);
}

/* --- existing images --------------------------------------------------------------------------------------------- */

static void ask(struct job *j, const char *image, engine_answer_fn done)
{
	struct engine *e = j->fitting->spec.engine;
	j->query = e->ops->query(
		e, &(struct query_spec){ .question = ENGINE_QUERY_IMAGE, .subject = image, .done = done, .ctx = j },
		&j->failure);
	if (!j->query)
		timer_start(j->refusal, 0, 0);
}

static void on_fitted(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct job *j = ctx;
	struct fitting *all = j->fitting;
	AUTO(freep) char *label = xasprintf(FIT_LABEL "=%s", j->key);
	bool there = answer && strv_find(&answer->image.labels, label) != SIZE_MAX;
	j->query = all->spec.engine->ops->query_free(j->query);
	if (f && f->kind != FAIL_IMAGE)
		finish(j, f);
	else if (there)
		finish(j, NULL);
	else if (store_id(all->spec.store))
		make(j);
	else
		j->identify = store_identify(all->spec.store, on_identified, j);
}

static void finish_missing(struct job *j)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_IMAGE, CAUSE_UNFIT, "the image '%s' (%s) is not on the engine", j->name, j->reference);
	fail_hint(
		&f,
		"The person who runs Husk can fetch it with `docker pull %s`, or build it: Husk does not pull images. Continue without `image`.",
		j->reference);
	finish(j, &f);
}

static void on_reference(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct job *j = ctx;
	AUTO(freep) char *id = answer ? xstrdup(answer->image.id) : NULL;
	for (size_t i = 0; answer && i < answer->image.volumes.n; i++) {
		AUTO(freep) char *lack =
			xasprintf("a disk limit on its VOLUME %s: build it without", answer->image.volumes.v[i]);
		add_lack(j, lack);
	}
	j->query = j->fitting->spec.engine->ops->query_free(j->query);
	if (f && f->kind == FAIL_IMAGE) {
		finish_missing(j);
		return;
	}
	if (f) {
		finish(j, f);
		return;
	}
	token_hash(j->key, (const char *const[]){ j->own, id }, 2);
	j->image = xasprintf(FITTED_IMAGE ":%s", j->key);
	ask(j, j->image, on_fitted);
}

/* --- callers ----------------------------------------------------------------------------------------------------- */

int fitting_check(const struct config *config, const struct runtime *runtime, const char *name, struct fail *f)
{
	AUTO(buf_release) struct buf all = { 0 };
	const struct strv *names = &config->image_names;
	if (strv_find(names, name) == SIZE_MAX) {
		for (size_t i = 0; i < names->n; i++)
			buf_printf(&all, "%s%s", i ? ", " : "", names->v[i]);
		cause_set(f, FAIL_INVALID, CAUSE_NOT_LISTED, "image: '%.64s' is not an image that is offered here (%s)",
			  name, names->n ? buf_str(&all) : "none is");
		return fail_hint(
			f, "%s Only the person who runs Husk can offer others, by CONTAINER_IMAGES in its settings.",
			names->n ? "Use one of these, or none." : "Continue without `image`.");
	}
	if (!runtime->fits) {
		cause_set(f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "image: the %s runtime works in its own image only",
			  runtime->name);
		return fail_hint(f, "Continue without `image`.");
	}
	return 0;
}

static void on_refuse(void *ctx)
{
	struct job *j = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (j->failure.kind) {
		fail_move(&f, &j->failure);
	} else {
		cause_set(&f, FAIL_INVALID, CAUSE_NOT_SUPPORTED,
			  "this engine cannot store images, so other images cannot be adapted");
		fail_hint(&f, "Continue without `image`.");
	}
	finish(j, &f);
}

static struct job *find(struct fitting *f, const struct runtime *runtime, const char *name)
{
	list_for_each(j, &f->jobs, struct job, node)
		if (j->runtime == runtime && streq(j->name, name))
			return j;
	return NULL;
}

static struct job *begin(struct fitting *f, const struct fitting_request *req)
{
	const struct config *config = f->spec.config;
	struct job *j = new0(struct job);
	j->fitting = f;
	j->runtime = req->runtime;
	j->name = xstrdup(req->name);
	j->reference = xstrdup(config->image_references.v[strv_find(&config->image_names, req->name)]);
	j->own = xstrdup(runtime_image(req->runtime, config));
	list_init(&j->waits);
	list_append(&f->jobs, &j->node);
	j->refusal = timer_new(f->spec.loop, on_refuse, j);
	return j;
}

struct fitting_wait *fitting_get(struct fitting *f, const struct fitting_request *req)
{
	struct job *j = find(f, req->runtime, req->name);
	bool fresh = !j;
	if (fresh)
		j = begin(f, req);
	struct fitting_wait *w = new0(struct fitting_wait);
	w->job = j;
	w->req = *req;
	w->req.name = NULL;
	list_append(&j->waits, &w->node);
	if (fresh && engine_capabilities(f->spec.engine).bakes_images)
		ask(j, j->reference, on_reference);
	else if (fresh)
		timer_start(j->refusal, 0, 0);
	return w;
}

void fitting_cancel(struct fitting_wait *w)
{
	struct job *j = w->job;
	list_remove(&w->node);
	free(w);
	if (list_empty(&j->waits))
		job_free(j);
}

struct fitting *fitting_new(const struct fitting_spec *spec)
{
	struct fitting *f = new0(struct fitting);
	f->spec = *spec;
	list_init(&f->jobs);
	return f;
}

struct fitting *fitting_free(struct fitting *f)
{
	if (!f)
		return NULL;
	list_for_each(j, &f->jobs, struct job, node) {
		list_for_each(w, &j->waits, struct fitting_wait, node) {
			list_remove(&w->node);
			free(w);
		}
		job_free(j);
	}
	free(f);
	return NULL;
}
