/* Package indexes that need a login, as plain data: where each really is, what may be asked of it, and the local address under which
 * an installer finds it. The login stays here. Nothing in this file contacts anything. */
#ifndef HUSK_MANAGER_DEPS_UPSTREAM_H
#define HUSK_MANAGER_DEPS_UPSTREAM_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/strv.h"
#include "kernels/protocol.h"

/* Below what the kernel hands out by itself. */
#define UPSTREAM_PORT_FIRST 8701

/* One origin with one login. */
struct upstream {
	char *origin; /* "https://host" or "https://host:8443": lower case, no login, no default port */
	char *user, *password;
	struct strv paths; /* of the indexes on it, decoded; each ends with '/' */
	struct strv raw;   /* beside them: as they are in the settings, encoded */
	uint16_t port;	   /* of 127.0.0.1 in the container */
};

struct upstreams {
	struct upstream v[RELAY_PORTS_MAX];
	size_t n;
};

void upstreams_release(struct upstreams *u);
/* Takes index settings (NAME=value, with logins) apart: each URL with a login becomes an upstream, and env gets the settings as an
 * installer may see them, with local addresses in the place of such URLs. -1 with f if one makes no sense or there are too many;
 * the message holds no login. */
int upstreams_take(struct upstreams *ret, struct strv *env, const struct strv *sources, struct fail *f);
const struct upstream *upstreams_find(const struct upstreams *u, uint16_t port);
/* Text from inside the container, with real addresses in the place of local ones, at the end of out. */
void upstreams_show(const struct upstreams *u, struct buf *out, const char *text, size_t n);

/* "http://127.0.0.1:8701"; the caller owns it. */
char *upstream_local(const struct upstream *u);
/* If the URL is one of this origin: its path, query and fragment (borrowed from it, "" if it ends with the host), else NULL. A login
 * in it does not matter. */
const char *upstream_rest(const struct upstream *u, const char *url);
/* The path of a request or link, decoded, without query and fragment: NULL unless it is plain. Servers read dots, semicolons,
 * backslashes and encoded separators in different ways, so none of them is passed on; what may be encoded are characters of names.
 * Two exceptions: npm's "@scope%2fname", and what the settings themselves have encoded in the path of an index. The caller owns it. */
char *upstream_path(const struct upstream *u, const char *target);
/* A decoded path is below one of the indexes. */
bool upstream_covers(const struct upstream *u, const char *path);

#endif
