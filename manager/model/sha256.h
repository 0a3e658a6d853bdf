/* SHA-256 of data that comes in pieces, with libsodium. */
#ifndef HUSK_MANAGER_MODEL_SHA256_H
#define HUSK_MANAGER_MODEL_SHA256_H

#include "base/defs.h"

/* Hex digits and a NUL. */
#define SHA256_SIZE 65

struct sha256;

/* Never returns NULL. */
struct sha256 *sha256_new(void);
void sha256_add(struct sha256 *s, const void *data, size_t n);
/* Ends it: nothing may be added afterwards. */
void sha256_end(struct sha256 *s, char ret[SHA256_SIZE]);
/* Accepts NULL, returns NULL. */
struct sha256 *sha256_free(struct sha256 *s);
/* The hash of one piece. */
void sha256_of(const void *data, size_t n, char ret[SHA256_SIZE]);

#endif
