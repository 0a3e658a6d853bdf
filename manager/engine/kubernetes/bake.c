/* A set of packages as an image: the container that has installed it sends the folder as a tar archive, which becomes
 * one more layer of the base image in the registry. No engine and no node takes part. The layer is kept in a file
 * without a name until the registry has it. */
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "manager/engine/kubernetes/kubernetes.h"
#include "manager/engine/kubernetes/layer.h"

/* Enough for gigabytes on a slow network. */
#define DEADLINE_MS 900000
/* PID 1 has limited the packages before; this also counts the archive's headers. */
#define LAYER_MAX (64ull << 30)

struct engine_bake {
	struct list node;
	struct kubernetes *k;
	char *folder, *base, *image;
	struct strv labels;
	struct exec *exec;
	struct layer *layer;
	struct sha256 *sum;
	int fd;
	uint64_t size;
	struct registry_task *task;
	struct timer *deadline, *later;
	struct fail failure;
	engine_done_fn done;
	void *ctx;
};

static void bake_free(struct engine_bake *b)
{
	list_remove(&b->node);
	exec_free(b->exec);
	layer_free(b->layer);
	sha256_free(b->sum);
	registry_task_free(b->task);
	timer_free(b->deadline);
	timer_free(b->later);
	closep(&b->fd);
	strv_release(&b->labels);
	fail_release(&b->failure);
	free(b->folder);
	free(b->base);
	free(b->image);
	free(b);
}

static void on_later(void *ctx)
{
	struct engine_bake *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	engine_done_fn done = b->done;
	void *done_ctx = b->ctx;
	fail_move(&f, &b->failure);
	bake_free(b);
	if (done)
		done(done_ctx, f.kind ? &f : NULL);
}

/* Reports the end from the loop: the stream or the task may be calling now. */
static void end(struct engine_bake *b, const struct fail *f)
{
	if (f && !b->failure.kind)
		fail_copy(&b->failure, f);
	timer_stop(b->deadline);
	timer_start(b->later, 0, 0);
}

static void on_deadline(void *ctx)
{
	struct engine_bake *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT, "the packages were not in the registry within %d s",
		  DEADLINE_MS / 1000);
	end(b, &f);
}

/* --- the registry -------------------------------------------------------------------------------------------------- */

static void on_stored(void *ctx, const struct fail *f)
{
	end(ctx, f);
}

static void store_layer(struct engine_bake *b)
{
	struct registry_addition addition = {
		.base = b->base, .image = b->image, .labels = &b->labels, .fd = b->fd, .size = b->size
	};
	sha256_end(b->sum, addition.digest);
	b->task = registry_add(b->k->images, &addition, on_stored, b);
}

/* --- the archive --------------------------------------------------------------------------------------------------- */

static int keep(void *ctx, const void *data, size_t n)
{
	struct engine_bake *b = ctx;
	sha256_add(b->sum, data, n);
	for (size_t at = 0; at < n;) {
		ssize_t some = write(b->fd, (const char *)data + at, n - at);
		if (some < 0 && errno != EINTR)
			return -errno;
		at += some > 0 ? (size_t)some : 0;
	}
	b->size += n;
	return 0;
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_bake *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (b->failure.kind || b->task)
		return;
	if (layer_add(b->layer, data, n, &f) < 0)
		end(b, &f);
	else if (layer_is_complete(b->layer))
		store_layer(b);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct engine_bake *b = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	b->exec = exec_free(b->exec);
	if (b->task || b->failure.kind)
		return;
	cause_set(&why, FAIL_INSTALL, CAUSE_INSTALL_LOST, "the packages were not sent completely: %s", f->message);
	end(b, &why);
}

static void read_folder(struct engine_bake *b, const char *pod)
{
	const char *const command[] = { "tar", "--create", "--format=gnu", "--directory=/", "--", b->folder, NULL };
	b->layer = layer_new(&(struct layer_spec){ .folder = b->folder, .max = LAYER_MAX, .write = keep, .ctx = b });
	b->sum = sha256_new();
	b->exec = exec_new(&(struct exec_spec){ .loop = b->k->loop,
						.proxy = b->k->proxy,
						.namespace = b->k->namespace,
						.pod = pod,
						.container = POD_MAIN,
						.command = command,
						.handler = { on_bytes, on_closed, b } });
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static struct engine_bake *bake_new(struct kubernetes *k, engine_done_fn done, void *ctx)
{
	struct engine_bake *b = new0(struct engine_bake);
	b->k = k;
	b->fd = -1;
	b->done = done;
	b->ctx = ctx;
	b->deadline = timer_new(k->loop, on_deadline, b);
	b->later = timer_new(k->loop, on_later, b);
	timer_start(b->deadline, DEADLINE_MS, 0);
	list_append(&k->bakes, &b->node);
	return b;
}

static int open_file(struct engine_bake *b, struct fail *f)
{
	int r = dirs_make(b->k->folder);
	if (r == 0)
		b->fd = open(b->k->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (r == 0 && b->fd < 0)
		r = -errno;
	return r < 0 ? fail_set(f, FAIL_ENGINE, "cannot create a file in '%s': %s", b->k->folder, strerror(-r)) : 0;
}

struct engine_bake *kube_bake(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_bake *b = bake_new(k, done, ctx);
	AUTO(fail_release) struct fail f = { 0 };
	if (spec->source || spec->program) {
		cause_set(&f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "other images cannot be adapted in a cluster");
		fail_hint(&f, "adapt them with Docker and push them to CONTAINER_REGISTRY");
		end(b, &f);
		return b;
	}
	b->folder = xstrdup(spec->path + (*spec->path == '/'));
	b->base = kubernetes_image(k, spec->base);
	b->image = kubernetes_image(k, spec->image);
	for (size_t i = 0; i < spec->labels->n; i++)
		strv_add(&b->labels, spec->labels->v[i]);
	if (open_file(b, &f) < 0)
		end(b, &f);
	else
		read_folder(b, spec->container);
	return b;
}

struct engine_bake *kube_remove_image(struct engine *e, const char *image, engine_done_fn done, void *ctx)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_bake *b = bake_new(k, done, ctx);
	AUTO(freep) char *reference = kubernetes_image(k, image);
	b->task = registry_remove(k->images, reference, on_stored, b);
	return b;
}

void kube_bake_cancel(struct engine_bake *b)
{
	bake_free(b);
}

void kube_bakes_release(struct kubernetes *k)
{
	list_for_each(b, &k->bakes, struct engine_bake, node)
		bake_free(b);
}
