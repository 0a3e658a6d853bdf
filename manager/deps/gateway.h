/* The manager's end of the relay. It takes an installer's requests from the line, checks that they are below an
 * index of the settings, adds the login, sends them to the one origin of that login, and returns the answer by
 * credit. Redirects to other hosts are followed without the login. */
#ifndef HUSK_MANAGER_DEPS_GATEWAY_H
#define HUSK_MANAGER_DEPS_GATEWAY_H

#include "manager/deps/upstream.h"
#include "manager/line/dispatch.h"

struct gateway;

struct gateway_spec {
	struct loop *loop;
	const struct config *config;
	struct dispatch *dispatch;
	const struct upstreams *upstreams;
};

/* Everything in the spec must outlive it. Nothing is loaded or contacted yet. */
struct gateway *gateway_new(const struct gateway_spec *spec);
/* Accepts NULL, returns NULL. Do not call it from inside its own callbacks. */
struct gateway *gateway_free(struct gateway *r);
/* A frame of PID 1's relay: 0, or -EPROTO if the frame is not allowed. */
int gateway_frame(struct gateway *r, const struct wire_frame *frame);
/* The connection to PID 1 is lost, and all requests with it. */
void gateway_reset(struct gateway *r);
/* The last failure, as a sentence without its full stop; NULL = none. It has no login in it. */
const char *gateway_trouble(const struct gateway *r);

#endif
