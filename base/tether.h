/* Runs a program that ends with its parent, even if the parent is killed. A child that is started directly would outlive
 * it. */
#ifndef HUSK_BASE_TETHER_H
#define HUSK_BASE_TETHER_H

#include "base/defs.h"

/* Exit status if the program cannot be run. */
#define TETHER_NO_PROGRAM 127

/* Becomes argv[0], looked up in PATH, which is killed when the process `parent` ends. Call it in a process that `parent`
 * started. Returns an exit status on failure, after a sentence on stderr. */
int tether_run(const char *parent, char *const *argv);

#endif
