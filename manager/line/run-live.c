/* Live output of a run, for a waiter that wants it as it arrives. */
#include "base/alloc.h"
#include "manager/line/run-private.h"

void run_show_output(struct run *run, const struct wire_frame *frame)
{
	struct run_waiter *w = run->waiter;
	AUTO(freep) char *tail = NULL;
	struct shown_display shown;
	if (!w)
		return;
	switch (frame->type) {
	case FRAME_OUT:
	case FRAME_ERR:
		if (w->on_output)
			w->on_output(w, frame->type == FRAME_OUT ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_OUT_TAIL:
	case FRAME_ERR_TAIL:
		if (w->on_tail)
			w->on_tail(w, frame->type == FRAME_OUT_TAIL ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_PROGRESS:
		tail = !w->on_display && (w->on_output || w->on_tail) ? wire_read_progress(frame) : NULL;
		if (tail && w->on_tail)
			w->on_tail(w, 1, tail, strlen(tail));
		else if (tail)
			w->on_output(w, 1, tail, strlen(tail));
		break;
	case FRAME_DISPLAY:
		if (w->on_display && collect_shown(run->collect, &shown))
			w->on_display(w, &shown);
		break;
	default:
		break;
	}
}

static void view_output(void *ctx, int stream, const void *data, size_t n)
{
	struct run_waiter *w = ctx;
	if (w->on_output)
		w->on_output(w, stream, data, n);
}

static void view_display(void *ctx, const struct shown_display *display)
{
	struct run_waiter *w = ctx;
	w->on_display(w, display);
}

void run_catch_up(struct run *run, const struct wire_frame *frame)
{
	struct run_waiter *w = run->waiter;
	bool shows = run->unseen && w && w->on_display && frame->type != FRAME_CALL;
	run->unseen = false;
	if (shows)
		collect_show(run->collect, &(struct collect_viewer){ view_output, view_display, w });
}

void run_tell_replay(struct run *run)
{
	struct run_waiter *w = run->waiter;
	size_t displays = collect_displays(run->collect);
	for (size_t i = 0; i < run->result.n_displays; i++)
		displays += run->result.displays[i].n > 0;
	if (w && w->on_replay)
		w->on_replay(w, displays);
}
