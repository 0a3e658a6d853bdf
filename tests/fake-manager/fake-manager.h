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
 *	task            becomes a task, if it may; that ends when tasks/cancel asks for it, else never
 *	task MS         likewise, and ends ok after MS milliseconds
 *	anything else   prints itself
 *
 * The session "gone" is not found, "dead" has died; with FAKE_NO_ENGINE in the environment create fails like a
 * missing engine. */
#ifndef HUSK_TESTS_FAKE_MANAGER_H
#define HUSK_TESTS_FAKE_MANAGER_H

#include "manager/manager.h"

struct fake_counters {
	unsigned created, started, done, cancelled;
	bool adopting;	    /* the sessions of an earlier server are being found: one called "left" */
	bool adopting_long; /* and that takes longer than clients wait */
	char allowed[256];  /* of the last copy: its folders, with colons between them */
};

extern struct fake_counters fake;

#endif
