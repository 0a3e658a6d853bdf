/* Content hashes. Content of up to DIGEST_PIECE bytes is hashed with BLAKE2b, as by b2sum --length 256.
 *
 * Longer content is hashed in pieces, so that several threads can share the work, and with SHA-256, for which CPUs
 * have instructions. Its hash is the SHA-256 of the concatenated hashes of its pieces, 32 bytes each. */
#ifndef HUSK_MANAGER_FILES_DIGEST_H
#define HUSK_MANAGER_FILES_DIGEST_H

#include "base/defs.h"

/* 256 bits, as lower-case hex. */
#define DIGEST_SIZE 65
#define DIGEST_PIECE (4u << 20)
#define DIGEST_ANY_SIZE UINT64_MAX

struct digest;

/* Hashes content of this size, or one piece of it for digest_put(). With DIGEST_ANY_SIZE, the first piece is
 * hashed by both methods. */
struct digest *digest_new(uint64_t size);
/* Accepts NULL, returns NULL. */
struct digest *digest_free(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t n);
/* Instead of digest_add(): adds piece i of the content, which was hashed separately. All pieces but the last have
 * DIGEST_PIECE bytes. They may come in any order, each once, and none may be missing at the end. Takes ownership of
 * the piece. */
void digest_put(struct digest *d, size_t i, struct digest *piece);
/* Call it once. */
void digest_end(struct digest *d, char ret[DIGEST_SIZE]);

/* Name of the method for content of this size. Texts for people show it before the hash. */
const char *digest_kind(uint64_t size);

#endif
