/* The gate of one session: decides about each connection that a program of the session makes, by the session's rules,
 * and makes it. PID 1 only carries the bytes: whatever it says, nothing is reached that the rules do not name.
 *
 *	gate = gate_new(&spec);
 *	gate_attach(gate, session_dispatch(session));	before the line opens
 *	gate_set_rules(gate, &rules, &f);		before the claim
 *	gate_free(gate);				before the session
 */
#ifndef HUSK_MANAGER_GATE_GATE_H
#define HUSK_MANAGER_GATE_GATE_H

#include "manager/gate/connection.h"
#include "manager/gate/denials.h"
#include "manager/model/rules.h"

struct gate;

/* A connection in the record. Several attempts that PID 1 has refused are one event. */
struct gate_event {
	const char *name;
	uint16_t port;
	enum cause cause;     /* CAUSE_NONE = it worked */
	const char *sentence; /* why it failed, or NULL */
	uint64_t count;
	uint64_t up, down, duration_ms;
	const char *secret; /* the name of the secret that was used, or NULL */
};

struct gate_spec {
	struct loop *loop;
	const char *session;		     /* its id, for the turns of lookups; copied */
	const struct strv *private_networks; /* non-public networks that names may lead to; must outlive the gate */
	/* PID 1 gives each name its address at once: GATE_ADDRESS_FIRST and the following ones, in the order of the
	 * rules. */
	bool standing;
	/* A connection has ended, or was refused; may be NULL. */
	void (*on_event)(void *ctx, const struct gate_event *event);
	void *ctx;
};

/* Refuses everything until it has rules. */
struct gate *gate_new(const struct gate_spec *spec);
/* Takes the streams of this line from now on. The dispatch must outlive the gate. */
void gate_attach(struct gate *g, struct dispatch *d);
/* Copies the rules and sends PID 1 what it needs of them, now and after each reconnection. Connections that they no
 * longer allow are reset. -1 with f if PID 1 is too old; the gate then keeps its rules. */
int gate_set_rules(struct gate *g, const struct rules *rules, struct fail *f);
/* NULL until the gate has rules. */
const struct rules *gate_rules(const struct gate *g);
/* `make` is asked for the filter of each connection that the rules allow, before its name is looked up. It returns NULL
 * with f unset if the gate's own checks are enough, and NULL with f if the connection must be refused. */
void gate_set_filters(struct gate *g,
		      struct gate_filter *(*make)(void *ctx, const char *name, uint16_t port, struct fail *f),
		      void *ctx);
/* Resets all connections. Accepts NULL, returns NULL. */
struct gate *gate_free(struct gate *g);

/* Calls fn for each open connection. */
void gate_each(const struct gate *g,
	       void (*fn)(void *ctx, const char *name, uint16_t port, const struct connection_outcome *so_far),
	       void *ctx);
/* The connections that failed since the session began. */
const struct denials *gate_denials(const struct gate *g);
/* A sentence for the answer of a run about connections that failed since the last call, or NULL. The caller owns it. */
char *gate_take_note(struct gate *g);

#endif
