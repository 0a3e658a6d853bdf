/* Carries bytes to one PID 1 and back. A transport can be opened again any number of times after it breaks. It does
 * not interpret the bytes; the line does. */
#ifndef HUSK_MANAGER_LINE_TRANSPORT_H
#define HUSK_MANAGER_LINE_TRANSPORT_H

#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct transport;

struct transport_handler {
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* Called for a descriptor, before the bytes that it came with. The callee owns it. Only some transports
	 * carry descriptors. */
	void (*on_descriptor)(void *ctx, int fd);
	/* Called once for each opening; the transport is closed by then. FAIL_DIED: the container does not exist
	 * or does not run. */
	void (*on_closed)(void *ctx, const struct fail *f);
	void *ctx;
};

struct transport_ops {
	/* For people: "exec" or "socket". */
	const char *(*name)(const struct transport *t);
	/* -1 with f if the attempt fails at once; then there are no callbacks. */
	int (*open)(struct transport *t, const struct transport_handler *handler, struct fail *f);
	/* If the bytes cannot be written, the transport closes, and on_closed follows later. */
	void (*write)(struct transport *t, const void *data, size_t n);
	/* Stops and resumes reading. Some bytes, or on_closed, may still come. */
	void (*pause)(struct transport *t, bool paused);
	/* True if the transport is open and its bytes do not pass through a process in the container. NULL =
	 * never. */
	bool (*is_direct)(const struct transport *t);
	/* Closes it without further callbacks. Idempotent. */
	void (*close)(struct transport *t);
	/* Called if the first bytes are not PID 1's hello: fills f with the reason. The engine's client may have
	 * written the text. */
	void (*explain)(struct transport *t, const char *text, size_t n, struct fail *f);
	/* Closes and frees it. Returns NULL. */
	struct transport *(*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
};

/* Uses the engine's exec. The engine must outlive the transport. */
struct transport *transport_exec_new(struct engine *engine, const char *container);

/* Uses a socket that PID 1 dials if that works and config->transport allows it, otherwise exec. All arguments must
 * outlive the transport. */
struct transport *transport_local_new(struct loop *loop, struct engine *engine, const struct config *config,
				      const char *container);
/* Before the container is created: the folder to mount into it, or NULL. PID 1 may dial from then on. The string
 * is valid until transport_local_forget(). */
const char *transport_local_invite(struct transport *t);
/* Call it when the container has been created, before the transport is opened. */
void transport_local_created(struct transport *t, const struct engine_created *created);
/* Call it instead of these two for a container of an earlier server; the container's folder may exist. */
void transport_local_find(struct transport *t);
/* The container is gone: removes its folder. Idempotent. */
void transport_local_forget(struct transport *t);

#endif
