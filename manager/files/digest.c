#include "manager/files/digest.h"

#include <sodium.h>

#include "base/buf.h"

#define DIGEST_BYTES 32
_Static_assert(DIGEST_SIZE == 2 * DIGEST_BYTES + 1, "hex and its NUL");
_Static_assert(sizeof(DIGEST_PERSON) - 1 == crypto_generichash_blake2b_PERSONALBYTES, "what BLAKE2b takes");

struct digest {
	crypto_generichash_state state; /* of the piece that is being added */
	size_t added;			/* bytes of it */
	struct buf pieces;		/* the hashes of those before it */
};

static void begin_piece(struct digest *d)
{
	crypto_generichash_init(&d->state, NULL, 0, DIGEST_BYTES);
	d->added = 0;
}

struct digest *digest_new(void)
{
	struct digest *d = NULL;
	/* The state wants more alignment than malloc() promises. */
	if (sodium_init() < 0 || posix_memalign((void **)&d, 64, sizeof(*d)) != 0)
		abort();
	d->pieces = (struct buf){ 0 };
	begin_piece(d);
	return d;
}

struct digest *digest_free(struct digest *d)
{
	if (d)
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

void digest_add(struct digest *d, const void *data, size_t n)
{
	for (const unsigned char *at = data; n;) {
		/* Only now: content that ends with a piece has no empty one behind it. */
		if (d->added == DIGEST_PIECE) {
			unsigned char raw[DIGEST_BYTES];
			crypto_generichash_final(&d->state, raw, sizeof(raw));
			set_piece(d, d->pieces.len / DIGEST_BYTES, raw);
			begin_piece(d);
		}
		size_t part = MIN(n, DIGEST_PIECE - d->added);
		crypto_generichash_update(&d->state, at, part);
		d->added += part;
		at += part;
		n -= part;
	}
}

void digest_put(struct digest *d, size_t i, struct digest *piece)
{
	unsigned char raw[DIGEST_BYTES];
	crypto_generichash_final(&piece->state, raw, sizeof(raw));
	set_piece(d, i, raw);
	digest_free(piece);
}

static void hash_pieces(const struct digest *d, unsigned char ret[DIGEST_BYTES])
{
	crypto_generichash_blake2b_salt_personal(ret, DIGEST_BYTES, d->pieces.data, d->pieces.len, NULL, 0, NULL,
						 (const unsigned char *)DIGEST_PERSON);
}

void digest_end(struct digest *d, char ret[DIGEST_SIZE])
{
	unsigned char raw[DIGEST_BYTES];
	if (d->added || !d->pieces.len) {
		crypto_generichash_final(&d->state, raw, sizeof(raw));
		set_piece(d, d->pieces.len / DIGEST_BYTES, raw);
	}
	if (d->pieces.len == DIGEST_BYTES)
		memcpy(raw, d->pieces.data, DIGEST_BYTES);
	else
		hash_pieces(d, raw);
	sodium_bin2hex(ret, DIGEST_SIZE, raw, sizeof(raw));
}

const char *digest_kind(uint64_t size)
{
	return size <= DIGEST_PIECE ? "blake2b-256" : "blake2b-256-4m";
}
