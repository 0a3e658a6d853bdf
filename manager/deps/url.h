/* Percent-encoding in URLs. */
#ifndef HUSK_MANAGER_DEPS_URL_H
#define HUSK_MANAGER_DEPS_URL_H

#include "base/defs.h"

/* The n bytes with %XX decoded. Malformed escapes are kept, NULs are dropped. The caller owns it. */
char *url_decode(const char *text, size_t n);

#endif
