/* The session that run and repl create, as their options describe it. */
#ifndef HUSK_CLI_FRESH_H
#define HUSK_CLI_FRESH_H

#include "cli/options.h"
#include "manager/manager.h"

struct fresh {
	/* The options must outlive the request. on_output is set; ctx and on_done are not. */
	struct create_request request;
	struct strv env_text, dependency_text;
	struct env_var *env;
	struct dependency *dependencies;
	size_t n_dependencies;
};

/* language may be a name that runtime_find() does not know; NULL = the first runtime. more: further dependencies, as
 * pairs of name and version; NULL = only those of the options. Returns an exit code; unless it is EXIT_DONE, the error
 * has been printed. Call fresh_release() in any case. */
int fresh_take(struct fresh *fresh, const struct options *options, const struct config *config, const char *language,
	       const struct strv *more);
void fresh_release(struct fresh *fresh);

#endif
