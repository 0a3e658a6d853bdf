/* The promises of base/args about values that it accepts and problems that it reports. */
#ifndef HUSK_TESTS_FUZZ_DECODED_H
#define HUSK_TESTS_FUZZ_DECODED_H

#include "base/args.h"

/* True if every value is within its schema. If `defaults` is false, *decoded held none, and only values of `args` are
 * checked. */
bool decoded_fits(const struct arg *table, const json_t *args, const void *decoded, bool defaults);
/* The problems as one text, which the caller frees. NULL if it is empty, too long or not valid. */
char *decoded_problems(const json_t *problems);

#endif
