/* PID 1's end of the frames: a controller's bytes become runs, and the manager's end of the wire accepts what PID
 * 1 logs for them. */
#include "kernels/system/frames.h"

#include <errno.h>

#include "kernels/control/claim.h"
#include "kernels/runs/requests.h"
#include "tests/fuzz/frames-log.h"
#include "tests/fuzz/fuzz.h"

/* Executes the run to its end. Its output is its own code, repeated. */
static void run_to_end(struct run *run, unsigned times)
{
	if (run->state != RUN_QUEUED)
		return;
	CHECK(run->text && strlen(run->text) == run->text_len && run->timeout_ms > 0);
	run_start(run);
	for (unsigned i = 0; i < times; i++) {
		json_t *progress = NULL;
		run_output(run, i % 3 ? RUN_STDOUT : RUN_STDERR, run->text, run->text_len);
		if (run_progress(run, UINT64_MAX / 2 + i * PROGRESS_INTERVAL_MS, &progress))
			check_sendable(progress);
	}
	run_structured(run, FRAME_RESULT, "{\"data\":{}}", 11);
	run_end(run, &(struct run_ending){ .ending = "ok", .kernel = "kept" });
}

static void add(struct runs *runs, const struct frame *f)
{
	struct run *run = NULL;
	size_t before = runs->count;
	int r = runs_add(runs, f->header.call, f->header.type == FRAME_EXECUTE ? RUN_EXECUTE : RUN_TERMINAL, f->payload,
			 f->header.length, &run);
	CHECK(r == 0 || r == 1 || r == -EPROTO || r == -EBUSY);
	CHECK((r == 0) == (run != NULL) && runs->count == before + (r == 0) && runs->count <= CALLS_MAX);
	if (!run)
		return;
	if (run->interactive && run->state == RUN_QUEUED)
		return; /* the run stays, so that it can be answered */
	run_to_end(run, f->header.call % 5);
	CHECK(run->state == RUN_ENDED);
	CHECK(frames_log_is_valid(&run->log, run->number));
}

static void claim(const struct frame *f)
{
	AUTO(claim_release) struct claim claim = { 0 };
	size_t total = 0;
	if (claim_parse(&claim, f->payload, f->header.length) < 0) {
		CHECK(!claim.env.v && !claim.lease_ms);
		return;
	}
	CHECK(claim.lease_ms >= 1000 && (!*claim.session || strlen(claim.session) == SESSION_ID_LEN));
	for (size_t i = 0; i < claim.env.n; i++) {
		CHECK(strcspn(claim.env.v[i], "=") > 0 && strchr(claim.env.v[i], '='));
		total += strlen(claim.env.v[i]) + 1;
	}
	CHECK(total <= CLAIM_ENV_MAX);
}

static void input(struct runs *runs, const struct frame *f)
{
	struct run_input input = { 0 };
	int r = runs_input(runs, f->header.call, f->payload, f->header.length, &input);
	CHECK(r == -EPROTO || r == 1 || (r == 0 && input.run->interactive && input.len <= INPUT_BYTES_MAX));
	if (r == 0) {
		run_prompt_start(input.run, input.text, strlen(input.text), /* password= */ true, 1);
		json_decref(input.fields);
		CHECK(runs_input(runs, f->header.call, f->payload, f->header.length, &input) == 1);
	}
}

static void on_frame(struct runs *runs, const struct frame *f)
{
	CHECK(controller_payload_max(f->header.type) >= (int64_t)f->header.length);
	switch (f->header.type) {
	case FRAME_EXECUTE:
	case FRAME_TERMINAL:
		add(runs, f);
		break;
	case FRAME_ACK:
		runs_ack(runs, f->header.call);
		CHECK(!runs_find(runs, f->header.call) || runs_find(runs, f->header.call)->state != RUN_ENDED);
		break;
	case FRAME_INPUT:
		input(runs, f);
		break;
	case FRAME_CLAIM:
		claim(f);
		break;
	case FRAME_HELLO:
		runs_rewind(runs);
		break;
	default:
		break;
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	AUTO(frame_reader_release) struct frame_reader reader = { 0 };
	struct runs runs;
	const uint8_t *piece;
	size_t size;
	int r = 0;
	runs_init(&runs, /* limits= */ NULL);
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		struct frame frame;
		frame_reader_feed(&reader, piece, size);
		while ((r = frame_reader_next(&reader, controller_payload_max, &frame)) > 0)
			on_frame(&runs, &frame);
		CHECK(r == 0 || r == -EPROTO || r == -EMSGSIZE);
	}
	runs_release(&runs);
	CHECK(runs.count == 0 && runs.display_bytes == 0);
	return 0;
}
