#include "manager/files/digest.h"

#include <sodium.h>

#define DIGEST_BYTES 32
_Static_assert(DIGEST_SIZE == 2 * DIGEST_BYTES + 1, "hex and its NUL");

struct digest {
	crypto_generichash_state state;
};

struct digest *digest_new(void)
{
	struct digest *d = NULL;
	/* The state wants more alignment than malloc() promises. */
	if (sodium_init() < 0 || posix_memalign((void **)&d, 64, sizeof(*d)) != 0)
		abort();
	crypto_generichash_init(&d->state, NULL, 0, DIGEST_BYTES);
	return d;
}

struct digest *digest_free(struct digest *d)
{
	free(d);
	return NULL;
}

void digest_add(struct digest *d, const void *data, size_t n)
{
	crypto_generichash_update(&d->state, data, n);
}

void digest_end(struct digest *d, char ret[DIGEST_SIZE])
{
	unsigned char raw[DIGEST_BYTES];
	crypto_generichash_final(&d->state, raw, sizeof(raw));
	sodium_bin2hex(ret, DIGEST_SIZE, raw, sizeof(raw));
}
