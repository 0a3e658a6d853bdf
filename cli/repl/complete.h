/* The Tab key: asks the session how a line could go on, and types what is sure or lists what is not. */
#ifndef HUSK_CLI_REPL_COMPLETE_H
#define HUSK_CLI_REPL_COMPLETE_H

#include "attach/client.h"
#include "cli/repl/prompt.h"

struct complete;

struct complete *complete_new(struct loop *loop, struct prompt *prompt);
/* Accepts NULL, returns NULL. */
struct complete *complete_free(struct complete *c);

/* before is what the cell has in lines above, each with its end. An earlier question is dropped. */
void complete_query(struct complete *c, struct attach *attach, const char *session, const char *before,
		    const char *line, size_t cursor);
/* Nobody wants to know any more, or the connection is gone. */
void complete_drop(struct complete *c);

#endif
