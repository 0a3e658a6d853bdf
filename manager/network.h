/* The gate of a session: what it lets through, its connections, and changes by a person. A part of manager.h, which
 * includes it; the rules there hold here. */
#ifndef HUSK_MANAGER_NETWORK_H
#define HUSK_MANAGER_NETWORK_H

#include "base/fail.h"
#include "base/strv.h"
#include "manager/model/cause.h"

struct conversation;
struct op;

struct network_connection {
	const char *name;
	uint16_t port;
	uint64_t up, down, age_ms;
	const char *secret; /* the name of the secret that it uses; NULL = none */
};
struct network_denial {
	const char *name; /* "" = an address that belongs to no name */
	uint16_t port;	  /* 0 = the name was looked up, and not connected */
	enum cause cause;
	uint64_t count;
};
struct network_info {
	bool open;	   /* the container has a network, behind the fence */
	const char *rules; /* what the gate lets through (rules_to_text()); NULL = it has no gate */
	const struct network_connection *connections;
	size_t n_connections;
	const struct network_denial *denials; /* since this server has the session */
	size_t n_denials;
	/* The answer to `check`: */
	bool allowed;
	const char *decides; /* the rule; NULL = none */
};
struct network_request {
	const char *session_id;
	/* Rules that are added, in the form of CONTAINER_NETWORK_ALLOW. They may go beyond it, and are only for people:
	 * a face never takes them from a model. Connections that are no longer allowed are reset. */
	const struct strv *allow, *deny; /* NULL = none */
	const char *check;		 /* "name" or "name:port"; NULL = nothing to check */
	void (*on_done)(void *ctx, const struct network_info *info, const struct fail *f);
	void *ctx;
};
/* CAUSE_OLD_SESSION: the session's PID 1 has no gate. FAIL_INVALID if the container has a network, or is not known to
 * have a gate and rules are to be added. */
struct op *manager_network(struct conversation *c, const struct network_request *req, struct fail *f);

#endif
