/* Relays package indexes: while an installer runs, PID 1 listens on plain local ports, sends requests to the manager,
 * and passes on the manager's answers. So the installer, and code that a package runs while it is built, sees an index
 * that needs no login, and no login enters the container.
 *
 * Requests are not replayed: when the stream ends, current requests end too, and installers retry. */
#ifndef HUSK_KERNELS_PACKAGES_RELAY_H
#define HUSK_KERNELS_PACKAGES_RELAY_H

#include "base/strv.h"
#include "kernels/runs/sender.h"
#include "kernels/system/frames.h"
#include "kernels/system/poller.h"

struct relay {
	struct poller *poller;
	struct sender *sender;
	uint32_t last_number;
	size_t n_ports;
	struct relay_port {
		struct relay *relay;
		int fd;
		uint16_t port;
		struct watch watch;
	} ports[RELAY_PORTS_MAX];
	struct relay_request *requests[RELAY_REQUESTS_MAX];
};

void relay_init(struct relay *r, struct poller *p, struct sender *sender);
/* Listens: 0, or -errno and no port is open. */
int relay_open(struct relay *r, const uint16_t *ports, size_t n);
/* Closes the ports and ends all requests. */
void relay_close(struct relay *r);
/* Adds 127.0.0.1 to NO_PROXY: the relay must not be reached through a proxy that the environment names. */
void relay_spare_proxies(struct strv *env);

/* Takes a RELAY frame of any type. 0, or -EPROTO if the stream must be closed. */
int relay_frame(struct relay *r, const struct frame *frame);
/* The controller has disconnected: requests that were sent to it are lost. */
void relay_orphan(struct relay *r);
/* Sends the waiting requests to the controller, which must be connected. Called once per turn of the loop. */
void relay_step(struct relay *r);

#endif
