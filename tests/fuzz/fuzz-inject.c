/* manager/gate/inject: both directions of a connection, divided by the byte 0x1e. The server gets requests of its own
 * host only, and no secret appears where it may not. */
#include <strings.h>

#include "base/alloc.h"
#include "http/parser.h"
#include "manager/gate/inject.h"
#include "tests/fuzz/fuzz.h"

#define KEY "husk-secret-aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define QUERY "husk-secret-bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define OTHER "husk-secret-cccccccccccccccccccccccccc"
#define KEY_VALUE "\x01secret-key"
#define QUERY_VALUE "secret/query"
#define OTHER_VALUE "\x01secret-other"

struct seen {
	struct buf up, down;
	bool upgraded;
};

static void take_up(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct seen *)ctx)->up, data, n);
}

static void take_down(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct seen *)ctx)->down, data, n);
}

static void add(struct secret_set *set, const char *placeholder, const char *value, const char *host, const char *query)
{
	struct gate_secret *s = secret_set_add(set);
	s->name = xstrdup("S");
	s->placeholder = xstrdup(placeholder);
	s->value = xstrdup(value);
	s->query = query ? xstrdup(query) : NULL;
	strv_add(&s->hosts, host);
}

static void pass(struct inject *i, struct pieces pieces)
{
	AUTO(fail_release) struct fail f = { 0 };
	const uint8_t *piece;
	size_t size;
	bool down = false;
	int r = 0;
	while (r == 0 && pieces_next(&pieces, &piece, &size)) {
		while (size && r == 0) {
			const uint8_t *end = memchr(piece, 0x1e, size);
			size_t n = end ? (size_t)(end - piece) : size;
			if (n)
				r = (down ? inject_response : inject_request)(i, piece, n, &f);
			down = down != (end != NULL);
			piece += n + (end != NULL);
			size -= n + (end != NULL);
		}
	}
	CHECK(r == 0 || f.message);
	if (r == 0)
		inject_ended(i);
}

static void run(struct pieces pieces, struct seen *s)
{
	static const struct inject_ops ops = { take_up, take_down };
	struct secret_set *set = secret_set_new();
	add(set, KEY, KEY_VALUE, "h:443", NULL);
	add(set, QUERY, QUERY_VALUE, "h:443", "key");
	add(set, OTHER, OTHER_VALUE, "other:443", NULL);
	struct inject *i = inject_new("h", 443, set, &ops, s);
	secret_set_unref(set);
	pass(i, pieces);
	inject_free(i);
}

static void saw_head(void *ctx, const struct http_head *h)
{
	struct seen *s = ctx;
	const char *host = http_fields_get(&h->fields, "host");
	CHECK(host && (strcasecmp(host, "h") == 0 || strcasecmp(host, "h:443") == 0));
	CHECK(h->target.data[0] == '/' || h->target.data[0] == '*');
	CHECK(!memmem(h->target.data, h->target.len, KEY_VALUE, sizeof(KEY_VALUE) - 1));
	CHECK(!memmem(h->target.data, h->target.len, QUERY_VALUE, sizeof(QUERY_VALUE) - 1));
	s->upgraded = h->upgrade;
}

static void saw_body(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void saw_end(void *ctx UNUSED)
{
}

/* Another parser would read the same requests. Values with a control character can only come from a replacement, so
 * they are made printable before the parser sees them. */
static void check_requests(struct seen *s)
{
	static const struct http_parser_ops ops = { saw_head, saw_body, saw_end };
	struct http_parser *p = http_parser_new(HTTP_SERVER, &ops, s);
	struct buf text = { 0 };
	for (size_t at = 0; at < s->up.len; at++) {
		bool value = s->up.len - at >= sizeof(KEY_VALUE) - 1 &&
			     memcmp(s->up.data + at, KEY_VALUE, sizeof(KEY_VALUE) - 1) == 0;
		buf_add(&text, value ? (const uint8_t *)"x" : s->up.data + at, 1);
	}
	for (size_t at = 0; at < text.len && !http_parser_upgraded(p);) {
		ssize_t used = http_parser_feed(p, text.data + at, text.len - at);
		CHECK(used > 0);
		at += (size_t)used;
	}
	http_parser_free(p);
	buf_release(&text);
}

static bool occurs(const uint8_t *data, size_t n, const char *text)
{
	return data && n && memmem(data, n, text, strlen(text));
}

static bool has(const struct buf *b, const char *text)
{
	return occurs(b->data, b->len, text);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct seen cut = { 0 }, whole = { 0 };
	struct pieces pieces = pieces_of(data, n);
	if (occurs(data, n, KEY_VALUE) || occurs(data, n, OTHER_VALUE))
		return 0;
	run(pieces, &cut);
	pieces.state = 0;
	run(pieces, &whole);
	CHECK(!has(&cut.up, OTHER_VALUE) && !has(&cut.down, OTHER_VALUE) && !has(&cut.down, KEY_VALUE));
	check_requests(&cut);
	check_requests(&whole);
	buf_release(&cut.up);
	buf_release(&cut.down);
	buf_release(&whole.up);
	buf_release(&whole.down);
	return 0;
}
