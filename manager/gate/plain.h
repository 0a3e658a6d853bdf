/* The filter for a package index with a login that speaks HTTP without TLS: inject.h adds the login. Only the operator's
 * settings make such a host; secrets are never sent without TLS. */
#ifndef HUSK_MANAGER_GATE_PLAIN_H
#define HUSK_MANAGER_GATE_PLAIN_H

#include "manager/gate/filter.h"
#include "manager/gate/secret-set.h"

/* Keeps the set alive. */
struct gate_filter *plain_new(const char *host, uint16_t port, struct secret_set *secrets);

#endif
