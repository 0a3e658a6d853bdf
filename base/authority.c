#include "base/authority.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/library.h"

#define SERIAL_BYTES 16
/* A day for clocks that differ, and longer than any session lives. */
#define VALID_BEFORE_S (-86400L)
#define VALID_AFTER_S (3 * 365 * 86400L)
#define PEM_COLUMNS 64

#define FUNCTIONS(X)                                                                                                   \
	X(ASN1_INTEGER_free)                                                                                           \
	X(BN_bin2bn)                                                                                                   \
	X(BN_free)                                                                                                     \
	X(BN_to_ASN1_INTEGER)                                                                                          \
	X(ERR_clear_error)                                                                                             \
	X(ERR_peek_last_error)                                                                                         \
	X(ERR_reason_error_string)                                                                                     \
	X(EVP_PKEY_free)                                                                                               \
	X(EVP_PKEY_Q_keygen)                                                                                           \
	X(EVP_sha256)                                                                                                  \
	X(RAND_bytes)                                                                                                  \
	X(X509V3_EXT_conf_nid)                                                                                         \
	X(X509V3_set_ctx)                                                                                              \
	X(X509_EXTENSION_free)                                                                                         \
	X(X509_NAME_add_entry_by_txt)                                                                                  \
	X(X509_add_ext)                                                                                                \
	X(X509_free)                                                                                                   \
	X(X509_get_subject_name)                                                                                       \
	X(X509_getm_notAfter)                                                                                          \
	X(X509_getm_notBefore)                                                                                         \
	X(X509_gmtime_adj)                                                                                             \
	X(X509_new)                                                                                                    \
	X(X509_set_issuer_name)                                                                                        \
	X(X509_set_pubkey)                                                                                             \
	X(X509_set_serialNumber)                                                                                       \
	X(X509_set_version)                                                                                            \
	X(X509_sign)                                                                                                   \
	X(d2i_PrivateKey)                                                                                              \
	X(i2d_PrivateKey)                                                                                              \
	X(i2d_X509)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libcrypto = LIBRARY(FUNCTIONS, "libhusk-crypto.so.3", "libcrypto.so.3", "libcrypto.3.dylib");

struct authority {
	EVP_PKEY *key;
	X509 *certificate;
	char *pem;
};

struct extension {
	int nid;
	const char *value; /* as in a configuration file of OpenSSL */
};

static int refuse(struct fail *f, const char *what)
{
	const char *reason = lib.ERR_reason_error_string(lib.ERR_peek_last_error());
	return fail_set(f, FAIL_INTERNAL, "OpenSSL cannot make %s: %s", what, reason ? reason : "no reason was given");
}

/* The seed as a private key of RFC 5915 without its public half, which OpenSSL computes. A cleared first bit keeps the
 * number below the order of the curve. */
static EVP_PKEY *key_from_seed(const uint8_t seed[AUTHORITY_SEED_BYTES])
{
	static const uint8_t head[] = { 0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20 };
	static const uint8_t curve[] = { 0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07 };
	uint8_t der[sizeof(head) + AUTHORITY_SEED_BYTES + sizeof(curve)];
	const uint8_t *at = der;
	memcpy(der, head, sizeof(head));
	memcpy(der + sizeof(head), seed, AUTHORITY_SEED_BYTES);
	memcpy(der + sizeof(head) + AUTHORITY_SEED_BYTES, curve, sizeof(curve));
	der[sizeof(head)] &= 0x7f;
	EVP_PKEY *key = lib.d2i_PrivateKey(EVP_PKEY_EC, NULL, &at, sizeof(der));
	explicit_bzero(der, sizeof(der));
	return key;
}

static bool set_serial(X509 *x)
{
	uint8_t bytes[SERIAL_BYTES];
	bool ok = lib.RAND_bytes(bytes, sizeof(bytes)) == 1;
	bytes[0] &= 0x7f;
	bytes[0] |= 0x40;
	BIGNUM *n = ok ? lib.BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
	ASN1_INTEGER *serial = n ? lib.BN_to_ASN1_INTEGER(n, NULL) : NULL;
	ok = serial && lib.X509_set_serialNumber(x, serial) == 1;
	lib.ASN1_INTEGER_free(serial);
	lib.BN_free(n);
	return ok;
}

static bool add_extensions(X509 *x, X509 *issuer, const struct extension *v, size_t n)
{
	X509V3_CTX ctx = { 0 };
	lib.X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	for (size_t i = 0; i < n; i++) {
		X509_EXTENSION *e = lib.X509V3_EXT_conf_nid(NULL, &ctx, v[i].nid, v[i].value);
		bool ok = e && lib.X509_add_ext(x, e, -1) == 1;
		lib.X509_EXTENSION_free(e);
		if (!ok)
			return false;
	}
	return true;
}

static bool fill(X509 *x, const char *name, EVP_PKEY *key)
{
	return lib.X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
	       lib.X509_gmtime_adj(lib.X509_getm_notBefore(x), VALID_BEFORE_S) &&
	       lib.X509_gmtime_adj(lib.X509_getm_notAfter(x), VALID_AFTER_S) &&
	       lib.X509_NAME_add_entry_by_txt(lib.X509_get_subject_name(x), "CN", MBSTRING_ASC,
					      (const unsigned char *)name, -1, -1, 0) == 1 &&
	       lib.X509_set_pubkey(x, key) == 1;
}

static X509 *certify(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, const struct extension *v,
		     size_t n)
{
	X509 *x = lib.X509_new();
	if (x && fill(x, name, key) &&
	    lib.X509_set_issuer_name(x, lib.X509_get_subject_name(issuer ? issuer : x)) == 1 &&
	    add_extensions(x, issuer ? issuer : x, v, n) && lib.X509_sign(x, issuer_key, lib.EVP_sha256()))
		return x;
	lib.X509_free(x);
	return NULL;
}

static int put_certificate(X509 *x, struct buf *out)
{
	int n = lib.i2d_X509(x, NULL);
	uint8_t *at = n > 0 ? buf_reserve(out, (size_t)n) : NULL;
	if (!at || lib.i2d_X509(x, &at) != n)
		return -1;
	out->len += (size_t)n;
	return 0;
}

static char *pem_of(X509 *x)
{
	AUTO(buf_release) struct buf der = { 0 }, text = { 0 }, out = { 0 };
	if (put_certificate(x, &der) < 0)
		return NULL;
	base64_encode(der.data, der.len, &text);
	buf_add_str(&out, "-----BEGIN CERTIFICATE-----\n");
	for (size_t at = 0; at < text.len; at += PEM_COLUMNS) {
		buf_add(&out, text.data + at, MIN(text.len - at, (size_t)PEM_COLUMNS));
		buf_add_str(&out, "\n");
	}
	buf_add_str(&out, "-----END CERTIFICATE-----\n");
	return buf_steal_str(&out);
}

struct authority *authority_new(const uint8_t seed[AUTHORITY_SEED_BYTES], const char *name, struct fail *f)
{
	/* Python 3.13 refuses an authority without these. */
	static const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
		{ NID_key_usage, "critical,keyCertSign" },
		{ NID_subject_key_identifier, "hash" },
	};
	if (!library_load(&libcrypto)) {
		fail_set(f, FAIL_INTERNAL, "cannot load OpenSSL (libcrypto 3)");
		fail_hint(f, "Install the package libssl3.");
		return NULL;
	}
	struct authority *a = new0(struct authority);
	lib.ERR_clear_error();
	a->key = key_from_seed(seed);
	a->certificate = a->key ? certify(name, a->key, NULL, a->key, extensions, ARRAY_LEN(extensions)) : NULL;
	a->pem = a->certificate ? pem_of(a->certificate) : NULL;
	if (a->pem)
		return a;
	refuse(f, "a certificate authority");
	return authority_free(a);
}

struct authority *authority_free(struct authority *a)
{
	if (!a)
		return NULL;
	lib.X509_free(a->certificate);
	lib.EVP_PKEY_free(a->key);
	free(a->pem);
	free(a);
	return NULL;
}

const char *authority_pem(const struct authority *a)
{
	return a->pem;
}

static int put_key(EVP_PKEY *key, struct buf *out)
{
	int n = lib.i2d_PrivateKey(key, NULL);
	uint8_t *at = n > 0 ? buf_reserve(out, (size_t)n) : NULL;
	if (!at || lib.i2d_PrivateKey(key, &at) != n)
		return -1;
	out->len += (size_t)n;
	return 0;
}

int authority_issue(const struct authority *a, const char *host, struct buf *ret_certificate, struct buf *ret_key,
		    struct fail *f)
{
	AUTO(freep) char *names = xasprintf("DNS:%s", host);
	const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:FALSE" },
		{ NID_key_usage, "critical,digitalSignature" },
		{ NID_ext_key_usage, "serverAuth" },
		{ NID_subject_alt_name, names },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid:always" },
	};
	lib.ERR_clear_error();
	EVP_PKEY *key = lib.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	/* A common name has at most 64 characters, and clients read only the names of the extension. */
	X509 *x = key ? certify("Husk", key, a->certificate, a->key, extensions, ARRAY_LEN(extensions)) : NULL;
	int r = x && put_certificate(x, ret_certificate) == 0 && put_key(key, ret_key) == 0 ?
			0 :
			refuse(f, "a certificate");
	lib.X509_free(x);
	lib.EVP_PKEY_free(key);
	return r;
}
