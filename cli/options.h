/* The command line: one verb and its options. */
#ifndef HUSK_CLI_OPTIONS_H
#define HUSK_CLI_OPTIONS_H

#include "base/fail.h"

enum verb {
	VERB_HELP,
	VERB_VERSION,
	VERB_MCP,
	VERB_DEMO,
	VERB_DOCTOR,
	VERB_PS,
	VERB_STOP,
	VERB_GC,
	VERB_EXPORTS,
	VERB_HISTORY,
};

struct options {
	enum verb verb;
	const char *env_file; /* NULL = the default place; points into argv */
	bool json;	      /* doctor, ps, gc, exports, history */
	bool probe;	      /* doctor */
	bool watch;	      /* ps */
	bool verify;	      /* history */
	bool all;	      /* stop, exports */
	const char *thread;   /* exports; points into argv */
	const char *session;  /* stop, history; points into argv */
	bool fixtures;	      /* mcp, hidden: mcp/fixtures.h */
};

/* -1 with f saying what is wrong. Prints nothing. */
int options_parse(struct options *o, int argc, char **argv, struct fail *f);
void options_usage(FILE *to);

#endif
