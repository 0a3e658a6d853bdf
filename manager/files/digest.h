/* Content hashes, by libsodium. Content of up to DIGEST_PIECE bytes has the BLAKE2b of its bytes, as b2sum --length 256 prints it.
 * Longer content is hashed piece by piece, so that several threads can: it has the BLAKE2b of the hashes of its pieces one after
 * the other, personalised with DIGEST_PERSON, so that no content that consists of such hashes has the same one. */
#ifndef HUSK_MANAGER_FILES_DIGEST_H
#define HUSK_MANAGER_FILES_DIGEST_H

#include "base/defs.h"

/* 256 bits, as lower-case hex. */
#define DIGEST_SIZE 65
#define DIGEST_PIECE (4u << 20)
#define DIGEST_PERSON "husk-4MiB-pieces" /* 16 bytes */

struct digest;

struct digest *digest_new(void);
/* Accepts NULL, returns NULL. */
struct digest *digest_free(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t n);
/* In place of digest_add(), piece i of the content, made by itself: all but the last have DIGEST_PIECE bytes. In any order, each
 * once; none may be missing at the end. Takes the piece. */
void digest_put(struct digest *d, size_t i, struct digest *piece);
/* Once. */
void digest_end(struct digest *d, char ret[DIGEST_SIZE]);

/* How the hash of content of this size is made: what stands before it where people read it. */
const char *digest_kind(uint64_t size);

#endif
