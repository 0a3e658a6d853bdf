/* The manager's end of the relay. It takes an installer's requests from the line, checks that they are below an
 * index from the settings, adds the login, and sends them to the one origin that the login is for. Answers go back
 * as PID 1 gives credit. Redirects to other hosts are followed without the login. */
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

/* Everything in the spec must outlive the gateway. Nothing is loaded or contacted yet. */
struct gateway *gateway_new(const struct gateway_spec *spec);
/* Accepts NULL, returns NULL. Do not call it from inside its own callbacks. */
struct gateway *gateway_free(struct gateway *r);
/* Handles a frame of PID 1's relay. Returns 0, or -EPROTO if the frame is not allowed. */
int gateway_frame(struct gateway *r, const struct wire_frame *frame);
/* Call it when the connection to PID 1 is lost: drops all requests. */
void gateway_reset(struct gateway *r);
/* The last failure, as a sentence without a full stop; NULL = none. It never contains a login. */
const char *gateway_trouble(const struct gateway *r);

#endif
