#include "cli/repl/own-line.h"

#include "base/alloc.h"

enum own_line own_line_of(const char *line, const char **ret_rest)
{
	static const struct {
		const char *word;
		enum own_line means;
	} known[] = { { "$", OWN_COMMAND },  { "%checkpoint", OWN_CHECKPOINT },
		      { "%undo", OWN_UNDO }, { "%branch", OWN_BRANCH },
		      { "%keep", OWN_KEEP }, { "%drop", OWN_DROP } };
	size_t n = strcspn(line, " \n");
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strlen(known[i].word) != n || strncmp(line, known[i].word, n) != 0)
			continue;
		*ret_rest = line[n] ? line + n + 1 : line + n;
		return known[i].means == OWN_COMMAND && !**ret_rest ? OWN_NONE : known[i].means;
	}
	return OWN_NONE;
}

int own_line_request(enum own_line own, const char *rest, char **ret_name, struct checkpoint_request *ret,
		     struct fail *f)
{
	static const enum checkpoint_action actions[] = { [OWN_CHECKPOINT] = CHECKPOINT_SAVE,
							  [OWN_UNDO] = CHECKPOINT_UNDO,
							  [OWN_KEEP] = CHECKPOINT_KEEP,
							  [OWN_DROP] = CHECKPOINT_DROP };
	static const char *const lacks[] = { [OWN_CHECKPOINT] = "%checkpoint needs a name",
					     [OWN_UNDO] = "%undo needs the name of a checkpoint, or a run's number",
					     [OWN_KEEP] = "%keep needs the name of a branch",
					     [OWN_DROP] = "%drop needs the name of a checkpoint or of a branch" };
	size_t n = strcspn(rest, " \n");
	ret->action = actions[own];
	if (n) {
		ret->name = *ret_name = xstrndup(rest, n);
		return 0;
	}
	fail_set(f, FAIL_INVALID, "%s", lacks[own]);
	return fail_hint(f, "Type: %%checkpoint before, and later: %%undo before.");
}

bool own_line_is(const char *line)
{
	return own_line_of(line, &(const char *){ NULL }) != OWN_NONE;
}

char *own_line_enter(const char *rest, char branch[BRANCH_NAME_MAX + 1])
{
	size_t n = MIN(strcspn(rest, " \n"), (size_t)BRANCH_NAME_MAX);
	memcpy(branch, rest, n);
	branch[n] = '\0';
	return n ? xasprintf("Code now runs in the branch '%s'. %%branch returns to the main interpreter.", branch) :
		   xstrdup("Code now runs in the main interpreter.");
}

char *own_line_tell(const struct checkpoint_answer *answer)
{
	if (answer->saved)
		return xasprintf("The checkpoint '%s' has the variables after run %llu.",
				 answer->saved->name ? answer->saved->name : "",
				 (unsigned long long)answer->saved->run);
	return answer->note ? xstrdup(answer->note) : NULL;
}
