/* The gate's own filters: a connection must ask for the host that was dialled, or a host that shares its addresses with
 * others would let everything through that it serves. */
#ifndef HUSK_MANAGER_GATE_CHECKS_H
#define HUSK_MANAGER_GATE_CHECKS_H

#include "manager/gate/filter.h"
#include "manager/model/rules.h"

/* The connection must be TLS whose hello names this host, and so must a second hello, if the server asks for one.
 * Everything after it passes unchanged. A connection that is refused gets an alert (CAUSE_GATE_MISMATCH). */
struct gate_filter *check_tls_new(const char *host);
/* The connection must be HTTP/1 in which each request is for this host. A request that is refused gets an answer that says so
 * (CAUSE_GATE_HTTP). */
struct gate_filter *check_http_new(const char *host, uint16_t port);
/* The check that a rule demands on this port. NULL = the bytes pass unchecked. */
struct gate_filter *checks_new(const struct rule *rule, const char *name, uint16_t port);

#endif
