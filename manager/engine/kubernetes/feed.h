/* Husk's pods, kept up to date: a list, then a watch from its version, with bookmarks. A watch ends without a
 * word at timeouts and with the API server; it is then continued. If the server has forgotten the version (410), the
 * pods are listed again, and pods that are gone are reported as deleted. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_FEED_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_FEED_H

#include "manager/engine/kubernetes/pod.h"
#include "manager/engine/kubernetes/proxy.h"

struct feed;

struct feed_spec {
	struct loop *loop;
	struct proxy *proxy;
	const char *namespace; /* must stay valid */
};

/* Starts at once. */
struct feed *feed_new(const struct feed_spec *spec);
/* Remove its listeners first. Accepts NULL, returns NULL. */
struct feed *feed_free(struct feed *f);

struct feed_listener {
	struct list node;
	/* A pod is new or has changed; deleted: it is gone, and this is its last known state. Called from the loop. The
	 * callback may remove listeners. */
	void (*on_pod)(void *ctx, const struct pod *pod, bool deleted);
	/* The list or the watch failed, and will be tried again. May be NULL. */
	void (*on_trouble)(void *ctx, const struct fail *f);
	void *ctx;
};

/* Pods that are known already are not reported again; see feed_find(). */
void feed_listen(struct feed *f, struct feed_listener *listener);
/* For an initialized node; idempotent. */
void feed_ignore(struct feed_listener *listener);
/* By name or by uid. NULL = not known. Valid until the next turn of the loop. */
const struct pod *feed_find(const struct feed *f, const char *word);

/* --- pure, for tests ----------------------------------------------------------------------------------------------- */
enum feed_line { FEED_POD, FEED_GONE, FEED_BOOKMARK, FEED_OUTDATED, FEED_ERROR, FEED_UNKNOWN };
/* Parses one line of a watch. FEED_POD and FEED_GONE fill *pod; all but the last three replace *version (at most 63
 * characters). */
enum feed_line feed_read_line(const void *line, size_t n, struct pod *pod, char version[64]);

#endif
