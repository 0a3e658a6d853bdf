/* The small parts of http/: fields, targets, ranges, entity tags and server-sent events. */
#include <errno.h>

#include "base/alloc.h"
#include "http/events.h"
#include "http/fields.h"
#include "http/multipart.h"
#include "http/range.h"
#include "http/target.h"
#include "tests/unit/unit.h"

static void fields_are_found_in_lower_case(void **state)
{
	AUTO(http_fields_release) struct http_fields f = { 0 };
	assert_int_equal(http_fields_add(&f, "Content-Type", "  text/plain\t"), 0);
	assert_int_equal(http_fields_add(&f, "accept", "a/b;q=0.5, text/event-stream"), 0);
	assert_int_equal(http_fields_add(&f, "Accept", "\"x, y\", last"), 0);
	assert_string_equal(http_fields_get(&f, "content-type"), "text/plain");
	assert_null(http_fields_get(&f, "content"));
	assert_int_equal(http_fields_count(&f, "accept"), 2);
	assert_true(http_fields_has(&f, "accept", "A/B"));
	assert_true(http_fields_has(&f, "accept", "text/event-stream"));
	assert_true(http_fields_has(&f, "accept", "last"));
	assert_false(http_fields_has(&f, "accept", "y\""));
	assert_false(http_fields_has(&f, "accept", "text/event"));
	assert_int_equal(http_fields_add(&f, "a b", "x"), -EINVAL);
	assert_int_equal(http_fields_add(&f, "", "x"), -EINVAL);
	assert_int_equal(http_fields_add(&f, "a", "x\r\nInjected: 1"), -EINVAL);
	while (f.n < HTTP_FIELDS_MAX)
		assert_int_equal(http_fields_addf(&f, "n", "%zu", f.n), 0);
	assert_int_equal(http_fields_add(&f, "n", "1"), -E2BIG);
}

static void check_target(const char *text, const char *expected)
{
	AUTO(http_target_release) struct http_target t = { 0 };
	AUTO(buf_release) struct buf shown = { 0 };
	int r = http_target_parse(&t, text);
	if (r < 0)
		buf_add_str(&shown, r == -E2BIG ? "too much" : "invalid");
	for (size_t i = 0; r == 0 && i < t.n_segments; i++)
		buf_printf(&shown, "<%s>", http_target_segment(&t, i));
	if (r == 0 && t.folder)
		buf_add_str(&shown, "/");
	for (size_t i = 0; r == 0 && i < t.n_parameters; i++)
		buf_printf(&shown, " %s=%s", (const char *)t.text.data + t.names[i],
			   (const char *)t.text.data + t.values[i]);
	assert_string_equal(buf_str(&shown), expected);
}

static void targets_are_split_and_decoded(void **state)
{
	check_target("/", "/");
	check_target("/v1/sessions", "<v1><sessions>");
	check_target("/a/b/", "<a><b>/");
	check_target("/a%20b/%C3%A9+?x=1+2&y&z=%26&&", "<a b><é+> x=1 2 y= z=&");
	check_target("http://host:80/a?b", "<a> b=");
	check_target("https://host/", "/");
	check_target("*", "invalid");
	check_target("", "invalid");
	check_target("a", "invalid");
	check_target("//", "invalid");
	check_target("/a//b", "invalid");
	check_target("/a//", "invalid");
	check_target("/a/../b", "invalid");
	check_target("/a/%2e%2E/b", "invalid");
	check_target("/./b", "invalid");
	check_target("/a%2Fb", "invalid");
	check_target("/a%00", "invalid");
	check_target("/a%0", "invalid");
	check_target("/a%zz", "invalid");
	check_target("/%ff", "invalid");
	check_target("/a?x=%ff", "invalid");
	check_target("/a#b", "invalid");
	AUTO(buf_release) struct buf deep = { 0 };
	for (int i = 0; i <= HTTP_SEGMENTS_MAX; i++)
		buf_add_str(&deep, "/x");
	check_target(buf_str(&deep), "too much");
	AUTO(http_target_release) struct http_target t = { 0 };
	assert_int_equal(http_target_parse(&t, "/a?x=1&x=2"), 0);
	assert_string_equal(http_target_parameter(&t, "x"), "1");
	assert_null(http_target_parameter(&t, "y"));
	assert_null(http_target_segment(&t, 1));
}

static void check_range(const char *range, const char *if_range, uint64_t size, const char *expected)
{
	AUTO(http_fields_release) struct http_fields f = { 0 };
	AUTO(freep) char *shown = NULL;
	struct http_range part;
	http_fields_add(&f, "Range", range);
	if (if_range)
		http_fields_add(&f, "If-Range", if_range);
	switch (http_range_parse(&f, size, "\"tag\"", &part)) {
	case HTTP_RANGE_WHOLE:
		shown = xstrdup("whole");
		break;
	case HTTP_RANGE_IMPOSSIBLE:
		shown = xstrdup("impossible");
		break;
	case HTTP_RANGE_PART:
		shown = xasprintf("%llu+%llu", (unsigned long long)part.first, (unsigned long long)part.length);
	}
	assert_string_equal(shown, expected);
}

static void ranges_are_parsed(void **state)
{
	check_range("bytes=0-0", NULL, 10, "0+1");
	check_range("bytes=2-", NULL, 10, "2+8");
	check_range("bytes=2-99", NULL, 10, "2+8");
	check_range("bytes=-3", NULL, 10, "7+3");
	check_range("bytes=-30", NULL, 10, "0+10");
	check_range("bytes=10-", NULL, 10, "impossible");
	check_range("bytes=-0", NULL, 10, "impossible");
	check_range("bytes=-5", NULL, 0, "impossible");
	check_range("bytes=5-2", NULL, 10, "whole");
	check_range("bytes=0-1,3-4", NULL, 10, "whole");
	check_range("bytes=a-b", NULL, 10, "whole");
	check_range("bytes=99999999999999999999999-", NULL, 10, "whole");
	check_range("lines=0-1", NULL, 10, "whole");
	check_range("bytes=0-1", "\"tag\"", 10, "0+2");
	check_range("bytes=0-1", "\"other\"", 10, "whole");
	check_range("bytes=0-1", "W/\"tag\"", 10, "whole");
}

static void entity_tags_are_compared(void **state)
{
	AUTO(http_fields_release) struct http_fields f = { 0 };
	http_fields_add(&f, "If-None-Match", "\"a,b\", W/\"c\"");
	http_fields_add(&f, "If-Match", "*");
	assert_true(http_etag_listed(&f, "if-none-match", "\"a,b\"", false));
	assert_false(http_etag_listed(&f, "if-none-match", "\"c\"", false));
	assert_true(http_etag_listed(&f, "if-none-match", "\"c\"", true));
	assert_false(http_etag_listed(&f, "if-none-match", "\"b\"", true));
	assert_true(http_etag_listed(&f, "if-match", "\"x\"", false));
}

static void log_event(void *ctx, const struct http_event *e)
{
	buf_printf(ctx, "(%s|%s|%s)", e->id ? e->id : "-", e->name, e->data);
}

static void check_events(const char *text, const char *expected)
{
	size_t n = strlen(text);
	for (size_t step = 1; step <= n; step++) {
		AUTO(buf_release) struct buf log = { 0 };
		struct http_event_reader reader;
		http_event_reader_init(&reader, 1000, log_event, &log);
		for (size_t at = 0; at < n; at += step)
			assert_int_equal(http_event_reader_feed(&reader, text + at, MIN(step, n - at)), 0);
		assert_string_equal(buf_str(&log), expected);
		http_event_reader_release(&reader);
	}
}

#define FORM "multipart/form-data; boundary=\"x y\""

static void forms_are_split(void **state)
{
	static const char body[] = "preamble\r\n--x y\r\n"
				   "Content-Disposition: form-data; name=\"files\"; filename=\"a \\\"b\\\".csv\"\r\n"
				   "Content-Type: text/csv\r\n\r\n1,2\r\n--x z\r\n\r\n--x y  \r\n"
				   "content-disposition: form-data; filename=empty ; NAME=files\r\n\r\n\r\n--x y\r\n"
				   "Content-Disposition: form-data; name=note\r\n\r\nhello\r\n--x y--\r\nepilogue";
	static const struct {
		const char *name, *file, *data;
	} want[] = { { "files", "a \"b\".csv", "1,2\r\n--x z\r\n" },
		     { "files", "empty", "" },
		     { "note", NULL, "hello" } };
	struct http_multipart m;
	assert_int_equal(http_multipart_begin(&m, FORM, body, sizeof(body) - 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		AUTO(http_part_release) struct http_part p = { 0 };
		assert_int_equal(http_multipart_next(&m, &p), 1);
		assert_string_equal(p.name, want[i].name);
		assert_string_equal(p.file ? p.file : "(none)", want[i].file ? want[i].file : "(none)");
		assert_int_equal(p.n, strlen(want[i].data));
		assert_memory_equal(p.data, want[i].data, p.n);
	}
	AUTO(http_part_release) struct http_part none = { 0 };
	assert_int_equal(http_multipart_next(&m, &none), 0);
}

static void malformed_forms_are_refused(void **state)
{
	static const char *const types[] = { "text/plain", "multipart/form-data",
					     "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x",
					     "multipart/form-data; boundary=a\"b" };
	static const char *const bodies[] = { "",
					      "--x",
					      "--x\r\n",
					      "--x\r\n\r\nno end",
					      "--x\r\nno blank line\r\n--x--",
					      "--xy\r\n\r\n\r\n--x--",
					      "nothing" };
	struct http_multipart m;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(http_multipart_begin(&m, types[i], "", 0), -EINVAL);
	assert_int_equal(http_multipart_begin(&m, NULL, "", 0), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO(http_part_release) struct http_part p = { 0 };
		assert_int_equal(
			http_multipart_begin(&m, "multipart/form-data; boundary=x", bodies[i], strlen(bodies[i])), 0);
		if (http_multipart_next(&m, &p) != -EINVAL)
			fail_msg("accepted: %s", bodies[i]);
	}
}

static void events_are_read(void **state)
{
	check_events("data: a\n\n", "(-|message|a)");
	check_events("\xef\xbb\xbf"
		     "data:a\r\n\r\ndata: b\r\rdata: c\n\n",
		     "(-|message|a)(-|message|b)(-|message|c)");
	check_events("id: 7\nevent: end\ndata: a\ndata\ndata:  b\n\nevent: lost\n\ndata: x\n\n",
		     "(7|end|a\n\n b)(7|message|x)");
	check_events(": comment\n\nretry: 10\nunknown: x\ndata: y", "");
	struct http_event_reader reader;
	http_event_reader_init(&reader, 10, log_event, NULL);
	assert_int_equal(http_event_reader_feed(&reader, "data: 0123456789", 16), -E2BIG);
	http_event_reader_release(&reader);
}

static void written_events_are_read_back(void **state)
{
	AUTO(buf_release) struct buf text = { 0 };
	http_event_add(&text, "12", "output", "a\nb\r\nc\rd\n", 9);
	http_event_add_comment(&text, "alive");
	http_event_add(&text, NULL, NULL, "", 0);
	check_events(buf_str(&text), "(12|output|a\nb\nc\nd\n)(12|message|)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_in_lower_case),
		cmocka_unit_test(targets_are_split_and_decoded),
		cmocka_unit_test(ranges_are_parsed),
		cmocka_unit_test(entity_tags_are_compared),
		cmocka_unit_test(forms_are_split),
		cmocka_unit_test(malformed_forms_are_refused),
		cmocka_unit_test(events_are_read),
		cmocka_unit_test(written_events_are_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
