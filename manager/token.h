/* Random names, by libsodium. */
#ifndef HUSK_MANAGER_TOKEN_H
#define HUSK_MANAGER_TOKEN_H

/* 128 random bits in base32, lower case, NUL-terminated. */
#define TOKEN_SIZE 27
void token_make(char ret[TOKEN_SIZE]);
/* A random UUID (version 4). */
#define UUID_SIZE 37
void token_make_uuid(char ret[UUID_SIZE]);

#endif
