/* The setting CONTAINER_POOL: NAME=ENDPOINT, separated by commas. */
#ifndef HUSK_MANAGER_MODEL_POOL_H
#define HUSK_MANAGER_MODEL_POOL_H

#include "base/fail.h"
#include "base/strv.h"

/* The longest name of a host, with its NUL. A name has lower-case letters, digits and hyphens. */
#define POOL_HOST_SIZE 21
#define POOL_HOSTS_MAX 64

struct pool_hosts {
	struct strv names;
	struct strv endpoints; /* context:NAME, tcp://HOST:PORT, ssh://[USER@]HOST[:PORT] or unix:///PATH */
};

/* -1 with f: the text is not valid; it names what is wrong. */
int pool_hosts_parse(const char *text, struct pool_hosts *ret, struct fail *f);
void pool_hosts_release(struct pool_hosts *h);

/* The name of a container on a host of a pool: its random name, a dot, and the host. So every server knows the host. */
#define POOL_SEPARATOR '.'
/* NULL = the name has none. */
const char *pool_host_of(const char *container);

#endif
