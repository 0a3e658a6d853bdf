/* The filter for a host that a secret belongs to: it ends the session's TLS here, with a certificate that the session
 * trusts, and begins TLS to the host, whose certificate is always checked. In between, inject.h replaces placeholders.
 *
 * The session's hello waits until the host has proven who it is. A host that cannot be verified is reported in the
 * answer to the first request. */
#ifndef HUSK_MANAGER_GATE_TERMINATE_H
#define HUSK_MANAGER_GATE_TERMINATE_H

#include "base/tls.h"
#include "manager/gate/filter.h"
#include "manager/gate/secret-set.h"

struct terminate_spec {
	const char *host;
	uint16_t port;
	struct tls_context *session;  /* from tls_context_named() */
	struct tls_context *upstream; /* from tls_context_client(), with tls_context_offer_http1() */
	struct secret_set *secrets;
};

/* The contexts and the set are kept alive. NULL if the host's name cannot be used for TLS. */
struct gate_filter *terminate_new(const struct terminate_spec *spec);
/* The name of the last secret that a connection has used; NULL = none. */
const char *terminate_used(const struct gate_filter *f);

#endif
