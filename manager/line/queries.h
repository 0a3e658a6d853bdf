/* Questions to the session's interpreter, one after the other on a line. One that is not answered in time ends all the same. */
#ifndef HUSK_MANAGER_LINE_QUERIES_H
#define HUSK_MANAGER_LINE_QUERIES_H

#include "manager/line/dispatch.h"
#include "manager/model/query.h"

/* Of one line; more are refused. */
#define QUERIES_MAX 16

struct query {
	enum query_kind kind;
	const char *code; /* valid UTF-8 without NULs, at most QUERY_CODE_MAX bytes */
	size_t len;
	size_t cursor; /* at most as many as there are code points */
	bool detail;   /* QUERY_INSPECT: all that there is, not the short of it */
};

/* Embedded in its owner, zeroed before. */
struct query_waiter {
	/* Once, from the loop: answer, or why there is none. NULL within the line: the rest of one that was stopped. */
	void (*on_answer)(struct query_waiter *a, const struct query_answer *answer, const struct fail *f);

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

/* 0, or -1 with f if it cannot be asked here or now; then on_answer is not called. */
int query_start(struct query_waiter *a, struct dispatch *d, const struct query *ask, struct fail *f);
/* Idempotent, also on a zeroed one: on_answer is not called. The next one is sent when PID 1 has answered this one. */
void query_stop(struct query_waiter *a);

/* For the line: its connection broke, to be made again (why NULL) or for good. Answers are not replayed: all that were asked are told
 * so. */
void queries_lost(struct dispatch *d, const struct fail *why);
/* For the line: it goes, and nobody is told. */
void queries_release(struct dispatch *d);
/* For the line: an ANSWER frame. 0, or negative if it is none. */
int queries_frame(struct dispatch *d, const struct wire_frame *frame);

#endif
