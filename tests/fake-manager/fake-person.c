/* What only people at a prompt ask a manager for: a terminal that echoes what is typed until it is hung up, and no answers to questions. */
#include "base/alloc.h"
#include "manager/manager.h"

/* The last ones that were opened; the fake's own ops know nothing of them. */
static struct {
	const struct op *op;
	struct terminal_request request;
} terminals[256];
static size_t n_opened;

struct op *manager_terminal(struct conversation *c, const struct terminal_request *req, struct fail *f)
{
	/* A run that has no end stands for it: it can be cancelled. */
	struct op *op = manager_run(
		c, &(struct run_request){ .session_id = req->session_id, .text = "wait", .len = strlen("wait") }, f);
	if (!op)
		return NULL;
	terminals[n_opened % ARRAY_LEN(terminals)].op = op;
	terminals[n_opened++ % ARRAY_LEN(terminals)].request = *req;
	return op;
}

int terminal_write(struct op *op, const void *data, size_t n)
{
	/* The newest first: where an op has been, another may be. */
	for (size_t i = 0; i < MIN(n_opened, ARRAY_LEN(terminals)) && n <= TERMINAL_WINDOW; i++) {
		size_t at = (n_opened - 1 - i) % ARRAY_LEN(terminals);
		const struct terminal_request *request = &terminals[at].request;
		if (terminals[at].op != op)
			continue;
		request->on_written(request->ctx, n);
		request->on_bytes(request->ctx, data, n);
		return 0;
	}
	return -1;
}

void terminal_taken(struct op *op UNUSED, size_t n UNUSED)
{
}

void terminal_resize(struct op *op UNUSED, int rows UNUSED, int cols UNUSED)
{
}

struct op *manager_query(struct conversation *c UNUSED, const struct query_request *req UNUSED, struct fail *f)
{
	cause_set(f, FAIL_BUSY, CAUSE_INTERPRETER_BUSY, "a cell runs");
	return NULL;
}
