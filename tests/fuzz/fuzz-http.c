/* http/parser in both roles: the messages do not depend on how the bytes arrive. Targets, ranges and event streams
 * get the same bytes. */
#include "base/alloc.h"
#include "http/events.h"
#include "http/multipart.h"
#include "http/parser.h"
#include "http/range.h"
#include "http/target.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	struct buf log;
};

static void check_target(const char *text)
{
	AUTO(http_target_release) struct http_target t = { 0 };
	if (http_target_parse(&t, text) < 0)
		return;
	for (size_t i = 0; i < t.n_segments; i++) {
		const char *segment = http_target_segment(&t, i);
		CHECK(*segment && !strchr(segment, '/') && !streq(segment, ".") && !streq(segment, ".."));
		CHECK(utf8_valid(segment, strlen(segment)));
	}
}

static void check_fields(const struct http_fields *f)
{
	struct http_range part;
	CHECK(f->n <= HTTP_FIELDS_MAX);
	for (size_t i = 0; i < f->n; i++)
		CHECK(!strpbrk(http_fields_value(f, i), "\r\n") && !strpbrk(http_fields_name(f, i), "\r\n :"));
	if (http_range_parse(f, 1000, "\"tag\"", &part) == HTTP_RANGE_PART)
		CHECK(part.length && part.first + part.length <= 1000);
	http_etag_listed(f, "if-none-match", "\"tag\"", true);
	http_fields_has(f, "accept", "text/event-stream");
}

static void saw_head(void *ctx, const struct http_head *h)
{
	struct seen *s = ctx;
	CHECK(h->minor == 0 || h->minor == 1);
	CHECK(!h->chunked || h->length == -1);
	CHECK(!(http_fields_get(&h->fields, "content-length") && http_fields_get(&h->fields, "transfer-encoding")));
	check_fields(&h->fields);
	if (!h->status)
		check_target((const char *)h->target.data);
	buf_printf(&s->log, "[%d %d %lld %d%d", h->status, h->method, (long long)h->length, h->keep_alive, h->upgrade);
	for (size_t i = 0; i < h->fields.n; i++)
		buf_printf(&s->log, "|%s:%s", http_fields_name(&h->fields, i), http_fields_value(&h->fields, i));
	buf_add_str(&s->log, "]");
}

static void saw_body(void *ctx, const void *data, size_t n)
{
	CHECK(n);
	buf_add(&((struct seen *)ctx)->log, data, n);
}

static void saw_end(void *ctx)
{
	buf_add_str(&((struct seen *)ctx)->log, "$");
}

static void run(enum http_role role, struct pieces pieces, struct seen *s)
{
	static const struct http_parser_ops ops = { saw_head, saw_body, saw_end };
	struct http_parser *p = http_parser_new(role, &ops, s);
	const uint8_t *piece;
	size_t size;
	bool wrong = false;
	while (!wrong && !http_parser_upgraded(p) && pieces_next(&pieces, &piece, &size)) {
		for (size_t at = 0; !wrong && at < size && !http_parser_upgraded(p);) {
			ssize_t used = http_parser_feed(p, piece + at, size - at);
			wrong = used < 0;
			CHECK(wrong || used > 0);
			at += wrong ? 0 : (size_t)used;
		}
	}
	wrong = wrong || http_parser_finish(p) < 0;
	if (wrong)
		CHECK(http_parser_wrong(p).status >= 400 && http_parser_wrong(p).sentence);
	http_parser_free(p);
}

static void ignore_event(void *ctx UNUSED, const struct http_event *event)
{
	CHECK(event->name && strlen(event->data) <= event->n);
}

static void read_events(struct pieces pieces)
{
	struct http_event_reader reader;
	const uint8_t *piece;
	size_t size;
	http_event_reader_init(&reader, 256, ignore_event, NULL);
	while (pieces_next(&pieces, &piece, &size) && http_event_reader_feed(&reader, piece, size) == 0)
		continue;
	http_event_reader_release(&reader);
}

static void split_form(const uint8_t *data, size_t n)
{
	struct http_multipart form;
	const uint8_t *last = data;
	CHECK(http_multipart_begin(&form, "multipart/form-data; boundary=a", data, n) == 0);
	for (;;) {
		AUTO(http_part_release) struct http_part part = { 0 };
		if (http_multipart_next(&form, &part) != 1)
			return;
		CHECK(part.data >= last && part.data + part.n <= data + n && part.name);
		last = part.data;
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	for (int role = HTTP_SERVER; role <= HTTP_CLIENT; role++) {
		struct seen cut = { 0 }, whole = { 0 };
		struct pieces pieces = pieces_of(data, n);
		run((enum http_role)role, pieces, &cut);
		pieces.state = 0;
		run((enum http_role)role, pieces, &whole);
		CHECK(cut.log.len == whole.log.len &&
		      (!cut.log.len || memcmp(cut.log.data, whole.log.data, cut.log.len) == 0));
		buf_release(&cut.log);
		buf_release(&whole.log);
	}
	read_events(pieces_of(data, n));
	split_form(data, n);
	return 0;
}
