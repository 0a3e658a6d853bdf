/* A manager without an engine, for tests of the layers above it. The text of a cell says what it does:
 *
 *	wait            never ends (until cancelled)
 *	after MS        ends ok after MS milliseconds
 *	chatter MS      prints a line every 10 ms for MS milliseconds
 *	raise           ends with an error
 *	timeout         ends by timeout, with some output
 *	plot N SIZE     N pictures of about SIZE bytes
 *	…plt.…          one small picture
 *	flood N         N bytes of output
 *	task            becomes a task, if tasks are allowed; it ends only by tasks/cancel
 *	task MS         becomes a task that ends ok after MS milliseconds
 *	anything else   prints itself
 *
 * Conversations with an id are one other conversation, which shares everything with the user's own.
 *
 * The session "gone" is not found, "dead" has died; with FAKE_NO_ENGINE in the environment create fails like a
 * missing engine. */
#ifndef HUSK_TESTS_FAKE_MANAGER_H
#define HUSK_TESTS_FAKE_MANAGER_H

#include "manager/manager.h"

struct fake_counters {
	unsigned created, started, done, cancelled;
	bool adopting;	    /* an earlier server's sessions are being found; one is called "left" */
	bool adopting_long; /* finding them takes longer than clients wait */
	char allowed[256];  /* allowed folders of the last copy, separated by colons */
};

extern struct fake_counters fake;

#endif
