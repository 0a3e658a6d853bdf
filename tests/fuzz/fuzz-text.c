/* Output of programs as text: base/utf8, base/screen, the pieces of manager/line, the progress lines of mcp/call. */
#include "base/alloc.h"
#include "base/screen.h"
#include "base/utf8.h"
#include "manager/line/run-output.h"
#include "mcp/call.h"
#include "mcp/text.h"
#include "tests/fuzz/fuzz.h"

static void check_clean(const char *s, size_t n)
{
	CHECK(utf8_valid(s, n) && !memchr(s, '\0', n) && !memchr(s, 0x1b, n));
}

/* Cuts between characters: heads and tails of any length are valid. */
static void check_cuts(const char *s, size_t n)
{
	size_t chars = utf8_count(s, n);
	for (size_t i = 0; i <= MIN(chars, 8); i++) {
		size_t head = utf8_head(s, n, i), tail = utf8_tail(s, n, i);
		CHECK(head <= n && utf8_valid(s, head) && utf8_count(s, head) == i);
		CHECK(tail <= n && utf8_valid(s + n - tail, tail) && utf8_count(s + n - tail, tail) == i);
		CHECK(head + utf8_tail(s, n, chars - i) == n);
	}
	AUTO(freep) char *cut = text_cut(s, 120, false);
	CHECK(utf8_valid(cut, strlen(cut)) && utf8_count(cut, strlen(cut)) <= 120);
}

/* The first byte says how the rest is divided into streams, tails and places, and how much is missing. */
static void check_pieces(const uint8_t *data, size_t n)
{
	AUTO(run_result_release) struct run_result r = { 0 };
	struct run_output live = { 0 }, tail = { 0 };
	uint8_t how = n ? data[0] : 0;
	for (size_t i = 0; i < n;) {
		size_t size = MIN(1 + (data[i] ^ how) % 7u, n - i);
		struct run_output *to = i < n / 2 ? &live : &tail;
		if (data[i] % 5 == how % 5)
			run_output_add(to, to == &live ? PART_RESULT : PART_GAP, NULL, 0);
		else
			run_output_add(to, data[i] & 1 ? PART_STDERR : PART_STDOUT, data + i, size);
		i += size;
	}
	const struct stream_limit limits[] = { { n + (how & 3), 40 }, { n, 60 } };
	run_output_finish(&live, &tail, limits, &r);
	check_clean(r.stdout_text, strlen(r.stdout_text));
	for (size_t i = 0; i < r.n_parts; i++)
		if (r.parts[i].text)
			check_clean(r.parts[i].text, strlen(r.parts[i].text));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 }, again = { 0 };
	utf8_clean(&clean, data, n);
	check_clean(buf_str(&clean), clean.len);
	CHECK(clean.len <= 4 * n);
	utf8_clean(&again, clean.data, clean.len);
	/* Nothing is left to clean. */
	CHECK(again.len == clean.len);
	check_cuts(buf_str(&clean), clean.len);

	AUTO(freep) char *progress = call_progress_text(buf_str(&clean), clean.len);
	check_clean(progress, strlen(progress));
	CHECK(utf8_count(progress, strlen(progress)) <= 300);

	AUTO(buf_release) struct buf shown = { 0 };
	screen_text(&shown, data, n);
	check_clean(buf_str(&shown), shown.len);
	CHECK(!screen_moves(shown.data, shown.len));
	check_pieces(data, n);
	return 0;
}
