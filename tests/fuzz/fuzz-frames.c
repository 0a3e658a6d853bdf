/* PID 1's end of the frames: what a controller sends becomes calls, and what PID 1 logs for them is understood by the manager's
 * end of the wire. */
#include "kernels/system/frames.h"

#include <errno.h>

#include "kernels/control/claim.h"
#include "kernels/runs/jobs.h"
#include "manager/line/wire.h"
#include "tests/fuzz/fuzz.h"

/* Runs a call to its end; what it "prints" is what it was asked to run, again and again. */
static void run(struct job *job, unsigned times)
{
	if (job->state != JOB_QUEUED)
		return;
	CHECK(job->text && strlen(job->text) == job->text_len && job->timeout_ms > 0);
	job_start(job);
	for (unsigned i = 0; i < times; i++) {
		json_t *progress = NULL;
		job_output(job, i % 3 ? JOB_STDOUT : JOB_STDERR, job->text, job->text_len);
		if (job_progress(job, UINT64_MAX / 2 + i * PROGRESS_INTERVAL_MS, &progress))
			check_sendable(progress);
	}
	job_structured(job, FRAME_RESULT, "{\"data\":{}}", 11);
	job_end(job, &(struct job_ending){ .ending = "ok", .kernel = "kept" });
}

/* Only frames that PID 1 may send, of this call, END last and once. */
static void check_log(const struct job *job)
{
	AUTO(wire_release) struct wire wire = { 0 };
	struct wire_frame frame = { 0 };
	unsigned ends = 0;
	int r;
	wire_feed(&wire, job->log.data, job->log.len);
	while ((r = wire_next(&wire, &frame)) > 0) {
		CHECK(frame.call == job->number && !ends);
		ends += frame.type == FRAME_END;
	}
	CHECK(r == 0 && wire.reader.used == job->log.len && ends == 1);
}

static void add(struct jobs *jobs, const struct frame *f)
{
	struct job *job = NULL;
	size_t before = jobs->count;
	int r = jobs_add(jobs, f->header.call, f->header.type == FRAME_EXECUTE ? JOB_EXECUTE : JOB_TERMINAL, f->payload,
			 f->header.length, &job);
	CHECK(r == 0 || r == 1 || r == -EPROTO || r == -EBUSY);
	CHECK((r == 0) == (job != NULL) && jobs->count == before + (r == 0) && jobs->count <= CALLS_MAX);
	if (!job)
		return;
	if (job->interactive && job->state == JOB_QUEUED)
		return; /* it may be answered */
	run(job, f->header.call % 5);
	CHECK(job->state == JOB_ENDED);
	check_log(job);
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

static void input(struct jobs *jobs, const struct frame *f)
{
	struct job_input input = { 0 };
	int r = jobs_input(jobs, f->header.call, f->payload, f->header.length, &input);
	CHECK(r == -EPROTO || r == 1 || (r == 0 && input.job->interactive && input.len <= INPUT_BYTES_MAX));
	if (r == 0) {
		job_ask(input.job, input.text, strlen(input.text), /* password= */ true, 1);
		json_decref(input.fields);
		CHECK(jobs_input(jobs, f->header.call, f->payload, f->header.length, &input) == 1);
	}
}

static void on_frame(struct jobs *jobs, const struct frame *f)
{
	CHECK(controller_payload_max(f->header.type) >= (int64_t)f->header.length);
	switch (f->header.type) {
	case FRAME_EXECUTE:
	case FRAME_TERMINAL:
		add(jobs, f);
		break;
	case FRAME_ACK:
		jobs_ack(jobs, f->header.call);
		CHECK(!jobs_find(jobs, f->header.call) || jobs_find(jobs, f->header.call)->state != JOB_ENDED);
		break;
	case FRAME_INPUT:
		input(jobs, f);
		break;
	case FRAME_CLAIM:
		claim(f);
		break;
	case FRAME_HELLO:
		jobs_rewind(jobs);
		break;
	default:
		break;
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	AUTO(frame_reader_release) struct frame_reader reader = { 0 };
	struct jobs jobs;
	const uint8_t *piece;
	size_t size;
	int r = 0;
	jobs_init(&jobs, /* limits= */ NULL);
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		struct frame frame;
		frame_reader_feed(&reader, piece, size);
		while ((r = frame_reader_next(&reader, controller_payload_max, &frame)) > 0)
			on_frame(&jobs, &frame);
		CHECK(r == 0 || r == -EPROTO || r == -EMSGSIZE);
	}
	jobs_release(&jobs);
	CHECK(jobs.count == 0 && jobs.display_bytes == 0);
	return 0;
}
