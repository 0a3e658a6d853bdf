/* Shortens lists of versions in an installer's output. */
#ifndef HUSK_MANAGER_DEPS_VERSIONS_H
#define HUSK_MANAGER_DEPS_VERSIONS_H

#include "base/buf.h"

/* Appends n bytes of text to out. A list such as "name==1.2 (from versions: …)" may have thousands of versions; only
 * the five nearest are kept. */
void versions_shorten(struct buf *out, const char *text, size_t n);

#endif
