/* A web server in another process, for tests that send HTTP requests. */
#ifndef HUSK_TESTS_HTTP_SERVER_H
#define HUSK_TESTS_HTTP_SERVER_H

#include <sys/types.h>

#include "base/defs.h"

struct http_server {
	pid_t pid;
	uint16_t port; /* of 127.0.0.1 */
};

/* answer() runs in the other process, once for each connection. It gets the head of the request and writes to fd. */
void http_server_start(struct http_server *s, void (*answer)(const char *request, int fd));
void http_server_stop(struct http_server *s);

#endif
