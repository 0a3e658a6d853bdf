/* PID 1's frames of streams: they never make the manager buffer more than a window, call back twice at the end, or lose
 * its accounting. */
#include <errno.h>
#include <sys/socket.h>

#include "manager/line/bridge.h"
#include "tests/fuzz/fuzz.h"

#define BRIDGES 3

static struct config config;
static struct loop *loop;

struct end {
	struct bridge bridge;
	int far; /* -1 = none */
	bool open, ended;
};

static void drop(struct dispatch *d UNUSED, const struct buf *frames UNUSED)
{
}

static void on_open(struct bridge *b)
{
	struct end *e = container_of(b, struct end, bridge);
	int pair[2];
	CHECK(e->open && e->far < 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0 || bridge_join(b, loop, pair[0]) < 0)
		return;
	e->far = pair[1];
	(void)!write(e->far, "hello", 5);
}

static void on_end(struct bridge *b, const struct fail *f UNUSED)
{
	struct end *e = container_of(b, struct end, bridge);
	CHECK(e->open && !e->ended);
	e->ended = true;
}

static void start(struct end *e, struct dispatch *d)
{
	AUTO(fail_release) struct fail f = { 0 };
	*e = (struct end){ .bridge = { .on_open = on_open, .on_end = on_end }, .far = -1, .open = true };
	CHECK(bridge_open(&e->bridge, d, 80, &f) == 0);
}

static void on_frame(struct dispatch *d, struct end *ends, const struct wire_frame *frame, bool *ret_broken)
{
	int r = line_streams_frame(d, frame);
	CHECK(r == 0 || r == -EPROTO);
	*ret_broken = r < 0;
	for (size_t i = 0; i < BRIDGES; i++) {
		CHECK(ends[i].bridge.unsent <= STREAM_WINDOW);
		CHECK(ends[i].bridge.stream.unsent <= STREAM_WINDOW);
	}
}

/* The first byte of a piece says which frame it is, and the second which stream. */
int fuzz_one(const uint8_t *data, size_t n)
{
	struct dispatch d;
	struct end ends[BRIDGES];
	struct pieces pieces = pieces_of(data, n);
	const uint8_t *piece;
	size_t size;
	bool broken = false;
	loop = loop ? loop : loop_new();
	dispatch_init(&d, loop, &config, drop);
	d.open = d.has_streams = true;
	for (size_t i = 0; i < BRIDGES; i++)
		start(&ends[i], &d);
	while (!broken && pieces_next(&pieces, &piece, &size)) {
		if (size < 2)
			continue;
		struct wire_frame frame = { .type = (uint8_t)(FRAME_STREAM_ACCEPT + piece[0] % 5),
					    .call = 1 + piece[1] % (BRIDGES + 1),
					    .payload = piece + 2,
					    .n = size - 2 };
		on_frame(&d, ends, &frame, &broken);
		loop_skip(loop, 1);
	}
	for (size_t i = 0; i < BRIDGES; i++) {
		bridge_close(&ends[i].bridge);
		closep(&ends[i].far);
	}
	CHECK(list_empty(&d.streams));
	dispatch_release(&d);
	loop_skip(loop, 1);
	return 0;
}
