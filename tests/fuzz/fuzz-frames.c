/* PID 1's end of the frames: what a controller sends becomes calls, and what PID 1 logs for them is understood by the manager's
 * end of the wire. */
#include "kernels/frames.h"

#include <errno.h>

#include "kernels/call.h"
#include "kernels/claim.h"
#include "manager/line/wire.h"
#include "tests/fuzz/fuzz.h"

/* Runs a call to its end; what it "prints" is what it was asked to run, again and again. */
static void run(struct call *call, unsigned times)
{
	if (call->state != CALL_QUEUED)
		return;
	CHECK(call->text && strlen(call->text) == call->text_len && call->timeout_ms > 0);
	call_start(call);
	for (unsigned i = 0; i < times; i++) {
		json_t *progress = NULL;
		call_output(call, i % 3 ? CALL_STDOUT : CALL_STDERR, call->text, call->text_len);
		if (call_progress(call, UINT64_MAX / 2 + i * PROGRESS_INTERVAL_MS, &progress))
			check_sendable(progress);
	}
	call_structured(call, FRAME_RESULT, "{\"data\":{}}", 11);
	call_end(call, &(struct ending){ .ending = "ok", .kernel = "kept" });
}

/* Only frames that PID 1 may send, of this call, END last and once. */
static void check_log(const struct call *call)
{
	AUTO(wire_release) struct wire wire = { 0 };
	struct wire_frame frame = { 0 };
	unsigned ends = 0;
	int r;
	wire_feed(&wire, call->log.data, call->log.len);
	while ((r = wire_next(&wire, &frame)) > 0) {
		CHECK(frame.call == call->number && !ends);
		ends += frame.type == FRAME_END;
	}
	CHECK(r == 0 && wire.used == call->log.len && ends == 1);
}

static void add(struct calls *calls, const struct frame *f)
{
	struct call *call = NULL;
	size_t before = calls->count;
	int r = calls_add(calls, f->header.call, f->header.type == FRAME_EXECUTE ? CALL_EXECUTE : CALL_TERMINAL,
			  f->payload, f->header.length, &call);
	CHECK(r == 0 || r == 1 || r == -EPROTO || r == -EBUSY);
	CHECK((r == 0) == (call != NULL) && calls->count == before + (r == 0) && calls->count <= CALLS_MAX);
	if (!call)
		return;
	run(call, f->header.call % 5);
	CHECK(call->state == CALL_ENDED);
	check_log(call);
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

static void on_frame(struct calls *calls, const struct frame *f)
{
	CHECK(frame_payload_max(f->header.type) >= (int64_t)f->header.length);
	switch (f->header.type) {
	case FRAME_EXECUTE:
	case FRAME_TERMINAL:
		add(calls, f);
		break;
	case FRAME_ACK:
		calls_ack(calls, f->header.call);
		CHECK(!calls_find(calls, f->header.call));
		break;
	case FRAME_CLAIM:
		claim(f);
		break;
	case FRAME_HELLO:
		calls_rewind(calls);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	AUTO(frame_reader_release) struct frame_reader reader = { 0 };
	struct calls calls;
	const uint8_t *piece;
	size_t size;
	int r = 0;
	calls_init(&calls, /* limits= */ NULL);
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		struct frame frame;
		frame_reader_feed(&reader, piece, size);
		while ((r = frame_reader_next(&reader, &frame)) > 0)
			on_frame(&calls, &frame);
		CHECK(r == 0 || r == -EPROTO || r == -EMSGSIZE);
	}
	calls_release(&calls);
	CHECK(calls.count == 0 && calls.display_bytes == 0);
	return 0;
}
