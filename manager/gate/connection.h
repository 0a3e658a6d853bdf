/* One connection of a session to a host: the addresses of its name are looked up and checked here, on every connection,
 * then one of them is connected, and bytes pass through a filter in both directions.
 *
 * Each side is read only as far as the other accepts bytes, so a peer that stalls delays nothing else and fills no
 * memory. */
#ifndef HUSK_MANAGER_GATE_CONNECTION_H
#define HUSK_MANAGER_GATE_CONNECTION_H

#include "base/strv.h"
#include "manager/gate/filter.h"
#include "manager/line/line-stream.h"

/* From the request to the connection, with the lookup of the name. */
#define CONNECTION_DIAL_MS 10000
/* Without a byte in either direction. */
#define CONNECTION_IDLE_MS 600000
/* Addresses that are tried, and how long after each one the next one starts. */
#define CONNECTION_ADDRESSES 6
#define CONNECTION_NEXT_MS 250
/* How long an answer of the gate may take to be read by a program that was refused, and the last bytes by a host. */
#define CONNECTION_LINGER_MS 5000

struct connection;

/* The result of a connection. */
struct connection_outcome {
	enum cause cause;     /* CAUSE_NONE = it ended properly */
	const char *sentence; /* why it failed, or NULL */
	uint64_t up, down;    /* bytes of the session, and for it */
	uint64_t duration_ms;
	const char *secret; /* the name of the secret that was used, or NULL */
};

struct connection_spec {
	struct loop *loop;
	const char *session; /* lookups of one session take turns with those of others */
	const char *name;
	uint16_t port;
	const char *address; /* of an endpoint: connects to it, wherever it is. NULL = the name is looked up */
	bool any_address;    /* the name may belong to an address that is not public */
	const struct strv *private_networks; /* non-public networks that are allowed; must outlive the connection */
	struct gate_filter *filter;	     /* owned by the connection, also on failure; NULL = bytes pass unchanged */
	struct line_stream *stream;	     /* owned by the connection */
	/* The connection is over; the callee calls connection_free(). */
	void (*on_over)(void *ctx, struct connection *c, const struct connection_outcome *outcome);
	void *ctx;
};

/* Strings are copied. on_over() follows, never from inside. */
struct connection *connection_new(const struct connection_spec *spec);
/* Ends both sides at once; on_over() is not called any more. Accepts NULL, returns NULL. */
struct connection *connection_free(struct connection *c);
/* Refuses the connection, or resets it, as the rules do not allow it any more. on_over() follows. */
void connection_deny(struct connection *c);
const char *connection_name(const struct connection *c);
uint16_t connection_port(const struct connection *c);
/* The bytes so far, and its age. */
struct connection_outcome connection_so_far(const struct connection *c);

/* The cause as PID 1 knows it. */
enum wire_refusal connection_refusal(enum cause cause);

#endif
