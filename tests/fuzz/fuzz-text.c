/* What a program prints becomes text: base/utf8, the head and tail of manager/collect, the progress lines of mcp/call. */
#include "base/alloc.h"
#include "manager/line/collect.h"
#include "mcp/call.h"
#include "mcp/text.h"
#include "tests/fuzz/fuzz.h"

static void check_clean(const char *s, size_t n)
{
	CHECK(utf8_valid(s, n) && !memchr(s, '\0', n) && !memchr(s, 0x1b, n));
}

/* Cuts between characters: head and tail of any length are whole. */
static void check_cuts(const char *s, size_t n)
{
	size_t chars = utf8_count(s, n);
	for (size_t i = 0; i <= MIN(chars, 8); i++) {
		size_t head = utf8_head(s, n, i), tail = utf8_tail(s, n, i);
		CHECK(head <= n && utf8_valid(s, head) && utf8_count(s, head) == i);
		CHECK(tail <= n && utf8_valid(s + n - tail, tail) && utf8_count(s + n - tail, tail) == i);
		CHECK(head + utf8_tail(s, n, chars - i) == n);
	}
	AUTO(freep) char *cut = text_cut(s, 120);
	CHECK(utf8_valid(cut, strlen(cut)) && utf8_count(cut, strlen(cut)) <= 120);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 }, again = { 0 };
	utf8_clean(&clean, data, n);
	check_clean(buf_str(&clean), clean.len);
	CHECK(clean.len <= 3 * n);
	utf8_clean(&again, clean.data, clean.len);
	/* Nothing is left to clean. */
	CHECK(again.len == clean.len);
	check_cuts(buf_str(&clean), clean.len);

	AUTO(freep) char *progress = call_progress_text(buf_str(&clean), clean.len);
	check_clean(progress, strlen(progress));
	CHECK(utf8_count(progress, strlen(progress)) <= 300);

	/* The first byte says where head and tail were cut, and how much is missing between them. */
	size_t head = n ? data[0] % n : 0, gap = n ? data[0] & 3 : 0;
	const struct buf first = { .data = (uint8_t *)data, .len = head };
	const struct buf last = { .data = (uint8_t *)data + head, .len = n - head };
	bool was_cut;
	AUTO(freep) char *text = collect_text(&first, &last, n + gap, 40, &was_cut);
	check_clean(text, strlen(text));
	CHECK(was_cut || strlen(text) == clean.len);
	return 0;
}
