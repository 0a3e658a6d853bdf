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
