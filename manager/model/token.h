/* Random names, and names made by hashing, with libsodium. */
#ifndef HUSK_MANAGER_MODEL_TOKEN_H
#define HUSK_MANAGER_MODEL_TOKEN_H

#include "base/defs.h"

/* 128 random bits in base32, lower case, NUL-terminated. */
#define TOKEN_SIZE 27
void token_make(char ret[TOKEN_SIZE]);
/* True if token_make() could have made it. */
bool token_is_valid(const char *text);
/* Compares texts of the same length in constant time. */
bool token_equal(const char *a, const char *b);
/* The name of a new container: random, so that it reveals nothing. */
#define CONTAINER_PREFIX "husk-"
#define CONTAINER_NAME_SIZE (TOKEN_SIZE + 5)
void token_make_container(char ret[CONTAINER_NAME_SIZE]);
/* Maps a container's name to a number below n, which is as random as the name. */
unsigned token_number(const char *container, unsigned n);
/* A random UUID (version 4). */
#define UUID_SIZE 37
void token_make_uuid(char ret[UUID_SIZE]);
/* A hash of n texts as 32 hex digits, used as a name for what they describe. The hash depends on their order and on
 * where each ends. */
#define TOKEN_HASH_SIZE 33
void token_hash(char ret[TOKEN_HASH_SIZE], const char *const *texts, size_t n);
/* A keyed hash of a text (HMAC-SHA-512/256) in the base64 of URLs, which proves that it was made with this key. The key
 * may be any text. */
#define SIGNATURE_SIZE 44
void token_sign(char ret[SIGNATURE_SIZE], const char *key, const char *text);
bool token_is_signed(const char *signature, const char *key, const char *text);

#endif
