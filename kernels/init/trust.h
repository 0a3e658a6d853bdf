/* A file with the certificates that programs of a session trust: the usual ones, and the authority from the claim. */
#ifndef HUSK_KERNELS_INIT_TRUST_H
#define HUSK_KERNELS_INIT_TRUST_H

#include "base/strv.h"

/* Appends the authority to the usual certificates in a file below `home`, and adds the variables that make programs
 * read this file to ret. `usual` names the file that programs read so far; NULL = the image's own. Returns 0 or
 * -errno. */
int trust_add(const char *home, const char *usual, const char *authority, struct strv *ret);

#endif
