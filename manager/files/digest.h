/* Content hashes. Content of up to DIGEST_PIECE bytes has the BLAKE2b of its bytes, as b2sum --length 256 prints it. Longer content
 * is hashed piece by piece, so that several threads can, with SHA-256, for which CPUs have instructions: it has the SHA-256 of the
 * hashes of its pieces, 32 bytes each, one after the other. */
#ifndef HUSK_MANAGER_FILES_DIGEST_H
#define HUSK_MANAGER_FILES_DIGEST_H

#include "base/defs.h"

/* 256 bits, as lower-case hex. */
#define DIGEST_SIZE 65
#define DIGEST_PIECE (4u << 20)
#define DIGEST_ANY_SIZE UINT64_MAX

struct digest;

/* Of content of that many bytes, or of one piece of it, for digest_put(). With DIGEST_ANY_SIZE, the first piece is hashed in both ways. */
struct digest *digest_new(uint64_t size);
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
