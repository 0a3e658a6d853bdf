/* Answers the session's DNS queries on 127.0.0.1:53, over UDP and TCP. */
#ifndef HUSK_KERNELS_GATE_RESOLVER_H
#define HUSK_KERNELS_GATE_RESOLVER_H

#include "base/list.h"
#include "kernels/gate/dns.h"
#include "kernels/system/poller.h"

/* Connections over TCP. */
#define RESOLVER_CONNECTIONS_MAX 8u

struct resolver {
	struct poller *poller;
	/* The address of a name (host order), 0 = it has none; *ret_exists false = there is no such name. Called for
	 * valid names only. `wanted`: the query was for an address. */
	uint32_t (*on_name)(struct resolver *r, const char *name, bool wanted, bool *ret_exists);
	int udp_fd, tcp_fd; /* -1 = not open */
	struct watch udp_watch, tcp_watch;
	struct timeout pause; /* of accepting */
	struct list connections;
	size_t n_connections;
};

void resolver_init(struct resolver *r, struct poller *p);
/* 0 or -errno: programs of the session may have taken the port. Idempotent. */
int resolver_open(struct resolver *r);
/* Answers one query. Returns the size of the answer; 0 = there is none. */
size_t resolver_answer(struct resolver *r, const uint8_t *query, size_t n, uint8_t out[DNS_ANSWER_MAX]);

#endif
