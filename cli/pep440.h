/* Versions of Python and of its packages, compared as PEP 440 says. */
#ifndef HUSK_CLI_PEP440_H
#define HUSK_CLI_PEP440_H

#include "base/defs.h"

/* Whether a version meets a limit such as ">=" "3.9" or "==" "3.*". 1, 0, or -1 if the operator and the limit do not
 * form a specifier of PEP 440. Text that is not a version meets only "===" with the same text. Versions with more
 * than 16 parts, or with a number above 18 digits, count as text. */
int pep440_meets(const char *version, const char *op, const char *limit);

#define PEP440_PATCHES 3
#define PEP440_PATCH_MAX 48
/* Patch releases of a minor version ("3.13") that show whether a comparison with `limit` depends on the patch: the
 * first, a late one, and that of the limit. */
void pep440_patches(const char *minor, const char *limit, char ret[PEP440_PATCHES][PEP440_PATCH_MAX]);

#endif
