/* Answers of a package index and requests of the session to it: HTTP requests (PID 1), pages with links, and paths
 * (manager). */
#include "base/alloc.h"
#include "kernels/packages/http.h"
#include "manager/deps/links.h"
#include "manager/line/wire.h"
#include "tests/fuzz/fuzz.h"

static void check_request(const uint8_t *data, size_t n)
{
	struct http_request request;
	AUTO(freep) char *copy = xmalloc(n + 1);
	memcpy(copy, data, n);
	int r = http_parse(copy, n, &request);
	CHECK(r <= 1 && (r >= 0 || (-r >= 400 && -r <= 599)));
	if (r != 1)
		return;
	CHECK(request.target[0] == '/' && strlen(request.target) <= HTTP_TARGET_MAX);
	CHECK(request.n_headers <= HTTP_HEADERS_MAX);
	for (size_t i = 0; i < request.n_headers; i++)
		CHECK(http_passes(request.headers[i].name) && http_is_value(request.headers[i].value));
}

static void check_path(const char *target)
{
	AUTO(freep) char *path = upstream_path(NULL, target);
	if (!path)
		return;
	CHECK(path[0] == '/' && !strstr(path, "/../") && !strchr(path, '\\'));
	size_t n = strlen(path);
	CHECK(n < 3 || !streq(path + n - 3, "/.."));
}

static void on_link(void *ctx, const char *path)
{
	check_path(path);
	CHECK(path[0] == '/' && !strstr(path, "/../"));
}

/* A page gives the same result however it is cut, and stays unchanged if it has no link to the index. */
static void check_page(enum links_kind kind, const struct upstream *u, const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf whole = { 0 }, cut = { 0 };
	struct links *l = links_new(kind, u, "/a/b/", on_link, NULL);
	links_feed(l, data, n, &whole);
	links_finish(l, &whole);
	links_free(l);
	struct pieces p = { .at = data, .left = n, .state = 1 };
	const uint8_t *piece;
	size_t size;
	l = links_new(kind, u, "/a/b/", on_link, NULL);
	while (pieces_next(&p, &piece, &size))
		links_feed(l, piece, size, &cut);
	links_finish(l, &cut);
	links_free(l);
	CHECK(whole.len == cut.len && (!cut.len || memcmp(whole.data, cut.data, cut.len) == 0));
	if (!memmem(data, n, "//", 2) && !memmem(data, n, "\\/", 2))
		CHECK(whole.len == n && (!n || memcmp(whole.data, data, n) == 0));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv sources = { 0 }, env = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	check_request(data, n);
	check_path(text);
	strv_add(&sources, "A=https://u:p@h/a/");
	strv_addf(&sources, "B=%s", text);
	/* The first upstream is added, whatever follows. */
	(void)upstreams_take(&u, &env, &sources, &f);
	CHECK(u.n >= 1 && u.n <= RELAY_PORTS_MAX);
	for (enum links_kind kind = LINKS_HTML; kind <= LINKS_JSON; kind++)
		check_page(kind, &u.v[0], data, n);
	AUTO(buf_release) struct buf shown = { 0 };
	upstreams_show(&u, &shown, text, strlen(text));
	struct wire_relay_get get = { 0 };
	struct wire_frame frame = { .type = FRAME_RELAY_GET, .payload = data, .n = n };
	if (wire_read_relay_get(&frame, &get) == 0)
		CHECK(get.target[0] == '/' && !strpbrk(get.target, " \r\n"));
	wire_relay_get_release(&get);
	return 0;
}
