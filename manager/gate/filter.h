/* A filter between the two ends of a connection through the gate: it passes bytes on, replaces some, or refuses. The
 * gate's checks (the name in a ClientHello, the Host of a request) and the termination of TLS for a secret are filters.
 *
 *	r = f->type->from_session(f, data, n, &up, &down, &fail);
 *	send what is in `up` and `down`; if r < 0, close both ends once that has been sent
 *
 * A filter does no I/O and keeps no more than a bounded number of bytes. It consumes all n bytes of each call, and the
 * bytes that it appends grow with n, so a caller that passes at most GATE_FILTER_STEP bytes at once, and stops reading
 * while much is unsent, bounds everything. */
#ifndef HUSK_MANAGER_GATE_FILTER_H
#define HUSK_MANAGER_GATE_FILTER_H

#include "base/buf.h"
#include "base/fail.h"

#define GATE_FILTER_STEP (64u << 10)

struct gate_filter;

/* `up` collects bytes for the upstream and `down` bytes for the session; the caller gives them no maximum (max 0), and
 * sends and wipes them. Each function returns 0, or -EPROTO with the failure and its cause: then both ends are closed
 * once the bytes of `up` and `down`, such as an alert, have been sent. No function but free() is called after -EPROTO.
 */
struct gate_filter_type {
	int (*from_session)(struct gate_filter *f, const void *data, size_t n, struct buf *up, struct buf *down,
			    struct fail *fail);
	int (*from_upstream)(struct gate_filter *f, const void *data, size_t n, struct buf *up, struct buf *down,
			     struct fail *fail);
	/* This side will send nothing more. The other direction still works. */
	int (*session_ended)(struct gate_filter *f, struct buf *up, struct buf *down, struct fail *fail);
	int (*upstream_ended)(struct gate_filter *f, struct buf *up, struct buf *down, struct fail *fail);
	/* The name of the secret that was used last, or NULL. May be NULL. */
	const char *(*secret)(const struct gate_filter *f);
	void (*free)(struct gate_filter *f);
	/* True if it answers the session itself from now on: the upstream is closed, and its end means nothing. May be
	 * NULL. */
	bool (*is_alone)(const struct gate_filter *f);
};

/* The first member of each filter. */
struct gate_filter {
	const struct gate_filter_type *type;
};

#endif
