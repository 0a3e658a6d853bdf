/* No sessions to list, stop or collect: the verbs of people are tested with the real thing. */
#include "manager/engine/open.h"
#include "manager/registry/admin.h"

struct admin *admin_new(struct loop *loop, const struct config *config)
{
	return NULL;
}

struct admin *admin_free(struct admin *a)
{
	return NULL;
}

void admin_list(struct admin *a, admin_list_fn fn, void *ctx)
{
	fn(ctx, NULL, 0, NULL, NULL);
}

void admin_stop(struct admin *a, const char *id, admin_stop_fn fn, void *ctx)
{
	fn(ctx, 0, NULL);
}

void admin_gc(struct admin *a, admin_gc_fn fn, void *ctx)
{
	fn(ctx, NULL, 0, 0, NULL);
}

/* There is nothing to reap. */
int engine_reap(const char *name, const char *program, char *const *names)
{
	return 1;
}
