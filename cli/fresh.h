/* What a fresh session is to be, as the options say it: for run and repl. */
#ifndef HUSK_CLI_FRESH_H
#define HUSK_CLI_FRESH_H

#include "cli/options.h"
#include "manager/manager.h"

struct fresh {
	/* The options must outlive it. on_output is set; ctx and on_done are not. */
	struct create_request request;
	struct strv env_text, dependency_text;
	struct env_var *env;
	struct dependency *dependencies;
	size_t n_dependencies;
};

/* language is a name that runtime_find() knows, or not; NULL = the first. Returns an exit code, and has said what is wrong unless it is
 * EXIT_DONE. Release it in any case. more: names and versions of dependencies beside those of the options, in pairs; NULL = none. */
int fresh_take(struct fresh *fresh, const struct options *options, const struct config *config, const char *language,
	       const struct strv *more);
void fresh_release(struct fresh *fresh);

#endif
