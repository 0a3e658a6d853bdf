#include "manager/model/sha256.h"

#include <sodium.h>

#include "base/alloc.h"

struct sha256 {
	crypto_hash_sha256_state state;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *s = new0(struct sha256);
	crypto_hash_sha256_init(&s->state);
	return s;
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	crypto_hash_sha256_update(&s->state, data, n);
}

void sha256_end(struct sha256 *s, char ret[SHA256_SIZE])
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_final(&s->state, hash);
	sodium_bin2hex(ret, SHA256_SIZE, hash, sizeof(hash));
}

struct sha256 *sha256_free(struct sha256 *s)
{
	free(s);
	return NULL;
}

void sha256_of(const void *data, size_t n, char ret[SHA256_SIZE])
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256(hash, data, n);
	sodium_bin2hex(ret, SHA256_SIZE, hash, sizeof(hash));
}
