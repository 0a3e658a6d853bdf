/* Parses HTTP/1.x messages as bytes arrive: llhttp behind stricter checks of our own.
 *
 * llhttp alone accepts folded fields, several Host fields, bare line feeds, HTTP/0.9 and HTTP/2.0. Proxies disagree
 * about such messages, which is how requests are smuggled past them. Therefore the head is collected first (it is
 * bounded) and every line of it is checked before llhttp sees it. llhttp then finds the fields, and decodes the
 * body. */
#ifndef HUSK_HTTP_PARSER_H
#define HUSK_HTTP_PARSER_H

#include "http/message.h"

struct http_parser;

struct http_parser_ops {
	/* Called in this order for each message; on_body any number of times. The callbacks must not free the parser.
	 * Data is valid during the call; the head stays valid until the next message begins. */
	void (*on_head)(void *ctx, const struct http_head *head);
	void (*on_body)(void *ctx, const void *data, size_t n);
	void (*on_end)(void *ctx);
};

enum http_role { HTTP_SERVER, HTTP_CLIENT };

/* Why a message was refused: the status of the answer, and a sentence. */
struct http_wrong {
	int status;
	const char *sentence; /* static */
};

struct http_parser *http_parser_new(enum http_role role, const struct http_parser_ops *ops, void *ctx);
/* Accepts NULL, returns NULL. */
struct http_parser *http_parser_free(struct http_parser *p);

/* Takes bytes and returns how many it used, or -1 if the message is invalid (http_parser_wrong() says why; the parser
 * is unusable then). Uses fewer than n in three cases: at the end of a message, so that the caller decides when the
 * next one begins; after an upgrade, where the rest belongs to the new protocol; and after http_parser_pause(). */
ssize_t http_parser_feed(struct http_parser *p, const void *data, size_t n);
/* The head of the current message, or of the last one. */
const struct http_head *http_parser_head(const struct http_parser *p);
struct http_wrong http_parser_wrong(const struct http_parser *p);
/* Call it from on_head: http_parser_feed() then returns before the body. Feeding the rest resumes. */
void http_parser_pause(struct http_parser *p);
/* The connection has ended. 0, or -1 if a message was cut off (a response without a length ends here). */
int http_parser_finish(struct http_parser *p);
/* True between messages, before the first byte of the next one. */
bool http_parser_idle(const struct http_parser *p);
/* True after on_head of a message that switches protocols: a request for an upgrade, or a 101 response. */
bool http_parser_upgraded(const struct http_parser *p);
/* The request was answered without an upgrade: what follows is the next request. */
void http_parser_decline_upgrade(struct http_parser *p);
/* Client: the next response answers HEAD, so it has no body whatever its fields say. */
void http_parser_expect_no_body(struct http_parser *p);

#endif
