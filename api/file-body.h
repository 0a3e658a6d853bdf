/* Sends a file as the body of an answer. Worker jobs read the file piece by piece, no faster than the client reads. */
#ifndef HUSK_API_FILE_BODY_H
#define HUSK_API_FILE_BODY_H

#include "api/exchange.h"

/* A file of `size` bytes: answers If-None-Match and Range, and sends all of it or a part. fields has the fields of the
 * answer but for ETag and those of ranges; etag is in quotes. Takes the descriptor, and uses x->data. Frees the
 * exchange, now or later. */
void file_body_reply(struct exchange *x, struct http_fields *fields, int fd, uint64_t size, const char *etag);
/* The answer to a range outside of a file. Frees the exchange. */
void file_body_refuse_range(struct exchange *x, uint64_t size);

#endif
