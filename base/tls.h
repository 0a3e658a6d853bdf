/* TLS as a transformation of bytes: OpenSSL with memory BIOs, so that the caller does the I/O on the loop. The library
 * is loaded with the first context. TLS 1.2 and 1.3. */
#ifndef HUSK_BASE_TLS_H
#define HUSK_BASE_TLS_H

#include "base/buf.h"
#include "base/fail.h"

struct tls_context; /* a certificate and its key, or the authorities that a client trusts */
struct tls;	    /* one connection */

/* PEM files: the certificate chain and the private key. NULL with f, which names the file. */
struct tls_context *tls_context_server(const char *certificate, const char *key, struct fail *f);
/* ca_file NULL = the system's authorities. */
struct tls_context *tls_context_client(const char *ca_file, struct fail *f);
/* For programs that have the same secret: both sides prove that they know it, with TLS 1.3 and without certificates. The
 * secret is copied; at most TLS_SECRET_MAX bytes. The context is for both sides. */
#define TLS_SECRET_MAX 255
struct tls_context *tls_context_shared(const char *secret, struct fail *f);
/* A server with a certificate also accepts such clients from now on. Its other clients cannot resume sessions. */
void tls_context_add_shared(struct tls_context *c, const char *secret);
/* For connections to one name: a DER certificate and its key, as authority_issue() makes them. The client must name this
 * host in its hello, and must speak HTTP/1.1 if it lists protocols. */
struct tls_context *tls_context_named(const char *host, const struct buf *certificate, const struct buf *key,
				      struct fail *f);
/* Connections of a client's context offer HTTP/1.1 as their only protocol. */
void tls_context_offer_http1(struct tls_context *c);
/* One more owner, who calls tls_context_free(). */
struct tls_context *tls_context_ref(struct tls_context *c);
/* Connections keep it alive. Accepts NULL, returns NULL. */
struct tls_context *tls_context_free(struct tls_context *c);

/* host is the name that the server's certificate must prove; NULL on the server's side. A shared secret proves no name.
 * Returns NULL if memory is short or the name is invalid. */
struct tls *tls_new(struct tls_context *c, const char *host);
/* Accepts NULL, returns NULL. */
struct tls *tls_free(struct tls *t);

/* Takes bytes from the network. Appends the decrypted data to `plain`, and bytes that must be sent to `out`. Returns 0;
 * 1 when the peer has closed the connection properly; -EPROTO if the bytes are not TLS or the peer cannot be verified
 * (tls_error() says why). */
int tls_receive(struct tls *t, const void *data, size_t n, struct buf *plain, struct buf *out);
/* Appends the encrypted data to `out`. Data is kept until the handshake has ended, up to 64 KiB (-ENOBUFS beyond). With
 * n 0 a client's handshake begins. */
int tls_send(struct tls *t, const void *data, size_t n, struct buf *out);
/* True once the handshake has ended, and with it the check of the peer. */
bool tls_is_ready(const struct tls *t);
/* Appends the closing message (close_notify). */
void tls_finish(struct tls *t, struct buf *out);
/* True once the peer has proved that it has the shared secret. */
bool tls_is_shared(const struct tls *t);
/* Why the connection failed; a sentence without its subject. */
const char *tls_error(const struct tls *t);

#endif
