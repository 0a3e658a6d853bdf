/* Carries bytes to one PID 1 and back. A transport can be opened again any number of times after it breaks. The
 * line gives the bytes their meaning. */
#ifndef HUSK_MANAGER_LINE_TRANSPORT_H
#define HUSK_MANAGER_LINE_TRANSPORT_H

#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct transport;

struct transport_handler {
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* A descriptor, before the bytes it came with. The callee owns it. Only some transports carry descriptors. */
	void (*on_descriptor)(void *ctx, int fd);
	/* Called once for each opening; the transport is closed by then. FAIL_DIED: the container does not exist
	 * or does not run. */
	void (*on_closed)(void *ctx, const struct fail *f);
	void *ctx;
};

struct transport_ops {
	/* For people: "exec" or "socket". */
	const char *(*name)(const struct transport *t);
	/* -1 with f if it cannot be tried; then there are no callbacks. */
	int (*open)(struct transport *t, const struct transport_handler *handler, struct fail *f);
	/* Bytes that cannot be written close the transport; on_closed follows later. */
	void (*write)(struct transport *t, const void *data, size_t n);
	/* Stops and resumes reading. Some bytes, or on_closed, may still come. */
	void (*pause)(struct transport *t, bool paused);
	/* Closes it without further callbacks. Idempotent. */
	void (*close)(struct transport *t);
	/* The bytes are not from PID 1: fills f with their text if the engine's client wrote them. */
	void (*explain)(struct transport *t, const char *text, size_t n, struct fail *f);
	/* Closes and frees it. Returns NULL. */
	struct transport *(*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
};

/* Uses the engine's exec. The engine must outlive it. */
struct transport *transport_exec_new(struct engine *engine, const char *container);

/* Uses a socket that PID 1 dials where that works and config->transport allows it, else exec. All arguments must
 * outlive it. */
struct transport *transport_local_new(struct loop *loop, struct engine *engine, const struct config *config,
				      const char *container);
/* Before the container is created: the folder to mount into it, or NULL. PID 1 may dial from then on. The string
 * is valid until transport_local_forget(). */
const char *transport_local_invite(struct transport *t);
/* The container was created. Call it before the transport is opened. */
void transport_local_created(struct transport *t, const struct engine_created *created);
/* Instead of both, for a container of an earlier server, whose folder may exist. */
void transport_local_find(struct transport *t);
/* The container is gone: removes its folder. Idempotent. */
void transport_local_forget(struct transport *t);

#endif
