/* Settings that husk config stores. They are sealed, in a separate SQLite file in the state folder, because a
 * setting may choose which database the store uses. If the file is missing, there are no settings, and nothing is
 * opened.
 *
 * These functions block for up to a few seconds. Use them at the start of a program, before the loop. */
#ifndef HUSK_MANAGER_STORE_KEPT_H
#define HUSK_MANAGER_STORE_KEPT_H

#include "base/fail.h"
#include "base/strv.h"

/* Where the settings are, and the secret that seals them: ENCRYPTION_KEY, or NULL for the key file in that folder. */
struct kept_place {
	const char *state_dir;
	const char *secret;
};

/* Appends NAME=value for each setting to ret. */
int kept_read(const struct kept_place *place, struct strv *ret, struct fail *f);
/* A NULL value removes the setting: FAIL_NOT_FOUND if it is not there. */
int kept_put(const struct kept_place *place, const char *name, const char *value, struct fail *f);

#endif
