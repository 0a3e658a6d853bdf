/* PID 1's part of the gate: it answers DNS for the names of the rules with loopback addresses, listens on them, and
 * offers each connection to the manager as a stream. It decides nothing: the manager checks every stream again.
 *
 * A name gets an address of its own when it is first asked for, so the address says which name a connection is for.
 * Other names get one common address, where HTTP and TLS get an answer that says so. */
#ifndef HUSK_KERNELS_GATE_GATE_H
#define HUSK_KERNELS_GATE_GATE_H

#include "kernels/gate/hosts.h"
#include "kernels/gate/refusals.h"
#include "kernels/gate/resolver.h"
#include "kernels/streams/streams.h"

struct gate_denial {
	char name[HOST_NAME_SIZE];
	uint16_t port; /* 0 = the name was asked for */
	uint64_t count;
};

struct gate {
	struct poller *poller;
	struct sender *sender;
	struct streams *streams;
	struct names names;
	const char *hint; /* of the names */
	bool ruled;	  /* the controller has sent rules on this connection */
	struct resolver resolver;
	struct hosts hosts;
	struct watch accepting;
	struct timeout pause; /* until more connections may be accepted */
	struct refusals refusals;
	unsigned tokens; /* connections that may be made now */
	uint64_t tokens_ms;
	struct gate_denial denials[GATE_DENIED_MAX];
	size_t n_denials;
	struct timeout reporting; /* the next report is due */
};

void gate_init(struct gate *g, struct poller *p, struct sender *sender, struct streams *streams);
/* Takes a GATE frame: 0, or -EPROTO. */
int gate_frame(struct gate *g, const struct frame *frame);
/* The controller has disconnected: new connections wait for the rules of the next one. */
void gate_orphan(struct gate *g);
/* Reports what was refused since the last report. Called before a run ends, so that its answer can mention it. */
void gate_report(struct gate *g);

#endif
