/* Keys that were checked lately, so that not every request asks the store. A removed key may be accepted for
 * KNOWN_KEY_MS more. */
#ifndef HUSK_MANAGER_REGISTRY_KNOWN_KEYS_H
#define HUSK_MANAGER_REGISTRY_KNOWN_KEYS_H

#include "manager/manager.h"

#define KNOWN_KEY_MS 5000

struct known_keys;

/* Accepts NULL, returns NULL. */
struct known_keys *known_keys_free(struct known_keys *k);
/* *k is made if it is NULL. Only a hash of the text is kept. */
void known_keys_add(struct known_keys **k, const char *text, const struct key_info *info);
const struct key_info *known_keys_find(const struct known_keys *k, const char *text);
/* Forgets all of them, since one was removed. */
void known_keys_forget(struct known_keys *k);

#endif
