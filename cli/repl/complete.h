/* The Tab key: queries the session for completions, and inserts a single completion or lists several. */
#ifndef HUSK_CLI_REPL_COMPLETE_H
#define HUSK_CLI_REPL_COMPLETE_H

#include "attach/client.h"
#include "cli/repl/prompt.h"

struct complete;

struct complete *complete_new(struct loop *loop, struct prompt *prompt);
/* Accepts NULL, returns NULL. */
struct complete *complete_free(struct complete *c);

/* before has the earlier lines of the cell, each with its line end. An earlier query is dropped. */
void complete_query(struct complete *c, struct attach *attach, const char *session, const char *before,
		    const char *line, size_t cursor);
/* Drops the query, because its answer is no longer needed or the connection was lost. */
void complete_drop(struct complete *c);

#endif
