/* A certificate authority in memory, for TLS connections that are terminated here: libcrypto. Its key is made from a
 * seed, so the same seed and name make an authority that accepts the same certificates. Nothing is written to disk. */
#ifndef HUSK_BASE_AUTHORITY_H
#define HUSK_BASE_AUTHORITY_H

#include "base/buf.h"
#include "base/fail.h"

#define AUTHORITY_SEED_BYTES 32

struct authority;

/* The name is for people who look at a certificate. The caller wipes its seed. NULL with f. */
struct authority *authority_new(const uint8_t seed[AUTHORITY_SEED_BYTES], const char *name, struct fail *f);
/* Wipes the key. Accepts NULL, returns NULL. */
struct authority *authority_free(struct authority *a);
/* The certificate of the authority itself, as PEM. Valid as long as the authority. */
const char *authority_pem(const struct authority *a);
/* Makes a P-256 key and a certificate for this host name, both as DER. The name must be a valid one; the caller wipes
 * the key. -1 with f. */
int authority_issue(const struct authority *a, const char *host, struct buf *ret_certificate, struct buf *ret_key,
		    struct fail *f);

#endif
