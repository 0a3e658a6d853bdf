/* The secrets of one session with their values, as the gate uses them. The set is shared by the connections that use
 * it. Its content can be replaced while they are open. */
#ifndef HUSK_MANAGER_GATE_SECRET_SET_H
#define HUSK_MANAGER_GATE_SECRET_SET_H

#include "base/buf.h"
#include "base/strv.h"
#include "manager/model/secret.h"

/* Each placeholder begins with this, followed by random characters that need no encoding in an address. */
#define SECRET_PLACEHOLDER "husk-secret-"
#define SECRET_PLACEHOLDER_RANDOM 26
#define SECRET_PLACEHOLDER_CHARS (sizeof(SECRET_PLACEHOLDER) - 1 + SECRET_PLACEHOLDER_RANDOM)

struct gate_secret {
	char *name;
	char *placeholder;
	char *value;	   /* wiped */
	struct strv hosts; /* "name:port" */
	/* Where it may be used. With none of them: in any header. */
	char *header; /* in lower case */
	char *query;  /* name of a parameter */
	char *basic;  /* name of a user */
	/* A login (gate/login.h): the gate itself adds it, to requests below these paths alone. */
	struct strv paths; /* decoded; each ends with '/'. Empty = not a login */
	struct strv raw;   /* the same paths, encoded */
	bool plain;	   /* its hosts speak HTTP without TLS */
	int rejected;	   /* the status with which a host has rejected it; 0 = it has not */
};

struct secret_set {
	struct gate_secret *v;
	size_t n;
	unsigned references;
};

/* An empty set with one reference. */
struct secret_set *secret_set_new(void);
struct secret_set *secret_set_ref(struct secret_set *s);
/* Wipes the values with the last reference. Accepts NULL, returns NULL. */
struct secret_set *secret_set_unref(struct secret_set *s);
/* Adds an empty secret, which the caller fills. Pointers to other secrets of the set become invalid. */
struct gate_secret *secret_set_add(struct secret_set *s);
/* Exchanges the content of both sets. */
void secret_set_swap(struct secret_set *a, struct secret_set *b);
/* True if the secret may be used for this host and port. */
bool gate_secret_is_for(const struct gate_secret *s, const char *host, uint16_t port);
/* The first secret for this host and port, or NULL. */
const struct gate_secret *secret_set_find(const struct secret_set *s, const char *host, uint16_t port);
/* True if some secret is for this host and port. */
bool secret_set_covers(const struct secret_set *s, const char *host, uint16_t port);

/* Copies `text` to `out` with each placeholder of a secret that `allowed` accepts replaced by its value. The number of
 * replacements, or -1 if `out` is full; *ret_used is the name of the last one (unchanged if there was none). */
ssize_t secret_set_fill(const struct secret_set *s, const char *text, size_t n,
			bool (*allowed)(void *ctx, const struct gate_secret *secret), void *ctx, bool escape,
			struct buf *out, const char **ret_used);
/* Copies `text` with each value, also percent-encoded, replaced by its placeholder. True if there was one. */
bool secret_set_hide(const struct secret_set *s, const char *text, size_t n, struct buf *out);

#endif
