/* Connects PID 1 to its server. If a folder with the server's socket is mounted, PID 1 dials that socket whenever it
 * has no controller, and notices a new server by the folder's events. Sandbox code cannot write there, and the listener
 * must be outside of the container. A controller can always connect through attach instead. */
#ifndef HUSK_KERNELS_CONTROL_DIAL_H
#define HUSK_KERNELS_CONTROL_DIAL_H

#include "kernels/control/controller.h"

struct dial {
	struct poller *poller;
	struct controller *controller;
	bool enabled; /* the folder exists */
	int events;   /* inotify, only while there is no controller: the kernel grants a user few of them. -1 = none */
	struct watch watch;
	bool untried;	   /* the controller is gone, and PID 1 has not dialled since then */
	bool due;	   /* there may be a socket that was not tried yet */
	uint64_t again_ms; /* time of the next try after a failure that no event will resolve; 0 = none */
};

void dial_init(struct dial *d, struct poller *p, struct controller *c);
/* Once per turn of the loop: dials if there is a reason to. Does not wait. */
void dial_turn(struct dial *d, uint64_t now_ms);

#endif
