/* The verbs of husk: one table for --help, husk(1) and the check which options a verb takes. A new verb needs a number, a row of
 * cli/verbs.c, and rows of cli/options.c for options that no other verb has. */
#ifndef HUSK_CLI_VERBS_H
#define HUSK_CLI_VERBS_H

#include "base/help.h"

/* Their order is that of the help, within the groups. */
enum verb {
	VERB_NONE,
	VERB_MCP,
	VERB_JUPYTER,
	VERB_RUN,
	VERB_REPL,
	VERB_SHELL,
	VERB_CP,
	VERB_PS,
	VERB_STOP,
	VERB_HISTORY,
	VERB_EXPORTS,
	VERB_GC,
	VERB_SETUP,
	VERB_DOCTOR,
	VERB_CONFIG,
	VERB_DEMO,
	VERB_HELP,
	VERB_VERSION,
	N_VERBS,
};

/* Its verbs are indexed by enum verb; those without a name (VERB_NONE, VERB_VERSION) are not verbs on the command line. */
extern const struct help_program husk_help;

#endif
