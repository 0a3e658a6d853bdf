/* A bench for attached programs: a server on the fake engine with a session, and a client on a socketpair, on one loop. */
#ifndef HUSK_TESTS_ATTACH_BENCH_H
#define HUSK_TESTS_ATTACH_BENCH_H

#include "api/local.h"
#include "attach/client.h"
#include "base/buf.h"
#include "tests/unit/manager-bench.h"

extern struct bench b;
extern struct fake *fake;
extern struct conversation *conversation;
extern struct local_server *server;
extern struct attach *attach;
extern char *session; /* created by the conversation's own client */

/* The results of one call. */
struct got {
	bool done;
	struct fail fail;
	enum ending ending;
	uint64_t run;
	size_t earlier, parts, displays, n;
	enum cause cause;
	char *text, *mime, *id, *detail;
	struct buf live[2]; /* the first contains a mark for each display */
};
extern struct got got, other;
extern struct fail lost; /* the failure that clients got when their connection ended */

/* Set-up and teardown for cmocka. */
int attach_bench_begin(void **state);
int attach_bench_end(void **state);

void open_server(void);
void close_server(void);
struct attach *connect_client(void);
void on_lost(void *ctx, const struct fail *f);
/* Empties g for the next call. */
void forget(struct got *g);
/* Creates a session in the server's conversation and returns its id, which the caller owns. */
char *create(void);
/* Callback of create requests; ctx is a struct got. */
void on_created(void *ctx, const struct create_result *result, const struct fail *f);
/* A value for fake_on_call. */
void do_nothing(struct fake_container *c, struct fake_call *call);

/* Callback of runs; ctx is a struct got. */
void on_ran(void *ctx, const struct run_result *result, const struct fail *f);
/* Runs a cell; its end is stored in g. */
struct run_request a_run(struct got *g, const char *text);
struct attach_call *run(struct attach *a, struct got *g, const char *text);
/* Returns the number of sockets in the state folder, and the name of one. */
size_t count_sockets(char *ret_name, size_t size);

#endif
