#include "manager/model/token.h"

#include <sodium.h>

#include "base/defs.h"

static void random_bytes(uint8_t *bytes, size_t n)
{
	if (sodium_init() < 0)
		abort();
	randombytes_buf(bytes, n);
}

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

void token_make(char ret[TOKEN_SIZE])
{
	uint8_t bytes[17];
	random_bytes(bytes, sizeof(bytes));
	for (size_t i = 0; i < TOKEN_SIZE - 1; i++) {
		size_t bit = 5 * i;
		unsigned window = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
		ret[i] = alphabet[window >> (11 - bit % 8) & 31];
	}
	ret[TOKEN_SIZE - 1] = '\0';
}

bool token_is_valid(const char *text)
{
	return strspn(text, alphabet) == TOKEN_SIZE - 1 && !text[TOKEN_SIZE - 1];
}

bool token_equal(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && sodium_memcmp(a, b, strlen(a)) == 0;
}

void token_make_container(char ret[CONTAINER_NAME_SIZE])
{
	char token[TOKEN_SIZE];
	token_make(token);
	snprintf(ret, CONTAINER_NAME_SIZE, CONTAINER_PREFIX "%s", token);
}

unsigned token_number(const char *container, unsigned n)
{
	char hash[TOKEN_HASH_SIZE];
	token_hash(hash, &container, 1);
	hash[8] = '\0';
	return (unsigned)(strtoul(hash, NULL, 16) % n);
}

void token_make_uuid(char ret[UUID_SIZE])
{
	uint8_t b[16];
	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(ret, UUID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void token_hash(char ret[TOKEN_HASH_SIZE], const char *const *texts, size_t n)
{
	crypto_generichash_state state;
	unsigned char hash[(TOKEN_HASH_SIZE - 1) / 2];
	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	for (size_t i = 0; i < n; i++) {
		/* Includes the NUL, so that no two lists have the same bytes. */
		crypto_generichash_update(&state, (const unsigned char *)texts[i], strlen(texts[i]) + 1);
	}
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(ret, TOKEN_HASH_SIZE, hash, sizeof(hash));
}

void token_sign(char ret[SIGNATURE_SIZE], const char *key, const char *text)
{
	unsigned char hash[crypto_auth_hmacsha512256_BYTES];
	crypto_auth_hmacsha512256_state state;
	crypto_auth_hmacsha512256_init(&state, (const unsigned char *)key, strlen(key));
	crypto_auth_hmacsha512256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha512256_final(&state, hash);
	sodium_bin2base64(ret, SIGNATURE_SIZE, hash, sizeof(hash), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(&state, sizeof(state));
}

bool token_is_signed(const char *signature, const char *key, const char *text)
{
	char own[SIGNATURE_SIZE];
	token_sign(own, key, text);
	return token_equal(signature, own);
}
