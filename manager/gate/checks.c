#include "manager/gate/checks.h"

struct gate_filter *checks_new(const struct rule *rule, const char *name, uint16_t port)
{
	if (rule->tcp || rule->address)
		return NULL;
	return port == 443 ? check_tls_new(name) : port == 80 ? check_http_new(name, port) : NULL;
}
