#ifndef HUSK_MCP_HTTP_PRIVATE_H
#define HUSK_MCP_HTTP_PRIVATE_H

#include "base/strv.h"
#include "mcp/connection.h"
#include "mcp/http.h"
#include "mcp/random-name.h"
#include "mcp/rpc.h"

/* After this time without data, a comment shows the client and its proxies that the stream is alive. */
#define MCP_HTTP_ALIVE_MS 15000
#define MCP_HTTP_TICK_MS 5000

/* A request of which it is not known yet which server handles it. */
struct mcp_ticket {
	struct mcp_stream *stream; /* NULL = it was freed meanwhile */
	struct http_request *r;
	struct rpc_message message;
};

/* Ended sessions that are remembered, so that they are not continued. */
#define MCP_ENDED_MAX 64

struct mcp_http {
	struct mcp_http_spec spec;
	struct list rooms;
	struct list sessions; /* the least recently used first */
	size_t n_sessions;
	struct list streams; /* the least recently written first */
	size_t kept;	     /* bytes of kept events of all streams */
	struct timer *timer;
	bool stopping;
	char *ended[MCP_ENDED_MAX]; /* ids of sessions that clients have ended */
	size_t next_ended;
};

/* State that is shared by all clients of one conversation. */
struct mcp_room {
	struct list node;
	struct mcp_http *http;
	struct conversation *conversation;
	struct connection modern; /* all requests of 2026-07-28 */
};

/* A session of an older revision. */
struct mcp_session {
	struct list node;
	struct mcp_http *http;
	struct mcp_room *room;
	struct connection connection;
	char *id; /* NULL = initialize was not answered yet */
	char *key;
	struct strv helpers;	    /* addresses of servers to which calls were passed; never shrinks */
	struct list streams;	    /* the least recently written first; without `general` */
	struct mcp_stream *general; /* messages that belong to no request */
	uint64_t n_streams;	    /* number of the last stream */
	size_t kept;		    /* bytes of kept events */
	uint64_t used_ms;
};

/* One event of a stream, as it is sent. */
struct mcp_event {
	struct list node;
	uint64_t number;
	size_t n;
	char text[];
};

/* The messages that belong to one POST, or to no request of a session. A stream outlives the HTTP request that carries
 * it if that is broken and the stream can be resumed. */
struct mcp_stream {
	struct list node;	/* of all streams */
	struct list of_session; /* unlinked for 2026-07-28 and for the general stream */
	struct mcp_http *http;
	struct mcp_room *room;
	struct mcp_session *session; /* NULL = 2026-07-28, or not known yet */
	struct http_request *r;	     /* NULL = nobody reads */
	char *key, *base;
	unsigned scopes;
	bool accepts_events, accepts_json;
	bool has_request; /* which was dispatched */
	bool begins;	  /* the answer has the id of a new session */
	bool final;	  /* as in struct mcp_http_caller, like the next */
	uint64_t place;
	struct mcp_ticket *ticket; /* NULL = none */
	bool begun;		   /* the head of an event stream was sent */
	bool ended;		   /* there will be no more events */
	uint64_t number;	   /* in its session; 0 = the general stream */
	uint64_t last;		   /* number of the last event */
	uint64_t sent;		   /* number of the last event that was written */
	uint64_t since_ms;	   /* when something was written last, or the stream began */
	struct list events;
	size_t kept, n_events;
};

/* --- http-headers.c: pure */
/* True if the message is to be handled by the rules of 2026-07-28. */
bool mcp_headers_modern(const struct http_fields *f, const struct rpc_message *m);
/* The header that is missing or does not repeat the body of a request of 2026-07-28; NULL = none. */
const char *mcp_headers_wrong_version(const struct http_fields *f, const struct rpc_message *m);
const char *mcp_headers_wrong_name(const struct http_fields *f, const struct rpc_message *m);

/* --- http-stream.c */
/* r may be NULL. */
struct mcp_stream *mcp_stream_new(struct mcp_room *room, struct http_request *r);
/* Aborts the answer to its HTTP request, if there is one. */
void mcp_stream_free(struct mcp_stream *s);
/* Makes it a stream of the session. */
void mcp_stream_join(struct mcp_stream *s, struct mcp_session *session);
/* Answers with a JSON text and frees the stream. */
void mcp_stream_reply(struct mcp_stream *s, int status, const void *text, size_t n);
/* Answers with a JSON-RPC error and frees the stream. id may be NULL; takes data. */
void mcp_stream_refuse(struct mcp_stream *s, int status, json_t *id, int code, const char *message, json_t *data);
/* Sends a message as an event, or keeps it. */
void mcp_stream_send(struct mcp_stream *s, const struct buf *text);
/* There will be no more events. Frees the stream if it cannot be resumed. */
void mcp_stream_end(struct mcp_stream *s);
/* Continues the stream in another HTTP request, after this event. */
void mcp_stream_resume(struct mcp_stream *s, struct http_request *r, uint64_t after);
/* Closes the connection; the stream continues. */
void mcp_stream_hang_up(struct mcp_stream *s);
/* Sends a comment if one is due, or forgets a stream that ended long ago (and frees it). */
void mcp_stream_tick(struct mcp_stream *s, uint64_t now);
/* The number of the event that Last-Event-ID names, and its stream in the session. NULL = unknown. */
struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_after);
/* Answers a request without a stream with a JSON-RPC error. */
void mcp_http_refuse(struct http_request *r, int status, const char *message);

/* --- http-session.c */
/* NULL = there are too many. */
struct mcp_session *mcp_session_new(struct mcp_room *room, const char *key, unsigned scopes);
/* Cancels its requests and ends its streams. */
void mcp_session_free(struct mcp_session *s);
/* The same without using the manager. */
void mcp_session_drop(struct mcp_session *s);
struct mcp_session *mcp_session_find(struct mcp_http *h, const struct mcp_room *room, const char *key, const char *id);
void mcp_session_use(struct mcp_session *s);
/* Continues a session that another server, or an earlier process, has begun. NULL = the id is not valid, or the client has
 * ended the session here. */
struct mcp_session *mcp_session_continue(struct mcp_room *room, const char *key, unsigned scopes, const char *id);
/* The id of a session whose `initialize` was handled. */
const char *mcp_session_name(struct mcp_session *s);
/* The client has ended the session: it is not continued. */
void mcp_session_end(struct mcp_session *s);
/* The number of a server for the session, from 1; 0 = there are too many. */
uint64_t mcp_session_helper(struct mcp_session *s, const char *address);
/* Ends sessions that were not used for long. */
void mcp_sessions_tick(struct mcp_http *h, uint64_t now);

/* The number of the server that has the stream of this event, from 1; 0 = this server. */
uint64_t mcp_stream_place(const char *event_id);

/* --- http.c */
extern const struct connection_ops mcp_http_ops;
/* Makes sure that the timer runs. */
void mcp_http_watch(struct mcp_http *h);
void mcp_room_bind(struct mcp_room *room, struct connection *c);
/* The client of this stream has disconnected, or its request is aborted: the HTTP request is gone. */
void mcp_http_closed(void *stream);

#endif
