/* The network of a new session: the operator's settings are the ceiling of what its create asks for. */
#ifndef HUSK_MANAGER_REGISTRY_CREATE_NETWORK_H
#define HUSK_MANAGER_REGISTRY_CREATE_NETWORK_H

#include "manager/manager.h"

/* Hosts that one create can list. */
#define CREATE_ALLOW_MAX 256

struct create_network {
	bool container; /* its container is connected to a network, behind the fence */
	char *rules;	/* otherwise: what its gate lets through (rules_to_text()); NULL = it has no gate. Owned */
	char *note;	/* what was left out of the request, for its answer; NULL = nothing. Owned */
};

/* -1 with f if the request is refused: an entry is not valid, or the network is switched off. */
int create_network_choose(struct create_network *ret, const struct config *c, const struct create_request *req,
			  struct fail *f);
/* Adds hosts that the request needs besides its list, as far as the operator allows them: "name:port". The container has
 * no network. -1 with f. */
int create_network_add(struct create_network *n, const struct config *c, const struct strv *hosts, struct fail *f);
void create_network_release(struct create_network *n);

#endif
