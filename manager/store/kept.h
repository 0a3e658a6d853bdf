/* Settings that husk config keeps: sealed, in a SQLite file of their own in the state folder, whatever database the rest is in (one
 * of them may say which). Without that file there are none, and nothing is opened.
 *
 * These calls block, for at most a few seconds: they are for the start of a program, before there is a loop. */
#ifndef HUSK_MANAGER_STORE_KEPT_H
#define HUSK_MANAGER_STORE_KEPT_H

#include "base/fail.h"
#include "base/strv.h"

/* Where they are, and what seals them: ENCRYPTION_KEY, or NULL for the key in that folder. */
struct kept_place {
	const char *state_dir;
	const char *secret;
};

/* NAME=value of each, at the end of ret. */
int kept_read(const struct kept_place *place, struct strv *ret, struct fail *f);
/* value NULL removes it: FAIL_NOT_FOUND if it is not kept. */
int kept_put(const struct kept_place *place, const char *name, const char *value, struct fail *f);

#endif
