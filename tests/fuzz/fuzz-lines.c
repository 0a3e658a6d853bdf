/* base/lines: the lines do not depend on how the bytes arrive, and match a simple implementation of the header's
 * description. */
#include "base/lines.h"
#include "tests/fuzz/fuzz.h"

#define LINE_MAX_BYTES 48

struct seen {
	struct buf log; /* each line with its end, "!" for one that was too long */
};

static void note(struct seen *s, enum line_status status, const char *line, size_t n)
{
	if (status == LINE_TOO_LONG) {
		buf_add(&s->log, "!\n", 2);
		return;
	}
	CHECK(n > 0 && n <= LINE_MAX_BYTES && !memchr(line, '\n', n));
	buf_add(&s->log, line, n);
	buf_add(&s->log, "\n", 1);
}

static void take_all(struct line_splitter *splitter, bool at_end, struct seen *s)
{
	const char *line = NULL;
	size_t len = 0;
	for (enum line_status status; (status = line_splitter_next(splitter, at_end, &line, &len)) != LINE_NONE;)
		note(s, status, line, len);
}

static bool is_blank(const uint8_t *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	return true;
}

/* The simple implementation, on all bytes at once. */
static void expect(const uint8_t *data, size_t n, struct seen *s)
{
	while (n > 0) {
		const uint8_t *end = memchr(data, '\n', n);
		size_t whole = end ? (size_t)(end - data) : n;
		size_t len = whole && data[whole - 1] == '\r' ? whole - 1 : whole;
		if (len > LINE_MAX_BYTES)
			note(s, LINE_TOO_LONG, NULL, 0);
		else if (!is_blank(data, len))
			note(s, LINE_READY, (const char *)data, len);
		whole += end != NULL;
		data += whole;
		n -= whole;
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(line_splitter_release) struct line_splitter splitter = { .max = LINE_MAX_BYTES };
	struct pieces pieces = pieces_of(data, n);
	struct seen got = { 0 }, want = { 0 };
	expect(pieces.at, pieces.left, &want);
	const uint8_t *piece;
	size_t size;
	while (pieces_next(&pieces, &piece, &size)) {
		line_splitter_feed(&splitter, piece, size);
		take_all(&splitter, /* at_end= */ false, &got);
		/* A line without its end is bounded. */
		CHECK(splitter.held.len - splitter.at <= LINE_MAX_BYTES + 1);
	}
	take_all(&splitter, /* at_end= */ true, &got);
	CHECK(got.log.len == want.log.len && (!got.log.len || memcmp(got.log.data, want.log.data, got.log.len) == 0));
	buf_release(&got.log);
	buf_release(&want.log);
	return 0;
}
