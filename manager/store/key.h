/* The key for sealed settings and for the log's chain: ENCRYPTION_KEY, or a key that is created once and kept in a
 * 0600 file in the state folder. */
#ifndef HUSK_MANAGER_STORE_KEY_H
#define HUSK_MANAGER_STORE_KEY_H

#include "base/fail.h"

#define KEY_BYTES 32

struct key {
	char *secret; /* ENCRYPTION_KEY; NULL = the file */
	char *dir;
	uint8_t bytes[KEY_BYTES];
	uint8_t chain[KEY_BYTES]; /* derived from `bytes`, for key_hash() */
	bool loaded;
};

/* Copies its arguments; reads no file. */
void key_init(struct key *k, const char *secret, const char *dir);
/* Wipes the secrets. */
void key_release(struct key *k);

/* Both functions load the key first, which blocks: do not call them on the loop. A text is sealed under a name and
 * cannot be opened under another name. The caller owns *ret. */
int key_seal(struct key *k, const char *name, const char *text, char **ret, struct fail *f);
int key_open(struct key *k, const char *name, const char *sealed, char **ret, struct fail *f);

/* A keyed hash of n bytes (BLAKE2b, 256 bits), as lower-case hex. Loads the key too. */
#define KEY_HASH_SIZE (2 * 32 + 1)
int key_hash(struct key *k, const void *data, size_t n, char ret[KEY_HASH_SIZE], struct fail *f);

#endif
