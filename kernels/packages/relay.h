/* Package indexes, relayed: while an installer runs, PID 1 listens on plain local ports, sends what is asked there up the line, and
 * passes on what the manager answers. So the installer, and whatever code a package runs while it is built, finds an index that
 * needs no login, and no login ever enters the container.
 *
 * Requests are not replayed: when the stream ends, those under way end too, and installers try again. */
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
/* Ends everything. */
void relay_close(struct relay *r);
/* No proxy of the environment is to be asked for what is local. */
void relay_spare_proxies(struct strv *env);

/* Takes a RELAY frame of any type. 0, or -EPROTO if the stream is of no more use. */
int relay_frame(struct relay *r, const struct frame *frame);
/* The controller is gone: what it was asked is lost. */
void relay_orphan(struct relay *r);
/* There is a controller: it gets what waits for one. Once a turn. */
void relay_step(struct relay *r);

#endif
