/* How bytes reach one PID 1 and come back. A transport is opened, breaks and is opened again any number of times; what is
 * said over it is the line's business. */
#ifndef HUSK_MANAGER_LINE_TRANSPORT_H
#define HUSK_MANAGER_LINE_TRANSPORT_H

#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct transport;

struct transport_handler {
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* A descriptor came, before the bytes it came with: the callee's. Only of a transport that carries any. */
	void (*on_descriptor)(void *ctx, int fd);
	/* Once for each opening; the transport is closed by then. FAIL_DIED: the container is not there or does not run. */
	void (*on_closed)(void *ctx, const struct fail *f);
	void *ctx;
};

struct transport_ops {
	/* For people: "exec", "socket". */
	const char *(*name)(const struct transport *t);
	/* -1 with f if it cannot even be tried; nothing is called back then. */
	int (*open)(struct transport *t, const struct transport_handler *handler, struct fail *f);
	/* Bytes that cannot be written close the transport; on_closed tells, later. */
	void (*write)(struct transport *t, const void *data, size_t n);
	/* Stops and resumes reading. Some bytes may still come; on_closed may, too. */
	void (*pause)(struct transport *t, bool paused);
	/* Nothing is called back any more. Idempotent. */
	void (*close)(struct transport *t);
	/* Bytes came that no PID 1 sends: fills f with what they say, if they are a carrier's own words. */
	void (*explain)(struct transport *t, const char *text, size_t n, struct fail *f);
	/* Closes it first. Returns NULL. */
	struct transport *(*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
};

/* Over the engine's own exec. The engine must outlive it. */
struct transport *transport_exec_new(struct engine *engine, const char *container);

/* Over a socket that PID 1 dials, where that works and config->transport allows it; else over exec. All must outlive it. */
struct transport *transport_local_new(struct loop *loop, struct engine *engine, const struct config *config,
				      const char *container);
/* Before the container is made: the folder to mount into it, or NULL. PID 1 may dial from then on. Valid until forgotten. */
const char *transport_local_invite(struct transport *t);
/* It is made. Before the transport is opened. */
void transport_local_created(struct transport *t, const struct engine_created *created);
/* Instead of both, for a container of an earlier server, whose folder may be there. */
void transport_local_find(struct transport *t);
/* The container is gone: so is its folder. Idempotent. */
void transport_local_forget(struct transport *t);

#endif
