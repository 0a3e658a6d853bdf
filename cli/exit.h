/* Exit codes of all verbs; docs/husk.1 has the same list. */
#ifndef HUSK_CLI_EXIT_H
#define HUSK_CLI_EXIT_H

enum {
	EXIT_DONE = 0,
	/* doctor: a check failed; stop, history: no such session; history --verify: the log was changed; run: an error */
	EXIT_NO = 1,
	/* The user's mistake: wrong usage, a bad setting, a file that cannot be read, packages that cannot be
	 * installed, a limit that was reached. The value is EX_USAGE of sysexits.h. */
	EXIT_USAGE = 64,
	EXIT_SYSTEM = 111, /* the system, the engine or the store failed */
	/* The codes below are for run and repl; shell and cp use only 128 plus a signal. If the program itself has an
	 * exit code, that code takes precedence. */
	EXIT_TIME = 124,
	EXIT_SIGNALLED = 128, /* plus the signal's number */
	EXIT_INTERRUPTED = 130,
	EXIT_MEMORY = 137,
};

#endif
