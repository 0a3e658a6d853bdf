/* Names of checkpoints, on both sides of the line. */
#ifndef HUSK_KERNELS_CHECKPOINT_NAME_H
#define HUSK_KERNELS_CHECKPOINT_NAME_H

#include <string.h>

#include "base/defs.h"

#define CHECKPOINT_NAME_MAX 64
#define CHECKPOINT_NAME_RULE                                                                                           \
	"A name has 1 to 64 letters, digits, '-', '_' and '.', and begins with a letter: a number names a run."

static inline bool checkpoint_name_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t n = strlen(name);
	return n && n <= CHECKPOINT_NAME_MAX && strchr(letters, *name) && strspn(name, others) == n;
}

#endif
