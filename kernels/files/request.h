/* The payload of a request about files in place: a path as bytes, a name as bytes, and options as JSON. */
#ifndef HUSK_KERNELS_FILES_REQUEST_H
#define HUSK_KERNELS_FILES_REQUEST_H

#include <jansson.h>

#include "base/defs.h"

struct request {
	char *path;
	char *after;
	json_t *options;
};

/* 0 and *ret, or -EPROTO. */
int request_read(const uint8_t *payload, size_t n, struct request *ret);
void request_release(struct request *r);

#endif
