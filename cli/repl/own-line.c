#include "cli/repl/own-line.h"

#include "base/alloc.h"

enum own_line own_line_of(const char *line, const char **ret_rest)
{
	static const struct {
		const char *word;
		enum own_line means;
	} known[] = { { "$", OWN_COMMAND }, { "%checkpoint", OWN_CHECKPOINT }, { "%undo", OWN_UNDO } };
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
	size_t n = strcspn(rest, " \n");
	ret->action = own == OWN_UNDO ? CHECKPOINT_UNDO : CHECKPOINT_SAVE;
	if (n) {
		ret->name = *ret_name = xstrndup(rest, n);
		return 0;
	}
	fail_set(f, FAIL_INVALID, "%s",
		 own == OWN_UNDO ? "%undo needs the name of a checkpoint, or a run's number" :
				   "%checkpoint needs a name");
	return fail_hint(f, "Type: %%checkpoint before, and later: %%undo before.");
}

char *own_line_tell(const struct checkpoint_answer *answer)
{
	if (answer->saved)
		return xasprintf("The checkpoint '%s' has the variables after run %llu.",
				 answer->saved->name ? answer->saved->name : "",
				 (unsigned long long)answer->saved->run);
	return answer->note ? xstrdup(answer->note) : NULL;
}
