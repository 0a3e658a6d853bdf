/* The frames between the server and husk-emulator. The first byte chooses the direction: what the emulator reads from the
 * server (a command's bytes) and answers, or what the server reads from an emulator that a command may have broken. */
#include "base/alloc.h"
#include "manager/line/emulator-protocol.h"
#include "manager/line/vt.h"
#include "tests/fuzz/fuzz.h"

static void check_clean(struct buf *text)
{
	CHECK(utf8_valid(text->data, text->len) && !memchr(buf_str(text), 0x1b, text->len));
	CHECK(!memchr(buf_str(text), 0, text->len));
}

/* The server reads one answer or none, whatever the sizes of the pieces. */
static void read_answer(struct pieces pieces, size_t n)
{
	AUTO(emulator_answer_release) struct emulator_answer a = { 0 };
	const uint8_t *piece;
	size_t size;
	int r = 0;
	while (r == 0 && pieces_next(&pieces, &piece, &size))
		r = emulator_answer_feed(&a, piece, size);
	if (r > 0) {
		check_clean(&a.text);
		check_clean(&a.prompt);
		/* An invisible character of 2 bytes is shown as 8 bytes. */
		CHECK(a.text.len + a.prompt.len <= 4 * n + 64);
	}
}

/* Like emulator-main.c: each feed is drawn, and the server accepts the answer. */
static void answer_feeds(struct pieces pieces)
{
	struct frame_reader reader = { 0 };
	struct vt *t = vt_new(6, 20);
	const uint8_t *piece;
	size_t size;
	int r = 0;
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		struct frame feed;
		frame_reader_feed(&reader, piece, size);
		while ((r = frame_reader_next(&reader, emulator_feed_max, &feed)) > 0) {
			AUTO(buf_release) struct buf out = { 0 };
			AUTO(emulator_answer_release) struct emulator_answer a = { 0 };
			vt_answer(t, &feed, &out);
			CHECK(emulator_answer_feed(&a, out.data, out.len) == 1);
			check_clean(&a.text);
			check_clean(&a.prompt);
		}
	}
	frame_reader_release(&reader);
	vt_free(t);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	struct pieces cut = pieces_of(data + 1, n - 1);
	if (data[0] & 1)
		answer_feeds(cut);
	else
		read_answer(cut, n);
	return 0;
}
