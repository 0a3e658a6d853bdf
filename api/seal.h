/* Texts that a client keeps for the servers: sealed, so that a client cannot make one, and with the address of the
 * server that made them. Any server with the same store opens them. */
#ifndef HUSK_API_SEAL_H
#define HUSK_API_SEAL_H

#include "api/host.h"

/* The text opens only with the same context. Visible ASCII without commas. NULL if the store's key is not loaded. The
 * caller owns it. */
char *seal_make(const struct api *api, const char *text, const char *context);
/* The text; NULL if no server of this store has sealed it with this context. The caller owns it. */
char *seal_open(const struct api *api, const char *sealed, const char *context);
/* A context: only this key can use the text, and only in this conversation. The caller owns it. */
char *seal_context(const struct conversation *c, const char *key);
/* HUSK_ADVERTISE of the server that sealed it, before the seal is checked; NULL = none. The caller owns it. */
char *seal_address(const char *sealed);

#endif
