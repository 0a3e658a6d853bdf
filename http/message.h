/* The head of an HTTP message, a request or a response. */
#ifndef HUSK_HTTP_MESSAGE_H
#define HUSK_HTTP_MESSAGE_H

#include "http/fields.h"

enum http_method {
	HTTP_METHOD_OTHER, /* see method_name */
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_POST,
	HTTP_METHOD_PUT,
	HTTP_METHOD_PATCH,
	HTTP_METHOD_DELETE,
	HTTP_METHOD_OPTIONS,
};

struct http_head {
	enum http_method method; /* of a request */
	char method_name[16];
	struct buf target; /* of a request; unchanged, NUL-terminated: "/v1/sessions?limit=3" */
	int status;	   /* of a response */
	int minor;	   /* HTTP/1.minor */
	struct http_fields fields;
	bool keep_alive; /* the sender keeps the connection open */
	bool upgrade;	 /* Connection: upgrade and an Upgrade field */
	bool chunked;
	int64_t length; /* bytes of the body; -1 = chunked, or a response that ends with its connection */
};

void http_head_release(struct http_head *h);
void http_head_reset(struct http_head *h);
/* "GET"; the method must not be HTTP_METHOD_OTHER. */
const char *http_method_text(enum http_method method);
/* The usual phrase of a status: "Not Found". Never NULL. */
const char *http_status_phrase(int status);

#endif
