/* WebSocket (RFC 6455), both sides: libwslay on a channel. The library is loaded with the first connection. Pings are
 * answered, and sent every 30 s. If the peer does not answer a ping, the connection is closed, unless the owner
 * has paused it. A peer that pings without reading what was sent to it is disconnected. */
#ifndef HUSK_HTTP_WEBSOCKET_H
#define HUSK_HTTP_WEBSOCKET_H

#include "http/channel.h"
#include "http/request.h"

struct websocket;

struct websocket_ops {
	/* A whole message. The callback may free the websocket. */
	void (*on_message)(void *ctx, bool text, const void *data, size_t n);
	/* The connection has ended: the peer's close code, or 1006 if the connection broke. Called once, but not after
	 * websocket_free() or websocket_close(). Free the websocket then. */
	void (*on_closed)(void *ctx, int code);
	/* All queued data has been sent. May be NULL. */
	void (*on_drained)(void *ctx);
};

struct websocket_spec {
	struct loop *loop;
	size_t message_max; /* bytes of a received message; a longer one closes the connection with 1009 */
	const struct websocket_ops *ops;
	void *ctx;
};

/* Whether the request asks for a WebSocket. */
bool websocket_requested(const struct http_head *head);
/* Accepts the request, which is invalid afterwards. protocol is the subprotocol to name in the answer, or NULL. Returns
 * NULL if the request is not a valid handshake or the library is missing; the client gets the reason. */
struct websocket *websocket_accept(struct http_request *r, const char *protocol, const struct websocket_spec *spec);

/* The client's side: adds the fields of a request to `fields`, with a fresh key in *key. */
#define WEBSOCKET_KEY_SIZE 25
int websocket_add_fields(struct http_fields *fields, char key[WEBSOCKET_KEY_SIZE]);
/* Takes ownership of the channel of a request that was answered with this head. If the answer is not a valid handshake,
 * closes the channel and returns NULL. */
struct websocket *websocket_connected(struct channel *channel, const struct http_head *head, const char *key,
				      const struct websocket_spec *spec);

/* Closes at once. Accepts NULL, returns NULL. */
struct websocket *websocket_free(struct websocket *w);
/* Takes ownership of the websocket: sends the code and the reason (at most 123 bytes), and closes. */
void websocket_close(struct websocket *w, int code, const char *reason);
/* 0 or -errno. */
int websocket_send(struct websocket *w, bool text, const void *data, size_t n);
size_t websocket_queued(const struct websocket *w);
/* Stops and resumes reading from the peer (back pressure). */
void websocket_pause(struct websocket *w, bool paused);

#endif
