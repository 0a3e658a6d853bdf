/* For tests of http/: a server that answers according to the path, and the raw end of a connection to it. */
#ifndef HUSK_TESTS_HTTP_RIG_H
#define HUSK_TESTS_HTTP_RIG_H

#include "base/buf.h"
#include "http/server.h"

struct http_rig {
	struct loop *loop;
	struct http_server *server;
	struct http_request *held; /* the last request to /hold */
	unsigned requests, closed, bodies, drained;
	size_t body_bytes;
	void (*on_other)(struct http_rig *rig, struct http_request *r); /* paths below /other */
	void *data;
};

/* limits NULL = the defaults. The handler answers: /text "hello", /echo the body (at most 100 bytes), /stream three
 * pieces without a length, /hold later, /drop without reading the body, /big 1 MiB, /count the length of the body. */
void http_rig_init(struct http_rig *rig, const struct http_limits *limits);
void http_rig_release(struct http_rig *rig);
/* A connection to the server; the returned descriptor is the client's end, non-blocking. */
int http_rig_connect(struct http_rig *rig);
/* Sends text; runs the loop until nothing more arrives for the time being. */
void http_rig_send(struct http_rig *rig, int fd, const char *text);
/* Runs the loop until `want` has arrived, the connection has ended or 5 s have passed. Returns everything that
 * arrived. The buffer belongs to the caller. */
const char *http_rig_read(struct http_rig *rig, int fd, struct buf *got, const char *want);
/* True once the server closed the connection. */
bool http_rig_ended(struct http_rig *rig, int fd);
/* Runs the loop for a few turns. */
void http_rig_turn(struct http_rig *rig);

#endif
