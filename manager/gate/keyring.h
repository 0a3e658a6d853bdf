/* The secrets of one session, and what is needed to use them: an authority that the session trusts, certificates by
 * name, and the values. It makes the gate's filters for the hosts of the secrets.
 *
 * Everything that the session sees is derived from a key: another server with the same key makes the same placeholders
 * and an equal authority. */
#ifndef HUSK_MANAGER_GATE_KEYRING_H
#define HUSK_MANAGER_GATE_KEYRING_H

#include "base/tls.h"
#include "manager/gate/filter.h"
#include "manager/gate/secret-set.h"

struct keyring;

/* Without secrets yet: until keyring_load(), every connection is refused. */
struct keyring *keyring_new(void);
/* Open connections keep what they use. Accepts NULL, returns NULL. */
struct keyring *keyring_free(struct keyring *k);

/* Sets or replaces the secrets, also for connections that are open. The key is any text, and always the same one for a
 * session; `upstream` verifies hosts. The first set is kept alive, and later ones exchange their content with it;
 * placeholders are filled in here. The context is kept alive; NULL = keyring_set_upstream() follows. -1 with f. */
int keyring_load(struct keyring *k, const char *key, struct secret_set *set, struct tls_context *upstream,
		 struct fail *f);
/* The certificate of the authority, as PEM; NULL before keyring_load(). */
const char *keyring_authority(const struct keyring *k);
/* The placeholder of a secret. The caller owns it. */
char *keyring_placeholder(const char *key, const char *name);

/* As keyring_load(), before the context is there: no host with TLS is reached until it is set. */
void keyring_set_upstream(struct keyring *k, struct tls_context *upstream);

/* The filter for a connection. NULL with f unset: the host has no secret. NULL with f: the connection is refused. */
struct gate_filter *keyring_filter(struct keyring *k, const char *host, uint16_t port, struct fail *f);

#endif
