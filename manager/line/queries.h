/* Queries to the session's interpreter, one at a time on a line. A query that is not answered in time ends with an
 * error. */
#ifndef HUSK_MANAGER_LINE_QUERIES_H
#define HUSK_MANAGER_LINE_QUERIES_H

#include "manager/line/dispatch.h"
#include "manager/model/query.h"

/* Waiting queries per line; more are refused. */
#define QUERIES_MAX 16

struct json_t;

struct query {
	enum query_kind kind;
	const char *code; /* valid UTF-8 without NULs, at most QUERY_CODE_MAX bytes */
	size_t len;
	size_t cursor; /* at most the number of code points in the code */
	bool detail;   /* QUERY_INSPECT: the full text, not the summary */
};

/* Embedded in its owner, which zeroes it before use. */
struct query_waiter {
	/* Called once, from the loop, with the answer, or with the reason for a failure in f. NULL only inside the
	 * line, for a stopped query. */
	void (*on_answer)(struct query_waiter *a, const struct query_answer *answer, const struct fail *f);

	/* Called instead for query_start_json(), with the answer as PID 1 has sent it; borrowed. */
	void (*on_json)(struct query_waiter *a, const struct json_t *said, const struct fail *f);

	/* Private. */
	struct list node;
	struct timer *limit;
	struct dispatch *dispatch;
	struct buf frame;
	bool sent;
	uint32_t number;
	enum query_kind kind;
	size_t code_points, cursor;
};

/* 0, or -1 with f if the query cannot be sent; then on_answer is not called. */
int query_start(struct query_waiter *a, struct dispatch *d, const struct query *query, struct fail *f);
/* The same for another request to PID 1 that an ANSWER ends. The owner has set on_json. */
int query_start_json(struct query_waiter *a, struct dispatch *d, enum frame_type frame, struct json_t *request,
		     struct fail *f);
/* Idempotent; accepts a zeroed waiter. on_answer is not called. The next query is sent when PID 1 has answered
 * this one. */
void query_stop(struct query_waiter *a);

/* For the line: the connection broke and will be reopened (why NULL), or the session is over. Answers are not
 * replayed, so all queries fail. */
void queries_lost(struct dispatch *d, const struct fail *why);
/* For the line: it is being freed. Drops all queries without callbacks. */
void queries_release(struct dispatch *d);
/* For the line: handles an ANSWER frame. 0, or negative if it is malformed. */
int queries_frame(struct dispatch *d, const struct wire_frame *frame);

#endif
