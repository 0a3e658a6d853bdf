/* The verbs of husk. One table serves --help, husk(1) and the check of each verb's options. A new verb needs a number,
 * a row in cli/verbs.c, and rows in cli/options.c for options that no other verb has. */
#ifndef HUSK_CLI_VERBS_H
#define HUSK_CLI_VERBS_H

#include "base/help.h"

/* Within a group, the help lists verbs in this order. */
enum verb {
	VERB_NONE,
	VERB_MCP,
	VERB_SERVE,
	VERB_UI,
	VERB_JUPYTER,
	VERB_RUN,
	VERB_REPL,
	VERB_SHELL,
	VERB_OPEN,
	VERB_GATE,
	VERB_CP,
	VERB_PS,
	VERB_STOP,
	VERB_HISTORY,
	VERB_EXPORTS,
	VERB_GC,
	VERB_SETUP,
	VERB_KEYS,
	VERB_SECRET,
	VERB_DOCTOR,
	VERB_CONFIG,
	VERB_DEMO,
	VERB_HELP,
	VERB_VERSION,
	N_VERBS,
};

/* Its verbs are indexed by enum verb. Entries without a name (VERB_NONE, VERB_VERSION) are not verbs for users. */
extern const struct help_program husk_help;

#endif
