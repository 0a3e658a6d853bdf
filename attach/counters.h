/* The counters of all running servers of this user, added up. */
#ifndef HUSK_ATTACH_COUNTERS_H
#define HUSK_ATTACH_COUNTERS_H

#include "base/buf.h"
#include "base/loop.h"

struct config;
struct counters;

struct counters_request {
	struct loop *loop;
	const struct config *config; /* says where the servers' sockets are */
	/* Called once, from the loop: the text in the format of Prometheus, and how many servers answered. Free the
	 * counters after it. */
	void (*on_done)(void *ctx, const char *text, size_t servers);
	void *ctx;
};

struct counters *counters_ask(const struct counters_request *request);
/* Accepts NULL, returns NULL. */
struct counters *counters_free(struct counters *c);

/* --- for counters_ask() and its test --- */
struct samples;
struct samples *samples_new(void);
/* Accepts NULL, returns NULL. */
struct samples *samples_free(struct samples *s);
/* Adds the samples of one server. Lines that are not understood are ignored, as are those above a limit. */
void samples_add(struct samples *s, const char *text);
void samples_print(const struct samples *s, struct buf *out);

#endif
