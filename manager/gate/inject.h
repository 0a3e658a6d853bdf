/* The HTTP/1.1 messages of one connection, in plain text, between TLS on both sides: placeholders in requests are
 * replaced by secrets where these allow it, and secrets in the head of an answer by placeholders.
 *
 * Messages are parsed strictly and written again, so both sides see the same boundaries. Bodies pass unchanged. Fields
 * that could make the server read another request, or a request of another host, are refused. After an upgrade to
 * WebSocket, all bytes pass unchanged. */
#ifndef HUSK_MANAGER_GATE_INJECT_H
#define HUSK_MANAGER_GATE_INJECT_H

#include "base/fail.h"
#include "manager/gate/secret-set.h"

/* A head with the values of secrets. */
#define INJECT_HEAD_MAX (64u << 10)
/* Requests of a connection that were not answered yet. */
#define INJECT_REQUESTS_MAX 64
/* Bytes that a client sends before the server has accepted an upgrade. */
#define INJECT_EARLY_MAX (64u << 10)

struct inject;

struct inject_ops {
	/* Bytes for the server, and for the session. The data of `up` is wiped after the call. */
	void (*up)(void *ctx, const void *data, size_t n);
	void (*down)(void *ctx, const void *data, size_t n);
};

/* Requests must be for this host. Keeps the set alive. */
struct inject *inject_new(const char *host, uint16_t port, struct secret_set *secrets, const struct inject_ops *ops,
			  void *ctx);
/* Accepts NULL, returns NULL. */
struct inject *inject_free(struct inject *i);

/* Bytes of the session, and of the server. Both return 0, or -EPROTO with f: then the session has got an answer with
 * the reason, if it can still read one, and nothing more may be passed. */
int inject_request(struct inject *i, const void *data, size_t n, struct fail *f);
int inject_response(struct inject *i, const void *data, size_t n, struct fail *f);
/* The server will send nothing more. True if what it sent is complete. */
bool inject_ended(struct inject *i);

/* From now on each request is answered with this failure: inject_request() then returns -EPROTO with a copy of it. */
void inject_refuse(struct inject *i, const struct fail *f);

/* The name of the last secret that was used; NULL = none. */
const char *inject_used(const struct inject *i);

#endif
