/* The key of sealed settings: ENCRYPTION_KEY, or one that is made once and kept in a 0600 file of the state folder. */
#ifndef HUSK_MANAGER_STORE_KEY_H
#define HUSK_MANAGER_STORE_KEY_H

#include "base/fail.h"

#define KEY_BYTES 32

struct key {
	char *secret; /* ENCRYPTION_KEY; NULL = the file */
	char *dir;
	uint8_t bytes[KEY_BYTES];
	bool loaded;
};

/* Copies; reads nothing. */
void key_init(struct key *k, const char *secret, const char *dir);
/* Wipes what was secret. */
void key_release(struct key *k);

/* Both load the key first, which blocks: not on the loop. The text is bound to its name: under another one it does not open.
 * The caller owns *ret. */
int key_seal(struct key *k, const char *name, const char *text, char **ret, struct fail *f);
int key_open(struct key *k, const char *name, const char *sealed, char **ret, struct fail *f);

#endif
