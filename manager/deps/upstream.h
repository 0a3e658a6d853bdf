/* Package indexes that need a login, as plain data: their real address, what may be requested from them, and the
 * local address that an installer uses. The login stays here. Nothing in this file uses the network. */
#ifndef HUSK_MANAGER_DEPS_UPSTREAM_H
#define HUSK_MANAGER_DEPS_UPSTREAM_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/strv.h"
#include "kernels/protocol.h"

/* Below the range of ports that the kernel assigns automatically. */
#define UPSTREAM_PORT_FIRST 8701

/* One origin with one login. */
struct upstream {
	char *origin; /* "https://host" or "https://host:8443": lower case, no login, no default port */
	char *user, *password;
	struct strv paths; /* decoded paths of the indexes on it; each ends with '/' */
	struct strv raw;   /* the same paths as in the settings, encoded */
	uint16_t port;	   /* on 127.0.0.1 in the container */
};

struct upstreams {
	struct upstream v[RELAY_PORTS_MAX];
	size_t n;
};

void upstreams_release(struct upstreams *u);
/* Parses index settings (NAME=value, with logins). Each URL with a login becomes an upstream, and env gets the
 * settings for an installer, with local addresses in place of such URLs. -1 with f if a URL is not valid or there
 * are too many; the message never contains a login. */
int upstreams_take(struct upstreams *ret, struct strv *env, const struct strv *sources, struct fail *f);
const struct upstream *upstreams_find(const struct upstreams *u, uint16_t port);
/* Appends text from inside the container to out, with real addresses in place of local ones. */
void upstreams_show(const struct upstreams *u, struct buf *out, const char *text, size_t n);

/* "http://127.0.0.1:8701"; the caller owns it. */
char *upstream_local(const struct upstream *u);
/* If the URL belongs to this origin: its path, query and fragment (borrowed, "" if it ends with the host), else
 * NULL. A login in it is ignored. */
const char *upstream_rest(const struct upstream *u, const char *url);
/* The decoded path of a request or link, without query and fragment; NULL unless it is plain. Servers read dots,
 * semicolons, backslashes and encoded separators in different ways, so none of them is passed on; only characters
 * of names may be encoded. There are two exceptions: npm's "@scope%2fname", and what the settings have encoded in
 * the path of an index. The caller owns it. */
char *upstream_path(const struct upstream *u, const char *target);
/* True if a decoded path is below one of the indexes. */
bool upstream_covers(const struct upstream *u, const char *path);

#endif
