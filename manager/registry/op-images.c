/* Lists the images of older builds of Husk on the engine, and removes one. */
#include "base/alloc.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"
#include "manager/registry/registry.h"

#define TAG_DIGITS 12

/* True for names that tools/ gives to images of runtimes: husk-NAME with a hash of the content as the tag. Images of
 * dependencies have longer tags and are managed by the cache of dependencies. */
static bool is_runtime_image(const char *name)
{
	const char *colon = strrchr(name, ':');
	return strncmp(name, "husk-", 5) == 0 && colon && !strchr(name, '/') && strlen(colon + 1) == TAG_DIGITS &&
	       strspn(colon + 1, "0123456789abcdef") == TAG_DIGITS;
}

static bool is_needed(const struct config *config, const char *name)
{
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	for (size_t i = 0; i < n; i++) {
		if (streq(name, runtimes[i].image) || streq(name, runtime_image(&runtimes[i], config)))
			return true;
		for (const char *const *part = runtimes[i].parts; part && *part; part++)
			if (streq(name, *part))
				return true;
	}
	return strv_find(&config->image_references, name) != SIZE_MAX;
}

/* --- list -------------------------------------------------------------------------------------------------------- */

struct images_op {
	struct op op;
	struct images_request request;
	struct engine_query *query;
};

static struct images_op *images_op_of(struct op *op)
{
	return container_of(op, struct images_op, op);
}

static void images_op_free(struct op *op)
{
	struct images_op *o = images_op_of(op);
	op->registry->engine->ops->query_free(o->query);
	free(o);
}

static void images_fail(struct op *op, const struct fail *f)
{
	struct images_op *o = images_op_of(op);
	o->request.on_done(o->request.ctx, NULL, 0, f);
}

static void on_images(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct images_op *o = ctx;
	const struct engine_images *found = answer ? &answer->images : NULL;
	struct image_info *v = xcalloc((found ? found->n : 0) + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; found && i < found->n; i++) {
		const struct engine_listed_image *image = &found->v[i];
		if (image->created < o->request.before && is_runtime_image(image->name) &&
		    !is_needed(o->op.registry->config, image->name))
			v[n++] = (struct image_info){ .name = image->name,
						      .size = image->size,
						      .created = image->created };
	}
	o->request.on_done(o->request.ctx, v, n, f);
	free(v);
	op_end(&o->op);
}

struct op *manager_old_images(struct manager *m, const struct images_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = images_fail, .free = images_op_free };
	struct registry *r = &m->registry;
	struct images_op *o = new0(struct images_op);
	struct query_spec query = { .kind = ENGINE_QUERY_IMAGES, .done = on_images, .ctx = o };
	o->request = *req;
	o->query = r->engine->ops->query(r->engine, &query, f);
	if (!o->query) {
		free(o);
		return NULL;
	}
	op_init(&o->op, r, /* c= */ NULL, &type);
	return &o->op;
}

/* --- remove ------------------------------------------------------------------------------------------------------ */

struct remove_image_op {
	struct op op;
	struct remove_image_request request;
	struct engine_bake *removal;
};

static struct remove_image_op *remove_image_op_of(struct op *op)
{
	return container_of(op, struct remove_image_op, op);
}

static void remove_image_op_free(struct op *op)
{
	struct remove_image_op *o = remove_image_op_of(op);
	if (o->removal)
		op->registry->engine->ops->bake_cancel(o->removal);
	free(o);
}

static void remove_image_fail(struct op *op, const struct fail *f)
{
	struct remove_image_op *o = remove_image_op_of(op);
	o->request.on_done(o->request.ctx, f);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct remove_image_op *o = ctx;
	o->removal = NULL;
	o->request.on_done(o->request.ctx, f);
	op_end(&o->op);
}

struct op *manager_remove_image(struct manager *m, const struct remove_image_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = remove_image_fail, .free = remove_image_op_free };
	struct registry *r = &m->registry;
	if (!is_runtime_image(req->name) || is_needed(r->config, req->name)) {
		fail_set(f, FAIL_INVALID, "'%.100s' is not an image of an older Husk", req->name);
		return NULL;
	}
	struct remove_image_op *o = new0(struct remove_image_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->request.name = NULL;
	o->removal = r->engine->ops->remove_image(r->engine, req->name, on_removed, o);
	return &o->op;
}
