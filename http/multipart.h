/* Splits a body of type multipart/form-data (RFC 7578), which browsers and `curl --form` send, that is in memory. */
#ifndef HUSK_HTTP_MULTIPART_H
#define HUSK_HTTP_MULTIPART_H

#include "base/defs.h"

/* Length of a boundary (RFC 2046). */
#define HTTP_BOUNDARY_MAX 70

struct http_multipart {
	char delimiter[4 + HTTP_BOUNDARY_MAX + 1];
	const uint8_t *at, *end;
	bool begun;
};

struct http_part {
	char *name;	     /* of the form's field; "" = none */
	char *file;	     /* name of the file, as the client wrote it; NULL = the part is not a file */
	const uint8_t *data; /* in the body */
	size_t n;
};
void http_part_release(struct http_part *p);

/* content_type may be NULL. The body must stay. -EINVAL: the type is another one, or its boundary is not valid. */
int http_multipart_begin(struct http_multipart *m, const char *content_type, const void *body, size_t n);
/* 1 with the next part, which the caller releases; 0 at the end; -EINVAL if the body is malformed. */
int http_multipart_next(struct http_multipart *m, struct http_part *ret);

#endif
