#include "manager/deps/fitting.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/utf8.h"
#include "kernels/protocol.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"
#include "manager/model/token.h"

#define FITTED_IMAGE "husk-fit"
/* Husk's images add only /opt/husk to Debian's. The parent /opt is copied, since the other image may lack it. */
#define LAYER "/opt"
#define LACKS_SHOWN 50

struct fitting {
	struct fitting_spec spec;
	struct list fits;
};

struct fitting_wait {
	struct list node;
	struct fit *fit;
	struct fitting_request req;
};

/* An image with at least one waiting caller. */
struct fit {
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

static void fit_free(struct fit *fit)
{
	struct engine *e = fit->fitting->spec.engine;
	list_remove(&fit->node);
	e->ops->query_free(fit->query);
	store_cancel(fit->identify);
	if (fit->bake)
		e->ops->bake_cancel(fit->bake);
	timer_free(fit->refusal);
	free(fit->name);
	free(fit->reference);
	free(fit->own);
	free(fit->image);
	strv_release(&fit->lacks);
	fail_release(&fit->failure);
	free(fit);
}

/* Answers all waiting callers. A request from inside a callback starts another fitting. */
static void finish(struct fit *fit, const struct fail *f)
{
	list_remove(&fit->node);
	list_init(&fit->node);
	while (!list_empty(&fit->waits)) {
		struct fitting_wait *w = list_entry(fit->waits.next, struct fitting_wait, node);
		list_remove(&w->node);
		w->req.on_done(w->req.ctx, f ? NULL : fit->image, f);
		free(w);
	}
	fit_free(fit);
}

/* --- missing requirements ---------------------------------------------------------------------------------------- */

static void add_lack(struct fit *fit, const char *text)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, text, MIN(strlen(text), 300));
	if (fit->lacks.n < LACKS_SHOWN)
		strv_add(&fit->lacks, buf_str(&clean));
}

static void finish_unfit(struct fit *fit)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf all = { 0 };
	for (size_t i = 0; i < fit->lacks.n; i++)
		buf_printf(&all, "%s%s", i ? "; " : "", fit->lacks.v[i]);
	cause_set(&f, FAIL_IMAGE, CAUSE_UNFIT, "the image '%s' (%s) does not fit the %s runtime. It lacks: %s",
		  fit->name, fit->reference, fit->runtime->name, buf_str(&all));
	fail_hint(
		&f,
		"Only the person who runs Husk can add that to the image, or list another one (CONTAINER_IMAGES). Continue without `image`.");
	finish(fit, &f);
}

/* --- building ---------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, const char *text, size_t n)
{
	struct fit *fit = ctx;
	json_auto_t *report = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, NULL);
	size_t i;
	json_t *lack;
	json_array_foreach(json_object_get(report, "lacks"), i, lack) {
		if (json_is_string(lack))
			add_lack(fit, json_string_value(lack));
	}
}

static void on_baked(void *ctx, const struct fail *f)
{
	struct fit *fit = ctx;
	struct engine *e = fit->fitting->spec.engine;
	fit->bake = NULL;
	/* Faults in the image's configuration were found before the bake, and husk-fit finds the rest. They are
	 * reported together. */
	if (!f && fit->lacks.n)
		e->ops->remove_image(e, fit->image, /* done= */ NULL, NULL);
	if (fit->lacks.n)
		finish_unfit(fit);
	else
		finish(fit, f);
}

static void make(struct fit *fit)
{
	struct fitting *f = fit->fitting;
	AUTO(strv_release) struct strv labels = { 0 };
	char source[CONTAINER_NAME_SIZE], scratch[CONTAINER_NAME_SIZE];
	token_make_container(source);
	token_make_container(scratch);
	strv_addf(&labels, FIT_LABEL "=%s", fit->key);
	struct bake_spec bake = {
		.container = source,
		.source = fit->own,
		.path = LAYER,
		.base = fit->reference,
		.image = fit->image,
		.scratch = scratch,
		.store = store_id(f->spec.store),
		.labels = &labels,
		.program = FIT_PATH,
		.on_output = on_output,
	};
	fit->bake = f->spec.engine->ops->bake(f->spec.engine, &bake, on_baked, fit);
}

static void on_identified(void *ctx, const struct fail *f)
{
	struct fit *fit = ctx;
	fit->identify = NULL;
	if (f)
		finish(fit, f);
	else
		make(fit);
}

/* --- existing images --------------------------------------------------------------------------------------------- */

static void query_image(struct fit *fit, const char *image, engine_answer_fn done)
{
	struct engine *e = fit->fitting->spec.engine;
	fit->query = e->ops->query(
		e, &(struct query_spec){ .kind = ENGINE_QUERY_IMAGE, .subject = image, .done = done, .ctx = fit },
		&fit->failure);
	if (!fit->query)
		timer_start(fit->refusal, 0, 0);
}

static void on_fitted(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct fit *fit = ctx;
	struct fitting *all = fit->fitting;
	AUTO(freep) char *label = xasprintf(FIT_LABEL "=%s", fit->key);
	bool there = answer && strv_find(&answer->image.labels, label) != SIZE_MAX;
	fit->query = all->spec.engine->ops->query_free(fit->query);
	if (f && f->kind != FAIL_IMAGE)
		finish(fit, f);
	else if (there)
		finish(fit, NULL);
	else if (store_id(all->spec.store))
		make(fit);
	else
		fit->identify = store_identify(all->spec.store, on_identified, fit);
}

static void finish_missing(struct fit *fit)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_IMAGE, CAUSE_UNFIT, "the image '%s' (%s) is not on the engine", fit->name, fit->reference);
	fail_hint(
		&f,
		"The person who runs Husk can fetch it with `docker pull %s`, or build it: Husk does not pull images. Continue without `image`.",
		fit->reference);
	finish(fit, &f);
}

static void on_reference(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct fit *fit = ctx;
	AUTO(freep) char *id = answer ? xstrdup(answer->image.id) : NULL;
	for (size_t i = 0; answer && i < answer->image.volumes.n; i++) {
		AUTO(freep) char *lack = xasprintf("a disk limit on its VOLUME %s (build it without that VOLUME)",
						   answer->image.volumes.v[i]);
		add_lack(fit, lack);
	}
	fit->query = fit->fitting->spec.engine->ops->query_free(fit->query);
	if (f && f->kind == FAIL_IMAGE) {
		finish_missing(fit);
		return;
	}
	if (f) {
		finish(fit, f);
		return;
	}
	token_hash(fit->key, (const char *const[]){ fit->own, id }, 2);
	fit->image = xasprintf(FITTED_IMAGE ":%s", fit->key);
	query_image(fit, fit->image, on_fitted);
}

/* --- callers ----------------------------------------------------------------------------------------------------- */

int fitting_check(const struct config *config, const struct runtime *runtime, const char *name, struct fail *f)
{
	AUTO(buf_release) struct buf all = { 0 };
	const struct strv *names = &config->image_names;
	if (strv_find(names, name) == SIZE_MAX) {
		for (size_t i = 0; i < names->n; i++)
			buf_printf(&all, "%s%s", i ? ", " : "", names->v[i]);
		cause_set(f, FAIL_INVALID, CAUSE_NOT_LISTED, "image: '%.64s' is not offered here (offered: %s)", name,
			  names->n ? buf_str(&all) : "none");
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
	struct fit *fit = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (fit->failure.kind) {
		fail_move(&f, &fit->failure);
	} else {
		cause_set(&f, FAIL_INVALID, CAUSE_NOT_SUPPORTED,
			  "this engine cannot store images, so other images cannot be adapted");
		fail_hint(&f, "Continue without `image`.");
	}
	finish(fit, &f);
}

static struct fit *find(struct fitting *f, const struct runtime *runtime, const char *name)
{
	list_for_each(fit, &f->fits, struct fit, node)
		if (fit->runtime == runtime && streq(fit->name, name))
			return fit;
	return NULL;
}

static struct fit *begin(struct fitting *f, const struct fitting_request *req)
{
	const struct config *config = f->spec.config;
	struct fit *fit = new0(struct fit);
	fit->fitting = f;
	fit->runtime = req->runtime;
	fit->name = xstrdup(req->name);
	fit->reference = xstrdup(config->image_references.v[strv_find(&config->image_names, req->name)]);
	fit->own = xstrdup(runtime_image(req->runtime, config));
	list_init(&fit->waits);
	list_append(&f->fits, &fit->node);
	fit->refusal = timer_new(f->spec.loop, on_refuse, fit);
	return fit;
}

struct fitting_wait *fitting_get(struct fitting *f, const struct fitting_request *req)
{
	struct fit *fit = find(f, req->runtime, req->name);
	bool fresh = !fit;
	if (fresh)
		fit = begin(f, req);
	struct fitting_wait *w = new0(struct fitting_wait);
	w->fit = fit;
	w->req = *req;
	w->req.name = NULL;
	list_append(&fit->waits, &w->node);
	if (fresh && engine_capabilities(f->spec.engine).bakes_images)
		query_image(fit, fit->reference, on_reference);
	else if (fresh)
		timer_start(fit->refusal, 0, 0);
	return w;
}

void fitting_cancel(struct fitting_wait *w)
{
	struct fit *fit = w->fit;
	list_remove(&w->node);
	free(w);
	if (list_empty(&fit->waits))
		fit_free(fit);
}

struct fitting *fitting_new(const struct fitting_spec *spec)
{
	struct fitting *f = new0(struct fitting);
	f->spec = *spec;
	list_init(&f->fits);
	return f;
}

struct fitting *fitting_free(struct fitting *f)
{
	if (!f)
		return NULL;
	list_for_each(fit, &f->fits, struct fit, node) {
		list_for_each(w, &fit->waits, struct fitting_wait, node) {
			list_remove(&w->node);
			free(w);
		}
		fit_free(fit);
	}
	free(f);
	return NULL;
}
