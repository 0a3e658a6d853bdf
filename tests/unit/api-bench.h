/* A bench for the API: a manager on the fake engine, the API on it, and a raw HTTP client on a socketpair. */
#ifndef HUSK_TESTS_API_BENCH_H
#define HUSK_TESTS_API_BENCH_H

#include <jansson.h>

#include "api/server.h"
#include "base/buf.h"
#include "tests/unit/manager-bench.h"

extern struct bench b;
extern struct fake *fake;
extern struct manager *manager;
extern struct conversation *conversation;
extern struct api *api;

/* One answer. */
struct reply {
	int status;
	struct buf raw; /* head and body */
	const char *body;
	json_t *json; /* NULL if the body is not JSON */
};
void reply_release(struct reply *r);
/* The value of a field of the answer's head, or NULL. The caller owns it. */
char *reply_field(const struct reply *r, const char *name);

int api_bench_begin(void **state);
int api_bench_end(void **state);
/* Frees the server and starts another one on the same store, as after a kill. */
void api_bench_restart(void);

/* A connection as a program on the unix socket has it; non-blocking. */
int api_connect(void);
/* Writes all of the text while the loop turns. */
void api_send(int fd, const char *text);
/* Runs the loop until the text has arrived. */
void api_read_until(int fd, struct buf *got, const char *text);
/* Sends one request on a connection of its own and waits for the whole answer. fields: more lines, each with its line
 * end; NULL = none. body NULL = none. */
struct reply api_call(const char *method, const char *target, const char *fields, const char *body);
/* A connection over TCP, as a program on another machine has it; non-blocking. */
int api_connect_remote(void);
/* The same over TCP, as a program on another machine: only with a key in `fields` or with a signed link. */
struct reply api_call_remote(const char *method, const char *target, const char *fields, const char *body);
/* A new key of the tenant with these scopes, as the field Authorization with its line end. The caller owns it. */
char *api_key(const char *name, const char *tenant, unsigned scopes);
/* Adds an export of a conversation with this content, and returns its id, which the caller owns. */
char *api_add_export(const char *conversation, const char *name, const char *content);
/* Creates a Python session and returns its id, which the caller owns. */
char *api_create(void);

#endif
