/* Networks and ports as text, in the form that the engine's fence accepts: ADDRESS/PREFIX and
 * ADDRESS/PREFIX,PORT. */
#ifndef HUSK_MANAGER_MODEL_NETWORKS_H
#define HUSK_MANAGER_MODEL_NETWORKS_H

#include "base/strv.h"

/* Adds a network as a person writes it: a network, an address, or "all" for every address. -EINVAL for anything
 * else. */
int networks_add(struct strv *list, const char *text);

/* The target of a URL. */
struct url_place {
	char host[256]; /* a name, or an address without brackets */
	char port[6];
};
/* False if the text is not a URL with a host and a known port (http, https, socks and ftp have defaults). Logins
 * are skipped. */
bool networks_read_url(const char *url, size_t n, struct url_place *ret);

/* Adds each address of a host with this port. Blocks until the machine's resolver has answered. */
void networks_resolve(struct strv *list, const struct url_place *place);

#endif
