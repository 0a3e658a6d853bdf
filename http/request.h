/* A request to our server and its answer.
 *
 * A handler gets a request with its head, reads the body if it wants it, and answers exactly once: with http_reply(),
 * or piece by piece with http_reply_begin(), http_reply_write() and http_reply_end(). The request is invalid after
 * http_reply() or http_reply_end() returned, and after on_closed was called. */
#ifndef HUSK_HTTP_REQUEST_H
#define HUSK_HTTP_REQUEST_H

#include "http/channel.h"
#include "http/message.h"

struct http_request;

const struct http_head *http_request_head(const struct http_request *r);
/* The tag of the listener that accepted the connection. */
void *http_request_tag(const struct http_request *r);
/* The socket of the connection, for its peer's address; must not be read or written. */
int http_request_fd(const struct http_request *r);

/* True if the sender is a peer (http_server_accept_peers()). */
bool http_request_is_peer(const struct http_request *r);

/* Counts the connection as one of this owner, a name that the caller chooses. False if the owner has `most` others that
 * all work on a request; else the one that has waited longest for its next request is closed. */
bool http_request_claim(struct http_request *r, const char *owner, unsigned most);

/* Takes the open files that came with the request over a unix socket; the caller closes them. Files that nobody takes
 * are closed with the request. Returns their number. */
size_t http_request_take_files(struct http_request *r, int files[CHANNEL_FILES_MAX]);

/* fn is called if the client disconnects before the answer is complete; the request is invalid when fn returns.
 * Handlers that answer later need this. */
void http_request_on_closed(struct http_request *r, void (*fn)(void *ctx), void *ctx);

/* fn is called with the status when the answer to this request begins. It must not use the request otherwise than to read
 * its head. */
void http_request_on_answer(struct http_request *r, void (*fn)(void *ctx, const struct http_request *r, int status),
			    void *ctx);

struct http_body_ops {
	void (*on_data)(void *ctx, const void *data, size_t n);
	/* The body is complete. After this, only on_closed may still be called. */
	void (*on_end)(void *ctx);
};
/* Starts reading the body. A client that waits for "100 Continue" gets it now. The callbacks may answer the request,
 * and are not called after that. They are never called from inside this function. */
void http_request_read(struct http_request *r, const struct http_body_ops *ops, void *ctx);
/* Reads the whole body of at most `max` bytes, and then calls fn; the data is valid during the call. A longer body is
 * answered with 413 here; fn is not called then, but on_closed is. */
void http_request_collect(struct http_request *r, size_t max, void (*fn)(void *ctx, const void *data, size_t n),
			  void *ctx);
/* Stops and resumes reading the body (back pressure). */
void http_request_pause(struct http_request *r, bool paused);

/* Fields may be NULL. Content-Length, Connection and Date are added. For HEAD the body is not sent. */
void http_reply(struct http_request *r, int status, const struct http_fields *fields, const void *body, size_t n);
/* Answers with a problem (http/problem.h). */
void http_reply_problem(struct http_request *r, int status, const char *detail);

/* length -1 = unknown: the body is sent in chunks, or up to the end of the connection with HTTP/1.0. Returns false if
 * no body may follow (HEAD, 204, 304): call http_reply_end(). */
bool http_reply_begin(struct http_request *r, int status, const struct http_fields *fields, int64_t length);
/* 0, or -errno if the connection is broken or 64 MiB are unsent; on_closed follows. */
int http_reply_write(struct http_request *r, const void *data, size_t n);
/* Bytes written but not yet sent. */
size_t http_reply_queued(const struct http_request *r);
/* Called when bytes that had to wait were all sent, until the answer ends. A write that could be sent at once does not
 * cause a call: http_reply_queued() is 0 after it. */
void http_reply_on_drained(struct http_request *r, void (*fn)(void *ctx), void *ctx);
void http_reply_end(struct http_request *r);
/* Aborts the answer: the client sees an incomplete body. on_closed is not called. */
void http_reply_abort(struct http_request *r);

/* Answers with 101 and hands over the connection. Only if head->upgrade. The channel is paused and has no owner: set
 * its ops. Its first bytes are those that came after the head. The request is invalid afterwards. */
struct channel *http_reply_upgrade(struct http_request *r, const struct http_fields *fields);

#endif
