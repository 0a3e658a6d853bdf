/* Lines of the prompt that are not code: "$ ls", "%checkpoint NAME", "%undo NAME". */
#ifndef HUSK_CLI_REPL_OWN_LINE_H
#define HUSK_CLI_REPL_OWN_LINE_H

#include "base/fail.h"
#include "manager/manager.h"

enum own_line { OWN_NONE, OWN_COMMAND, OWN_CHECKPOINT, OWN_UNDO };

/* The kind of this line. The rest of the line, after the first word, begins at *ret_rest. */
enum own_line own_line_of(const char *line, const char **ret_rest);
/* Fills the action and name of a request; the caller frees *ret_name, which the request uses. -1 with f if the name is
 * missing. */
int own_line_request(enum own_line own, const char *rest, char **ret_name, struct checkpoint_request *ret,
		     struct fail *f);
/* The sentence about an answer, which the caller frees; NULL = nothing to say. */
char *own_line_tell(const struct checkpoint_answer *answer);

#endif
