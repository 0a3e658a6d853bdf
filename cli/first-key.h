/* The key of the user who runs `husk serve`: made once, and kept in a file that only this user can read. */
#ifndef HUSK_CLI_FIRST_KEY_H
#define HUSK_CLI_FIRST_KEY_H

#include "manager/manager.h"

struct first_key;

struct first_key_request {
	struct loop *loop;
	struct manager *manager;
	const struct config *config;
	/* key NULL: f says why there is none. path is the file. Called once, from the loop; the request is freed then. */
	void (*on_done)(void *ctx, const char *key, const char *path, const struct fail *f);
	void *ctx;
};

/* Reads the key, or makes one if there is none or if it is not valid any more. */
void first_key_get(const struct first_key_request *request);

#endif
