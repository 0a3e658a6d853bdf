/* PID 1 finds its server: where a folder with the server's socket is mounted, it dials that socket whenever nobody controls
 * it, and learns of a new server by the folder's events. Sandbox code cannot write there; whoever listens must be outside of
 * the container. Other ways in (attach) are open all the time. */
#ifndef HUSK_KERNELS_CONTROL_DIAL_H
#define HUSK_KERNELS_CONTROL_DIAL_H

#include "kernels/control/controller.h"

struct dial {
	struct poller *poller;
	struct controller *controller;
	bool enabled; /* the folder is there */
	int events;   /* inotify, only while nobody controls: the kernel grants a user few of them. -1 = none */
	struct watch watch;
	bool due;	   /* a socket may be there that was not tried yet */
	uint64_t again_ms; /* after a failure that no event ends */
};

void dial_init(struct dial *d, struct poller *p, struct controller *c);
/* Once a turn: dials if there is a reason to. Does not wait. */
void dial_turn(struct dial *d, uint64_t now_ms);

#endif
