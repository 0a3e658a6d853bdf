/* Which addresses are public. The same ranges are fenced off for sessions (kernels/fence/). */
#ifndef HUSK_BASE_ADDRESS_H
#define HUSK_BASE_ADDRESS_H

#include "base/defs.h"

struct sockaddr;
struct sockaddr_storage;
struct strv;

/* Loopback, link-local, multicast or unspecified, also if it is embedded in an IPv6 address. */
bool address_is_local(const struct sockaddr *sa);
/* True unless the address is local, private, shared or one of this machine's own. */
bool address_is_public(const struct sockaddr *sa);
/* True if the address is in a network, which is written as ADDRESS/PREFIX. */
bool address_is_in(const struct sockaddr *sa, const char *network);
/* True if a name may lead to the address: it is public, or in one of these networks. This machine and its neighbours on
 * the link are never meant by a name. */
bool address_is_meant(const struct sockaddr *sa, const struct strv *networks);
/* Reads a numeric address. False if it is not one. */
bool address_read(struct sockaddr_storage *ret, const char *text, uint16_t port);
/* The size that connect() needs. */
size_t address_size(const struct sockaddr_storage *sa);

#endif
