/* Each task is a list of requests, one after the other (enum step). */
#include "manager/engine/kubernetes/registry.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fetch.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "manager/model/cause.h"

#define ANSWER_MAX (4u << 20)
#define LAYERS_MAX 200u
#define DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"
#define OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_LAYER "application/vnd.oci.image.layer.v1.tar"

struct registry {
	struct loop *loop;
	char *ca_file;
	struct fetcher *fetcher;
};

enum step {
	STEP_MANIFEST,
	STEP_CONFIG,
	STEP_MOUNT,  /* each layer of the base */
	STEP_UPLOAD, /* asks where to send the layer */
	STEP_LAYER,
	STEP_UPLOAD_CONFIG,
	STEP_NEW_CONFIG,
	STEP_NEW_MANIFEST,
	STEP_DELETE,
};

enum task_kind { TASK_READ, TASK_ADD, TASK_REMOVE };

struct registry_task {
	struct registry *registry;
	enum task_kind kind;
	enum step step;
	struct registry_place base, image; /* image: of an addition */
	struct registry_addition addition;
	struct strv labels;
	json_t *manifest, *config;
	char *type;   /* of the manifest */
	char *digest; /* of the manifest, as the registry says */
	char *text;   /* that is being sent */
	char *location;
	size_t mounted;
	struct fetch *fetch;
	int status;
	struct buf answer;
	struct timer *later;
	struct fail failure;
	registry_read_fn read;
	registry_done_fn done;
	void *ctx;
};

static void next(struct registry_task *t, enum step step);

struct registry *registry_new(struct loop *loop, const char *ca_file)
{
	struct registry *r = new0(struct registry);
	r->loop = loop;
	r->ca_file = ca_file ? xstrdup(ca_file) : NULL;
	return r;
}

struct registry *registry_free(struct registry *r)
{
	if (!r)
		return NULL;
	fetcher_free(r->fetcher);
	free(r->ca_file);
	free(r);
	return NULL;
}

/* --- references ---------------------------------------------------------------------------------------------------- */

void registry_place_release(struct registry_place *p)
{
	free(p->origin);
	free(p->repository);
	free(p->tag);
	*p = (struct registry_place){ 0 };
}

static bool is_near(const char *host, size_t n)
{
	static const char *const near[] = { "localhost", "127.0.0.1", "[::1]" };
	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		size_t k = strlen(near[i]);
		if (n >= k && strncmp(host, near[i], k) == 0 && (n == k || host[k] == ':'))
			return true;
	}
	return false;
}

int registry_place_of(struct registry_place *ret, const char *reference)
{
	const char *slash = strchr(reference, '/');
	const char *last = strrchr(reference, '/');
	const char *colon = last ? strchr(last, ':') : NULL;
	size_t host = slash ? (size_t)(slash - reference) : 0;
	if (!host || !colon || !colon[1] || colon == slash + 1 ||
	    !(memchr(reference, '.', host) || memchr(reference, ':', host) || is_near(reference, host)))
		return -1;
	*ret = (struct registry_place){
		.origin = xasprintf("%s://%.*s", is_near(reference, host) ? "http" : "https", (int)host, reference),
		.repository = xstrndup(slash + 1, (size_t)(colon - slash) - 1),
		.tag = xstrdup(colon + 1),
	};
	return 0;
}

bool registry_is_digest(const char *text)
{
	static const char prefix[] = "sha256:";
	return text && strncmp(text, prefix, strlen(prefix)) == 0 && strlen(text) == strlen(prefix) + SHA256_SIZE - 1 &&
	       strspn(text + strlen(prefix), "0123456789abcdef") == SHA256_SIZE - 1;
}

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void on_later(void *ctx)
{
	struct registry_task *t = ctx;
	AUTO(fail_release) struct fail failure = { 0 };
	json_auto_t *config = json_incref(t->config);
	fail_move(&failure, &t->failure);
	const struct fail *f = failure.kind ? &failure : NULL;
	/* The callback may free the task. */
	if (t->read)
		t->read(t->ctx, f ? NULL : config, f);
	else
		t->done(t->ctx, f);
}

static void end(struct registry_task *t)
{
	timer_start(t->later, 0, 0);
}

static const char *doing(const struct registry_task *t)
{
	switch (t->kind) {
	case TASK_ADD:
		return "keep the packages in the registry";
	case TASK_REMOVE:
		return "remove the image from the registry";
	default:
		return "look for the image in the registry";
	}
}

static void failed(struct registry_task *t, const char *why)
{
	cause_set(&t->failure, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot %s %s: %s", doing(t), t->base.origin, why);
	fail_hint(&t->failure, "check that this machine can read and write CONTAINER_REGISTRY without a login");
	end(t);
}

static void refused(struct registry_task *t)
{
	AUTO(buf_release) struct buf clean = { 0 };
	if (t->status == 404 && t->step == STEP_MANIFEST) {
		cause_set(&t->failure, FAIL_IMAGE, CAUSE_NO_IMAGE, "the image '%s:%s' is not in the registry %s",
			  t->base.repository, t->base.tag, t->base.origin);
		fail_hint(&t->failure, "`husk setup` pushes the images to CONTAINER_REGISTRY");
		end(t);
		return;
	}
	utf8_clean_name(&clean, buf_str(&t->answer));
	AUTO(freep) char *why = xasprintf("it answered %d%s%.300s", t->status, clean.len ? ": " : "", buf_str(&clean));
	failed(t, why);
}

/* --- requests ------------------------------------------------------------------------------------------------------ */

static void take_field(char **to, const char *field, const char *name)
{
	size_t n = strlen(name);
	if (strncmp(field, name, n) != 0 || field[n] != ':')
		return;
	free(*to);
	*to = xstrdup(field + n + 1 + strspn(field + n + 1, " \t"));
}

static void on_head(void *ctx, const struct fetch_head *head)
{
	struct registry_task *t = ctx;
	t->status = head->status;
	for (size_t i = 0; i < head->fields->n; i++) {
		const char *field = head->fields->v[i];
		take_field(&t->location, field, "location");
		if (t->step == STEP_MANIFEST) {
			take_field(&t->digest, field, "docker-content-digest");
			take_field(&t->type, field, "content-type");
		}
	}
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct registry_task *t = ctx;
	if (buf_add(&t->answer, data, n) == 0)
		return;
	t->fetch = fetch_free(t->fetch);
	failed(t, "its answer is too long");
}

static void take_answer(struct registry_task *t);

static void on_end(void *ctx, const char *error)
{
	struct registry_task *t = ctx;
	t->fetch = fetch_free(t->fetch);
	if (error)
		failed(t, error);
	else
		take_answer(t);
}

/* url: complete, or a path below the registry's. Takes what is sent from t->text, or the layer. */
static void ask(struct registry_task *t, const char *method, const char *url, const char *type, bool layer)
{
	AUTO(freep) char *full = *url == '/' ? xasprintf("%s%s", t->base.origin, url) : xstrdup(url);
	AUTO(strv_release) struct strv fields = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	strv_add(&fields, "Expect:");
	strv_add(&fields, "Accept: " DOCKER_MANIFEST ", " OCI_MANIFEST ", */*;q=0.1");
	if (type)
		strv_addf(&fields, "Content-Type: %s", type);
	t->status = 0;
	buf_reset(&t->answer);
	free(take_ptr(t->location));
	if (!t->registry->fetcher)
		t->registry->fetcher = fetcher_new(t->registry->loop, &f);
	if (t->registry->fetcher)
		t->fetch = fetch_new(t->registry->fetcher,
				     &(struct fetch_spec){ .url = full,
							   .method = method,
							   .body = streq(method, "GET") || layer ? NULL :
								   t->text			 ? t->text :
												   "",
							   .body_fd = layer ? t->addition.fd : 0,
							   .body_size = t->addition.size,
							   .fields = &fields,
							   .ca_file = t->registry->ca_file,
							   .on_head = on_head,
							   .on_data = on_data,
							   .on_end = on_end,
							   .ctx = t },
				     &f);
	if (!t->fetch)
		failed(t, f.message);
}

/* --- the image ----------------------------------------------------------------------------------------------------- */

static json_t *layers_of(const json_t *manifest)
{
	return json_object_get(manifest, "layers");
}

static const char *digest_of(const json_t *descriptor)
{
	const char *digest = json_string_value(json_object_get(descriptor, "digest"));
	return registry_is_digest(digest) ? digest : NULL;
}

static json_t *object_in(json_t *of, const char *name)
{
	if (!json_is_object(json_object_get(of, name)))
		json_object_set_new(of, name, json_object());
	return json_object_get(of, name);
}

bool registry_extend(json_t *manifest, json_t *config, const struct registry_addition *addition)
{
	json_t *layers = layers_of(manifest);
	json_t *ids = json_object_get(json_object_get(config, "rootfs"), "diff_ids");
	const char *type = json_string_value(json_object_get(manifest, "mediaType"));
	bool docker = type && streq(type, DOCKER_MANIFEST);
	if (!json_is_array(layers) || !json_is_array(ids) || json_array_size(layers) != json_array_size(ids) ||
	    json_array_size(layers) > LAYERS_MAX)
		return false;
	json_array_append_new(layers, json_pack("{s:s, s:I, s:o}", "mediaType", docker ? DOCKER_LAYER : OCI_LAYER,
						"size", (json_int_t)addition->size, "digest",
						json_sprintf("sha256:%s", addition->digest)));
	json_array_append_new(ids, json_sprintf("sha256:%s", addition->digest));
	if (json_is_array(json_object_get(config, "history")))
		json_array_append_new(json_object_get(config, "history"),
				      json_pack("{s:s}", "created_by", "husk: packages"));
	json_t *labels = object_in(object_in(config, "config"), "Labels");
	for (size_t i = 0; addition->labels && i < addition->labels->n; i++) {
		const char *text = addition->labels->v[i], *equals = strchr(text, '=');
		if (!equals)
			continue;
		AUTO(freep) char *name = xstrndup(text, (size_t)(equals - text));
		json_object_set_new(labels, name, json_string(equals + 1));
	}
	return true;
}

static void describe_config(struct registry_task *t)
{
	char digest[SHA256_SIZE];
	free(t->text);
	t->text = json_dumps(t->config, JSON_COMPACT);
	size_t n = t->text ? strlen(t->text) : 0;
	sha256_of(t->text ? t->text : "", n, digest);
	json_t *entry = object_in(t->manifest, "config");
	json_object_set_new(entry, "digest", json_sprintf("sha256:%s", digest));
	json_object_set_new(entry, "size", json_integer((json_int_t)n));
}

static void take_manifest(struct registry_task *t)
{
	if (t->kind == TASK_REMOVE) {
		if (registry_is_digest(t->digest))
			next(t, STEP_DELETE);
		else
			failed(t, "its answer has no digest");
		return;
	}
	t->manifest = json_loadb((const char *)t->answer.data, t->answer.len, 0, NULL);
	if (!digest_of(json_object_get(t->manifest, "config")))
		failed(t, "the image has no manifest of its own; an index of several platforms is not supported");
	else
		next(t, STEP_CONFIG);
}

static void take_config(struct registry_task *t)
{
	char digest[SHA256_SIZE];
	sha256_of(t->answer.data, t->answer.len, digest);
	if (!streq(digest, digest_of(json_object_get(t->manifest, "config")) + strlen("sha256:"))) {
		failed(t, "the image's configuration does not match its digest");
		return;
	}
	t->config = json_loadb((const char *)t->answer.data, t->answer.len, 0, NULL);
	if (!json_is_object(t->config))
		failed(t, "the image's configuration is not JSON");
	else if (t->kind == TASK_READ)
		end(t);
	else
		next(t, STEP_MOUNT);
}

/* Content goes to no other server than the registry. */
static bool has_location(const struct registry_task *t)
{
	size_t n = strlen(t->base.origin);
	const char *to = t->location;
	return to && ((to[0] == '/' && to[1] != '/') || (strncmp(to, t->base.origin, n) == 0 && to[n] == '/'));
}

static bool is_fine(const struct registry_task *t)
{
	switch (t->step) {
	case STEP_MOUNT:
	case STEP_LAYER:
	case STEP_NEW_CONFIG:
	case STEP_NEW_MANIFEST:
		return t->status == 201;
	case STEP_UPLOAD:
	case STEP_UPLOAD_CONFIG:
		return t->status == 202 && has_location(t);
	case STEP_DELETE:
		return t->status == 202 || t->status == 404;
	default:
		return t->status == 200;
	}
}

static void take_answer(struct registry_task *t)
{
	if (t->status == 404 && t->kind == TASK_REMOVE && t->step == STEP_MANIFEST) {
		end(t);
		return;
	}
	if (!is_fine(t)) {
		refused(t);
		return;
	}
	switch (t->step) {
	case STEP_MANIFEST:
		take_manifest(t);
		break;
	case STEP_CONFIG:
		take_config(t);
		break;
	case STEP_MOUNT:
		t->mounted++;
		next(t, t->mounted < json_array_size(layers_of(t->manifest)) ? STEP_MOUNT : STEP_UPLOAD);
		break;
	case STEP_NEW_MANIFEST:
	case STEP_DELETE:
		end(t);
		break;
	default:
		next(t, t->step + 1);
	}
}

/* Where an upload goes, with the digest that its content must have. */
static char *upload_url(const struct registry_task *t, const char *digest)
{
	return xasprintf("%s%cdigest=%s", t->location, strchr(t->location, '?') ? '&' : '?', digest);
}

static void ask_mount(struct registry_task *t)
{
	const char *digest = digest_of(json_array_get(layers_of(t->manifest), t->mounted));
	AUTO(buf_release) struct buf from = { 0 };
	percent_encode(&from, t->base.repository, /* keep_slash= */ false);
	AUTO(freep) char *path = xasprintf("/v2/%s/blobs/uploads/?mount=%s&from=%s", t->image.repository,
					   digest ? digest : "", buf_str(&from));
	if (digest)
		ask(t, "POST", path, NULL, /* layer= */ false);
	else
		failed(t, "a layer of the image has no digest");
}

static void next(struct registry_task *t, enum step step)
{
	AUTO(freep) char *layer = xasprintf("sha256:%s", t->addition.digest);
	AUTO(freep) char *url = NULL;
	t->step = step;
	switch (step) {
	case STEP_MANIFEST:
		url = xasprintf("/v2/%s/manifests/%s", t->base.repository, t->base.tag);
		ask(t, "GET", url, NULL, false);
		break;
	case STEP_CONFIG:
		url = xasprintf("/v2/%s/blobs/%s", t->base.repository,
				digest_of(json_object_get(t->manifest, "config")));
		ask(t, "GET", url, NULL, false);
		break;
	case STEP_MOUNT:
		ask_mount(t);
		break;
	case STEP_UPLOAD:
	case STEP_UPLOAD_CONFIG:
		if (step == STEP_UPLOAD && !registry_extend(t->manifest, t->config, &t->addition)) {
			failed(t, "the image's manifest does not match its configuration");
			break;
		}
		free(take_ptr(t->text));
		url = xasprintf("/v2/%s/blobs/uploads/", t->image.repository);
		ask(t, "POST", url, NULL, false);
		break;
	case STEP_LAYER:
		url = upload_url(t, layer);
		ask(t, "PUT", url, "application/octet-stream", /* layer= */ true);
		break;
	case STEP_NEW_CONFIG:
		describe_config(t);
		url = upload_url(t,
				 json_string_value(json_object_get(json_object_get(t->manifest, "config"), "digest")));
		ask(t, "PUT", url, "application/octet-stream", false);
		break;
	case STEP_NEW_MANIFEST:
		free(t->text);
		t->text = json_dumps(t->manifest, JSON_COMPACT);
		url = xasprintf("/v2/%s/manifests/%s", t->image.repository, t->image.tag);
		ask(t, "PUT", url, t->type ? t->type : DOCKER_MANIFEST, false);
		break;
	case STEP_DELETE:
		url = xasprintf("/v2/%s/manifests/%s", t->base.repository, t->digest);
		ask(t, "DELETE", url, NULL, false);
		break;
	}
}

/* --- tasks --------------------------------------------------------------------------------------------------------- */

static void on_start(void *ctx)
{
	struct registry_task *t = ctx;
	timer_free(t->later);
	t->later = timer_new(t->registry->loop, on_later, t);
	if (t->failure.kind)
		end(t);
	else
		next(t, STEP_MANIFEST);
}

static struct registry_task *task_new(struct registry *r, enum task_kind kind, const char *reference, void *ctx)
{
	struct registry_task *t = new0(struct registry_task);
	t->registry = r;
	t->kind = kind;
	t->ctx = ctx;
	t->answer.max = ANSWER_MAX;
	t->later = timer_new(r->loop, on_start, t);
	timer_start(t->later, 0, 0);
	if (registry_place_of(&t->base, reference) < 0)
		cause_set(&t->failure, FAIL_IMAGE, CAUSE_NO_IMAGE,
			  "'%.300s' is not in a registry: CONTAINER_REGISTRY is not set", reference);
	return t;
}

struct registry_task *registry_read(struct registry *r, const char *reference, registry_read_fn done, void *ctx)
{
	struct registry_task *t = task_new(r, TASK_READ, reference, ctx);
	t->read = done;
	return t;
}

struct registry_task *registry_remove(struct registry *r, const char *reference, registry_done_fn done, void *ctx)
{
	struct registry_task *t = task_new(r, TASK_REMOVE, reference, ctx);
	t->done = done;
	return t;
}

struct registry_task *registry_add(struct registry *r, const struct registry_addition *addition, registry_done_fn done,
				   void *ctx)
{
	struct registry_task *t = task_new(r, TASK_ADD, addition->base, ctx);
	t->done = done;
	t->addition = *addition;
	t->addition.base = t->addition.image = NULL;
	t->addition.labels = &t->labels;
	for (size_t i = 0; i < addition->labels->n; i++)
		strv_add(&t->labels, addition->labels->v[i]);
	if (!t->failure.kind &&
	    (registry_place_of(&t->image, addition->image) < 0 || !streq(t->image.origin, t->base.origin)))
		cause_set(&t->failure, FAIL_ENGINE, CAUSE_NOT_SUPPORTED,
			  "the image that gets the packages is not in CONTAINER_REGISTRY");
	return t;
}

struct registry_task *registry_task_free(struct registry_task *t)
{
	if (!t)
		return NULL;
	fetch_free(t->fetch);
	timer_free(t->later);
	registry_place_release(&t->base);
	registry_place_release(&t->image);
	strv_release(&t->labels);
	json_decref(t->manifest);
	json_decref(t->config);
	buf_release(&t->answer);
	fail_release(&t->failure);
	free(t->type);
	free(t->digest);
	free(t->text);
	free(t->location);
	free(t);
	return NULL;
}
