#include "manager/line/earlier.h"

#include "base/alloc.h"

struct earlier_run {
	struct list node;
	uint32_t call;
	bool terminal, ended;
	struct collect *collect;
	struct run_result result; /* once it has ended */
};

void earlier_init(struct earlier *e, const struct config *config)
{
	*e = (struct earlier){ .config = config };
	list_init(&e->runs);
}

static void run_free(struct earlier_run *r)
{
	list_remove(&r->node);
	collect_free(r->collect);
	run_result_release(&r->result);
	free(r);
}

void earlier_release(struct earlier *e)
{
	list_for_each(r, &e->runs, struct earlier_run, node)
		run_free(r);
}

static struct earlier_run *find(struct earlier *e, uint32_t call)
{
	list_for_each(r, &e->runs, struct earlier_run, node)
		if (r->call == call)
			return r;
	return NULL;
}

/* A replay starts over, also of a run that had ended before the stream broke. */
static struct earlier_run *begin(struct earlier *e, const struct wire_frame *frame)
{
	struct earlier_run *r = find(e, frame->call);
	if (r)
		run_free(r);
	r = new0(struct earlier_run);
	r->call = frame->call;
	r->terminal = wire_read_call(frame);
	r->collect = collect_new(e->config);
	list_append(&e->runs, &r->node);
	return r;
}

int earlier_frame(struct earlier *e, const struct wire_frame *frame)
{
	struct earlier_run *r = find(e, frame->call);
	if (frame->type == FRAME_CALL && frame->call <= e->last_call)
		r = begin(e, frame);
	if (!r)
		return frame->type == FRAME_END;
	if (r->ended)
		return -1;
	int got = collect_frame(r->collect, frame);
	if (got <= 0)
		return got;
	if (collect_refused(r->collect)) {
		run_free(r);
		return 1;
	}
	collect_finish(r->collect, &r->result);
	r->ended = true;
	return 0;
}

size_t earlier_running(const struct earlier *e, bool terminal)
{
	size_t n = 0;
	list_for_each(r, &e->runs, struct earlier_run, node)
		n += !r->ended && r->terminal == terminal;
	return n;
}

void earlier_tell(struct earlier *e, struct run_result *result)
{
	list_for_each(r, &e->runs, struct earlier_run, node) {
		result->earlier = xrealloc(result->earlier, (result->n_earlier + 1) * sizeof(*result->earlier));
		result->earlier[result->n_earlier++] = (struct earlier_result){
			.seq = r->call, .terminal = r->terminal, .ended = r->ended, .result = r->result
		};
		r->result = (struct run_result){ 0 };
		if (r->ended)
			run_free(r);
	}
}
