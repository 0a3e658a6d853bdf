/* Operations that only people at a prompt use: a terminal that echoes its input until it is hung up, and queries,
 * which get no answers. */
#include "base/alloc.h"
#include "manager/manager.h"

/* The terminals that were opened last. The fake manager's own operations do not know them. */
static struct {
	const struct op *op;
	struct terminal_request request;
} terminals[256];
static size_t n_opened;

struct op *manager_terminal(struct conversation *c, const struct terminal_request *req, struct fail *f)
{
	/* An endless run takes the terminal's place, because a run can be cancelled. */
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
	/* The newest first, because a new operation may have the address of an old one. */
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
