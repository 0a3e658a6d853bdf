/* Networks and places in them as text, the way the engine's fence takes them: ADDRESS/PREFIX, and ADDRESS/PREFIX,PORT. */
#ifndef HUSK_MANAGER_MODEL_NETWORKS_H
#define HUSK_MANAGER_MODEL_NETWORKS_H

#include "base/strv.h"

/* Adds what a person wrote: a network, an address, or "all" for every address there is. -EINVAL for anything else. */
int networks_add(struct strv *list, const char *text);

/* Where a URL leads. */
struct url_place {
	char host[256]; /* a name, or an address without brackets */
	char port[6];
};
/* False for what is no URL with a host and a port that its scheme or it says: http, https, socks and ftp. Logins are skipped. */
bool networks_read_url(const char *url, size_t n, struct url_place *ret);

/* Adds each address of a host with this port. Asks the machine's resolver, and blocks. */
void networks_resolve(struct strv *list, const struct url_place *place);

#endif
