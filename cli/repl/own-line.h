/* Lines of the prompt that are not code: "$ ls", "%checkpoint NAME", "%branch NAME" and so on. */
#ifndef HUSK_CLI_REPL_OWN_LINE_H
#define HUSK_CLI_REPL_OWN_LINE_H

#include "base/fail.h"
#include "manager/manager.h"

/* Those from OWN_CHECKPOINT on are requests. */
enum own_line { OWN_NONE, OWN_COMMAND, OWN_BRANCH, OWN_CHECKPOINT, OWN_UNDO, OWN_KEEP, OWN_DROP };

/* The kind of this line. The rest of the line, after the first word, begins at *ret_rest. */
enum own_line own_line_of(const char *line, const char **ret_rest);
/* False if the line is code, or nothing. */
bool own_line_is(const char *line);
/* Enters the branch that the rest of the line names, or the main interpreter. Returns the sentence about it, which the
 * caller frees. */
char *own_line_enter(const char *rest, char branch[BRANCH_NAME_MAX + 1]);
/* Fills the action and name of a request; the caller frees *ret_name, which the request uses. -1 with f if the name is
 * missing. */
int own_line_request(enum own_line own, const char *rest, char **ret_name, struct checkpoint_request *ret,
		     struct fail *f);
/* The sentence about an answer, which the caller frees; NULL = nothing to say. */
char *own_line_tell(const struct checkpoint_answer *answer);

#endif
