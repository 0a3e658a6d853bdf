#include "manager/registry/sweep.h"

#include "base/alloc.h"
#include "base/work.h"
#include "manager/registry/owner.h"

static void sweep(void *ctx)
{
	struct config *config = ctx;
	owner_sweep(config);
}

static void on_swept(void *ctx, bool forgotten UNUSED)
{
	struct config *config = ctx;
	free(config->state_dir);
	free(config);
}

void sweep_locks(struct loop *loop, const struct config *config)
{
	struct config *copy = new0(struct config);
	copy->state_dir = xstrdup(config->state_dir);
	(void)work_start(loop, &(struct work_spec){ .fn = sweep, .on_done = on_swept, .ctx = copy });
}
