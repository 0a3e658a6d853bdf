/* For a program that parses hostile bytes and needs nothing but its standard input and output. */
#ifndef HUSK_BASE_CONFINE_H
#define HUSK_BASE_CONFINE_H

#include "base/defs.h"

struct confinement {
	size_t memory;	      /* bytes of address space */
	unsigned cpu_seconds; /* in its whole life */
};

/* From now on this process can read, write, allocate, measure and limit its own time, and exit: it cannot open a file or a socket,
 * start a process or signal one. False if the kernel refuses; the caller must exit then. Libraries have to be loaded before. */
bool confine(const struct confinement *limits);

#endif
