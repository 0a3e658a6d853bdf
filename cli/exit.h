/* Exit codes of all verbs; docs/husk.1 has the same list. */
#ifndef HUSK_CLI_EXIT_H
#define HUSK_CLI_EXIT_H

enum {
	EXIT_DONE = 0,
	EXIT_NO =
		1, /* doctor: a check failed; stop, history: there is no such session; history --verify: the log is not what was written */
	EXIT_USAGE = 100,  /* wrong usage, or a bad setting */
	EXIT_SYSTEM = 111, /* the system, the engine or the store failed */
};

#endif
