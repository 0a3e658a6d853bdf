#include "manager/engine/engine.h"

struct engine_capabilities engine_capabilities(const struct engine *e)
{
	return e->ops->capabilities(e);
}

int engine_death(struct fail *f, bool oom, int exit_code)
{
	if (oom)
		return cause_set(f, FAIL_DIED, CAUSE_OOM, "OOM-killed — the code exhausted the container memory limit");
	switch (exit_code) {
	case 137:
		return cause_set(f, FAIL_DIED, CAUSE_EXITED,
				 "killed by signal 9 (SIGKILL) — likely OOM or external kill");
	case 139:
		return cause_set(f, FAIL_DIED, CAUSE_EXITED, "segmentation fault (SIGSEGV)");
	case 143:
		return cause_set(f, FAIL_DIED, CAUSE_EXITED, "terminated by SIGTERM");
	default:
		return cause_set(f, FAIL_DIED, CAUSE_EXITED, "exited with status %d (container status: exited)",
				 exit_code);
	}
}

bool engine_is_meant(const struct engine_state *found, const struct container_ref *ref)
{
	bool marked = ref->mark ? streq(found->mark, ref->mark) : !*found->mark;
	return !ref->store || (streq(found->store, ref->store) && marked);
}

int engine_not_meant(struct fail *f, const char *container)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED,
		  "the container '%s' is not touched: its labels are not those of this session", container);
	return fail_hint(f, "The store may have been changed: `husk history --verify` checks it.");
}
