/* Content hashes, by libsodium. */
#ifndef HUSK_MANAGER_FILES_DIGEST_H
#define HUSK_MANAGER_FILES_DIGEST_H

#include "base/defs.h"

/* BLAKE2b, 256 bits, as lower-case hex. */
#define DIGEST_SIZE 65

struct digest;

struct digest *digest_new(void);
struct digest *digest_free(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t n);
/* Once. */
void digest_end(struct digest *d, char ret[DIGEST_SIZE]);

#endif
