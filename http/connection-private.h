#ifndef HUSK_HTTP_CONNECTION_PRIVATE_H
#define HUSK_HTTP_CONNECTION_PRIVATE_H

#include "http/connection.h"
#include "http/parser.h"

/* Each connection has one request object. It is in use from the head of a request to the end of its answer. */
struct http_request {
	struct http_connection *c;
	bool active;
	bool body_ended; /* the whole body was received */
	bool too_large;	 /* to be answered with 413 in the next turn */
	bool paused;
	bool begun;	/* the answer's head has been sent */
	bool no_body;	/* the answer has no body */
	bool chunked;	/* the answer is chunked */
	bool close;	/* the connection ends with this answer */
	bool continues; /* the client waits for "100 Continue" */
	struct http_body_ops body;
	void *body_ctx;
	bool reading, end_reported;
	struct buf collected;
	void (*on_collected)(void *ctx, const void *data, size_t n);
	void *collected_ctx;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
	void (*on_answer)(void *ctx, const struct http_request *r, int status);
	void *answer_ctx;
	void (*on_drained)(void *ctx);
	void *drained_ctx;
};

enum http_wait { HTTP_WAIT_NONE, HTTP_WAIT_IDLE, HTTP_WAIT_HEAD, HTTP_WAIT_BODY, HTTP_WAIT_SEND };

struct http_connection {
	struct list node;
	struct http_host *host;
	struct channel *channel;
	struct http_parser *parser;
	const struct http_head *head;
	struct http_request request;
	struct buf input;	      /* bytes that wait for the parser */
	int files[CHANNEL_FILES_MAX]; /* open files that came with the request */
	size_t n_files;
	void *tag;
	char *owner; /* set by http_request_claim(); NULL = nobody */
	struct timer *timer;
	enum http_wait wait; /* what the deadline is for */
	uint64_t deadline;   /* in loop_now_ms(); the timer may fire earlier */
	uint64_t timer_due;  /* 0 = not running */
	size_t last_queued;  /* unsent bytes when the deadline was set */
	struct buf out;	     /* for the heads of answers */
	bool feeding, freed;
	bool head_ready; /* a head waits to be handled */
	bool known;	 /* plain or TLS */
};

/* For connection-reply.c: the answer to the current request is complete. */
void http_connection_answered(struct http_connection *c);
/* For connection-reply.c: takes the channel away and frees the rest. */
struct channel *http_connection_detach(struct http_connection *c);
/* For connection-reply.c: bytes were queued, so from now on the client must read. */
void http_connection_wrote(struct http_connection *c);
/* Closes at once. */
void http_connection_close(struct http_connection *c);
/* Continues in the next turn of the loop, for work that must not run inside the caller. */
void http_connection_kick(struct http_connection *c);

#endif
