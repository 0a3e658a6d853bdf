/* Confines a program that parses hostile bytes and needs only its standard input and output. */
#ifndef HUSK_BASE_CONFINE_H
#define HUSK_BASE_CONFINE_H

#include "base/defs.h"

struct confinement {
	size_t memory;	      /* bytes of address space */
	unsigned cpu_seconds; /* over its whole life */
};

/* From now on this process can read, write, allocate, measure and limit its own time, and exit. It cannot open a file
 * or a socket, or start or signal a process. Returns false if the kernel refuses; the caller must then exit. Load all
 * libraries before this call. */
bool confine(const struct confinement *limits);

#endif
