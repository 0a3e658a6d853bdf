/* `kubectl proxy` as a child, and HTTP over its unix socket. kubectl handles contexts, certificates, tokens and login
 * plugins. It is started at the first use, and again if it has ended.
 *
 * Any user who can open the socket has kubectl's rights, so it is in a folder with mode 0700, and the proxy passes on
 * only the paths that Husk uses. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_PROXY_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_PROXY_H

#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/client.h"

struct proxy;

struct proxy_spec {
	struct loop *loop;
	const char *program;   /* kubectl */
	const char *helper;    /* a program with the command `tether`; NULL = this one */
	const char *context;   /* NULL = kubectl's current one */
	const char *namespace; /* the only one that it passes on */
	const char *folder;    /* where the folder of the socket is created */
};

/* Strings are copied. Starts nothing. */
struct proxy *proxy_new(const struct proxy_spec *spec);
/* Free its requests and waits first. Accepts NULL, returns NULL. */
struct proxy *proxy_free(struct proxy *p);

struct proxy_wait {
	struct list node;
	/* f is NULL if the proxy accepts requests. The wait is over; the callback may free its memory. */
	void (*fn)(void *ctx, const struct fail *f);
	void *ctx;
};

/* Calls wait->fn from the loop, once. */
void proxy_get(struct proxy *p, struct proxy_wait *wait);
/* Ends the wait without a call. For an initialized node; idempotent. */
void proxy_forget(struct proxy_wait *wait);
/* Valid after a wait and until proxy_free(), even if the proxy is started again. */
struct http_client *proxy_client(const struct proxy *p);

#endif
