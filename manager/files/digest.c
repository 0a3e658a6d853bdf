#include "manager/files/digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <sodium.h>

#include "base/buf.h"
#include "base/library.h"

#define DIGEST_BYTES 32
_Static_assert(DIGEST_SIZE == 2 * DIGEST_BYTES + 1, "hex and its NUL");

struct digest {
	crypto_generichash_state whole; /* for content of one piece */
	EVP_MD_CTX *piece;		/* the current piece of longer content; created when first needed */
	crypto_hash_sha256_state plain; /* the same if libcrypto is missing; slower */
	bool is_short, is_long;		/* methods that still apply; both until the second piece begins */
	size_t added;			/* bytes of the current piece */
	struct buf pieces;		/* the hashes of earlier pieces */
};

/* Functions of libcrypto, which is loaded for the first content of several pieces. Few servers handle such content. */
#define FUNCTIONS(X)                                                                                                   \
	X(EVP_DigestFinal_ex)                                                                                          \
	X(EVP_DigestInit_ex)                                                                                           \
	X(EVP_DigestUpdate)                                                                                            \
	X(EVP_MD_CTX_free)                                                                                             \
	X(EVP_MD_CTX_new)                                                                                              \
	X(EVP_MD_fetch)                                                                                                \
	X(OSSL_LIB_CTX_new)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libcrypto = LIBRARY(FUNCTIONS, "libhusk-crypto.so.3", "libcrypto.so.3", "libcrypto.3.dylib");

/* Aborts if a call of libcrypto fails, for example for lack of memory. */
static void must(int ok)
{
	if (ok != 1)
		abort();
}

static EVP_MD *fetched;

/* Uses its own library context, so that the providers in the host's openssl.cnf, which are meant for connections,
 * do not matter. */
static void fetch_sha256(void)
{
	if (!library_load(&libcrypto))
		return;
	fetched = lib.EVP_MD_fetch(lib.OSSL_LIB_CTX_new(), "SHA256", NULL);
	must(fetched != NULL);
}

/* NULL if libcrypto is missing. */
static const EVP_MD *sha256(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, fetch_sha256);
	return fetched;
}

static void begin_piece(struct digest *d)
{
	const EVP_MD *kind = sha256();
	if (!kind) {
		crypto_hash_sha256_init(&d->plain);
	} else {
		if (!d->piece)
			d->piece = lib.EVP_MD_CTX_new();
		must(d->piece && lib.EVP_DigestInit_ex(d->piece, kind, NULL));
	}
	d->added = 0;
}

struct digest *digest_new(uint64_t size)
{
	struct digest *d = NULL;
	/* libsodium's state needs more alignment than malloc() guarantees. */
	if (sodium_init() < 0 || posix_memalign((void **)&d, 64, sizeof(*d)) != 0)
		abort();
	*d = (struct digest){ .is_short = size <= DIGEST_PIECE || size == DIGEST_ANY_SIZE,
			      .is_long = size > DIGEST_PIECE };
	if (d->is_short)
		crypto_generichash_init(&d->whole, NULL, 0, DIGEST_BYTES);
	if (d->is_long)
		begin_piece(d);
	return d;
}

struct digest *digest_free(struct digest *d)
{
	if (!d)
		return NULL;
	if (d->piece)
		lib.EVP_MD_CTX_free(d->piece);
	buf_release(&d->pieces);
	free(d);
	return NULL;
}

static void set_piece(struct digest *d, size_t i, const unsigned char raw[DIGEST_BYTES])
{
	size_t end = (i + 1) * DIGEST_BYTES;
	if (d->pieces.len < end) {
		(void)buf_reserve(&d->pieces, end - d->pieces.len);
		d->pieces.len = end;
	}
	memcpy(d->pieces.data + i * DIGEST_BYTES, raw, DIGEST_BYTES);
}

static void end_piece(struct digest *d, struct digest *piece, size_t i)
{
	unsigned char raw[DIGEST_BYTES];
	if (piece->piece)
		must(lib.EVP_DigestFinal_ex(piece->piece, raw, NULL));
	else
		crypto_hash_sha256_final(&piece->plain, raw);
	set_piece(d, i, raw);
}

static void add_to_piece(struct digest *d, const void *data, size_t n)
{
	if (d->is_short)
		crypto_generichash_update(&d->whole, data, n);
	if (d->is_long && d->piece)
		must(lib.EVP_DigestUpdate(d->piece, data, n));
	else if (d->is_long)
		crypto_hash_sha256_update(&d->plain, data, n);
	d->added += n;
}

void digest_add(struct digest *d, const void *data, size_t n)
{
	for (const unsigned char *at = data; n;) {
		/* A full piece ends only when more data arrives, so that no empty piece follows the last one. */
		if (d->is_long && d->added == DIGEST_PIECE) {
			end_piece(d, d, d->pieces.len / DIGEST_BYTES);
			begin_piece(d);
			d->is_short = false;
		}
		size_t part = d->is_long ? MIN(n, DIGEST_PIECE - d->added) : n;
		add_to_piece(d, at, part);
		at += part;
		n -= part;
	}
}

void digest_put(struct digest *d, size_t i, struct digest *piece)
{
	if (piece->is_short)
		d->whole = piece->whole;
	else
		end_piece(d, piece, i);
	digest_free(piece);
}

void digest_end(struct digest *d, char ret[DIGEST_SIZE])
{
	unsigned char raw[DIGEST_BYTES];
	if (d->is_short) {
		crypto_generichash_final(&d->whole, raw, sizeof(raw));
	} else {
		if (d->added)
			end_piece(d, d, d->pieces.len / DIGEST_BYTES);
		crypto_hash_sha256(raw, d->pieces.data, d->pieces.len);
	}
	sodium_bin2hex(ret, DIGEST_SIZE, raw, sizeof(raw));
}

const char *digest_kind(uint64_t size)
{
	return size <= DIGEST_PIECE ? "blake2b-256" : "sha256-4m";
}
