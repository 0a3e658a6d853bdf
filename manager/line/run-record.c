/* Reports what a run does to the recorder of its line, no matter who waits for the run. */
#include "manager/line/run-private.h"

static const struct recorder *recorder_of(const struct run *run)
{
	return run->record ? run->dispatch->recorder : NULL;
}

static void begin(struct run *run, const struct recorded_run *recorded)
{
	const struct recorder *recorder = run->dispatch->recorder;
	if (recorder && run->kind != RUN_INSTALL)
		run->record = recorder->queued(recorder->ctx, recorded);
}

void run_record_begin(struct run *run, const struct run_spec *spec)
{
	begin(run, &(struct recorded_run){ .number = run->call,
					   .kind = run->kind,
					   .text = spec->text,
					   .len = spec->len,
					   .by = spec->by,
					   .client = run->client,
					   .detached = run->detached,
					   .branch = *run->branch ? run->branch : NULL });
	if (run->began_ms)
		run_record_start(run);
}

/* Readers must not take a run for ended because its replay has not arrived yet. */
void run_record_inherit(struct run *run)
{
	begin(run, &(struct recorded_run){ .number = run->call, .kind = run->kind });
	run->inherited = true;
}

void run_record_replay(struct run *run, const struct wire_call *call)
{
	const struct recorder *recorder = recorder_of(run);
	struct recorded_run recorded = { .number = run->call,
					 .kind = run->kind,
					 .by = *call->by ? call->by : NULL,
					 .client = run->client,
					 .detached = call->detached,
					 .branch = *call->branch ? call->branch : NULL };
	if (!recorder)
		return;
	if (run->inherited)
		recorder->known(run->record, &recorded);
	else
		recorder->replay(run->record, call->told, collect_displays(run->collect));
	run->inherited = false;
}

void run_record_start(struct run *run)
{
	const struct recorder *recorder = recorder_of(run);
	if (recorder)
		recorder->started(run->record);
}

void run_record_frame(struct run *run, const struct wire_frame *frame)
{
	const struct recorder *recorder = recorder_of(run);
	struct shown_display shown;
	if (!recorder)
		return;
	switch (frame->type) {
	case FRAME_OUT:
	case FRAME_ERR:
		recorder->output(run->record, frame->type == FRAME_OUT ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_OUT_TAIL:
	case FRAME_ERR_TAIL:
		recorder->tail(run->record, frame->type == FRAME_OUT_TAIL ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_DISPLAY:
		if (collect_shown(run->collect, &shown))
			recorder->display(run->record, &shown);
		break;
	case FRAME_RESULT:
	case FRAME_ERROR:
		recorder->value(run->record, collect_partial(run->collect));
		break;
	default:
		break;
	}
}

void run_record_piece(struct run *run, const struct run_result *piece)
{
	const struct recorder *recorder = recorder_of(run);
	if (recorder)
		recorder->piece(run->record, piece->stdout_bytes, piece->stderr_bytes);
}

void run_record_mark(struct run *run, uint32_t mark)
{
	const struct recorder *recorder = recorder_of(run);
	if (recorder)
		recorder->mark(run->record, mark);
}

void run_record_prompt(struct run *run)
{
	const struct recorder *recorder = recorder_of(run);
	if (recorder)
		recorder->prompt(run->record, run->prompt.prompt, run->prompt.password);
}

void run_record_answer(struct run *run)
{
	const struct recorder *recorder = recorder_of(run);
	if (recorder)
		recorder->answered(run->record);
}

void run_record_end(struct run *run, const struct run_result *result, const struct fail *f)
{
	const struct recorder *recorder = recorder_of(run);
	struct record *record = run->record;
	run->record = NULL;
	if (recorder)
		recorder->ended(record, result, f);
}
