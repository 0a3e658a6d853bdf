/* The values of secrets that sessions of this server use. They are read from the store when a session is created or
 * adopted, and again when a secret was changed: a few seconds after it was removed, by any server, no session can use a
 * secret, not even on connections that are open.
 *
 * What a session sees (placeholders and an authority) follows from its id and the store's key, so the next server of the
 * session makes the same. */
#ifndef HUSK_MANAGER_REGISTRY_SECRET_VALUES_H
#define HUSK_MANAGER_REGISTRY_SECRET_VALUES_H

#include "base/loop.h"
#include "manager/gate/keyring.h"
#include "manager/model/config.h"
#include "manager/model/env.h"
#include "manager/store/store.h"

/* How long a change by another server may go unnoticed. */
#define SECRETS_CHECK_MS 4000

struct secret_values;
/* They must outlive it. Nothing is read yet. */
struct secret_values *secret_values_new(struct loop *loop, const struct config *config, struct store *store);
/* Accepts NULL, returns NULL. Its sessions must have been freed. */
struct secret_values *secret_values_free(struct secret_values *v);
/* A secret was changed through this server: sessions get the new values at once. */
void secret_values_changed(struct secret_values *v);

/* --- reading ------------------------------------------------------------------------------------------------------- */

struct secret_reading;
struct secret_read {
	const char *conversation; /* its tenant has the secrets */
	const char *names;	  /* separated by blanks */
	/* The set is borrowed: secret_set_ref() it. NULL with f if a secret is missing or cannot be read. */
	void (*on_done)(void *ctx, struct secret_set *set, const struct fail *f);
	void *ctx;
};
/* Copies its strings. on_done is called once, later. */
struct secret_reading *secret_values_read(struct secret_values *v, const struct secret_read *request);
/* Accepts NULL. No callback follows. */
void secret_reading_cancel(struct secret_reading *r);

/* --- the secrets of one session ------------------------------------------------------------------------------------ */

struct session_secrets;
/* The names are separated by blanks. Until they are given or read, every connection is refused. Strings are copied. */
struct session_secrets *session_secrets_new(struct secret_values *v, const char *session, const char *conversation,
					    const char *names);
/* Accepts NULL, returns NULL. */
struct session_secrets *session_secrets_free(struct session_secrets *s);
/* For a new session: takes the values that were read, and adds the placeholders to its variables. -1 with f. */
int session_secrets_give(struct session_secrets *s, struct secret_set *set, struct strv *env, struct fail *f);
/* For an adopted session: reads the values. */
void session_secrets_read(struct session_secrets *s);
/* Both accept NULL: the certificate that the session must trust, and the names. NULL = none. */
const char *session_secrets_authority(const struct session_secrets *s);
const char *session_secrets_names(const struct session_secrets *s);
/* The filters for the session's gate (gate_set_filters()); ctx is the struct session_secrets. */
struct gate_filter *session_secrets_filter(void *ctx, const char *name, uint16_t port, struct fail *f);

/* --- the names in a request ---------------------------------------------------------------------------------------- */

/* 0, or -1 with f: names of secrets must be valid and different, and none may be a variable of `env` too. */
int secrets_check(const struct secret_names *names, const struct env_var *env, size_t n_env, struct fail *f);

#endif
