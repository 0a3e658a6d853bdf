/* Branches that runs name: an interpreter each, with its own queue. */
#include "kernels/checkpoint-name.h"
#include "manager/line/run-private.h"

bool run_is_behind(const struct run *run)
{
	list_for_each(other, &run->dispatch->runs, struct run, node) {
		if (other == run)
			break;
		if (other->kind == run->kind && streq(other->branch, run->branch) && !other->ended && !other->beside)
			return true;
	}
	return false;
}

int run_check_branch(const struct dispatch *d, const struct run_spec *spec, struct fail *f)
{
	if (!spec->branch)
		return 0;
	if (spec->kind != RUN_CODE || spec->restart) {
		cause_set(f, FAIL_INVALID, CAUSE_NO_BRANCH, "%s",
			  spec->restart ? "a branch cannot be restarted" : "only cells run in a branch");
		return fail_hint(f, "Drop the branch, and make another one.");
	}
	if (!checkpoint_name_valid(spec->branch)) {
		cause_set(f, FAIL_INVALID, CAUSE_NO_BRANCH, "the name of the branch is not valid");
		return fail_hint(f, CHECKPOINT_NAME_RULE);
	}
	if (!d->open || d->has_branches)
		return 0;
	cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
		  "this session was created by an older Husk, which does not support branches");
	return fail_hint(f, "Rebuild the images, then create a new session.");
}
