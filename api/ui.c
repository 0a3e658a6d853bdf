/* The page: files that are part of this program. Everything that the page shows comes from the other routes. */
#include <string.h>
#include <strings.h>

#include "api/host.h"
#include "api/page.h"
#include "api/route.h"
#include "base/alloc.h"

#define ASSETS "a/"
#define DOCUMENT "index.html"
#define TERMINAL "terminal.html"

/* Content of sessions is never part of these documents; it is shown in frames that have the policy of runs.c. */
#define POLICY                                                                                                         \
	"default-src 'none'; script-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "           \
	"frame-src 'self'; base-uri 'none'; form-action 'none'; "
#define POLICY_PAGE POLICY "style-src 'self'; frame-ancestors 'none'"
/* xterm.js writes a style element. The page shows its document in a frame. */
#define POLICY_TERMINAL POLICY "style-src 'self' 'unsafe-inline'; frame-ancestors 'self'"

static const struct page_file *find(const struct exchange *x, const char *path)
{
	for (const struct page_file *f = x->api->spec.page; f && f->path; f++)
		if (streq(f->path, path))
			return f;
	return NULL;
}

/* The path below /ui/. Addresses of the page itself, such as sessions/ID, have its document. */
static const struct page_file *file_of(const struct exchange *x)
{
	AUTO(buf_release) struct buf path = { 0 };
	for (size_t i = x->rest; i < x->target.n_segments; i++)
		buf_printf(&path, "%s%s", i > x->rest ? "/" : "", http_target_segment(&x->target, i));
	const struct page_file *f = find(x, buf_str(&path));
	return f || strncmp(buf_str(&path), ASSETS, strlen(ASSETS)) == 0 ? f : find(x, DOCUMENT);
}

/* Every browser accepts gzip. */
static bool accepts_gzip(const struct exchange *x)
{
	return !exchange_field(x, "accept-encoding") ||
	       http_fields_has(&http_request_head(x->request)->fields, "accept-encoding", "gzip") ||
	       http_fields_has(&http_request_head(x->request)->fields, "accept-encoding", "*");
}

static void reply_file(struct exchange *x, const struct page_file *f)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	bool asset = strncmp(f->path, ASSETS, strlen(ASSETS)) == 0;
	const char *known = exchange_field(x, "if-none-match");
	http_fields_add(&fields, "Cache-Control", asset ? "public, max-age=31536000, immutable" : "no-cache");
	http_fields_add(&fields, "Content-Security-Policy", streq(f->path, TERMINAL) ? POLICY_TERMINAL : POLICY_PAGE);
	http_fields_add(&fields, "Referrer-Policy", "no-referrer");
	http_fields_add(&fields, "Cross-Origin-Opener-Policy", "same-origin");
	http_fields_add(&fields, "Cross-Origin-Resource-Policy", "same-origin");
	http_fields_add(&fields, "ETag", f->etag);
	http_fields_add(&fields, "Vary", "Accept-Encoding");
	if (known && streq(known, f->etag)) {
		exchange_reply_text(x, 304, &fields, NULL, NULL, 0);
		return;
	}
	http_fields_add(&fields, "Content-Encoding", "gzip");
	exchange_reply_text(x, 200, &fields, f->type, f->data, f->n);
}

static void get_file(struct exchange *x)
{
	const struct page_file *f = file_of(x);
	if (!f)
		exchange_problem(x, 404, "The page has no such file.", NULL);
	else if (!accepts_gzip(x))
		exchange_problem(x, 406, "The page is only available compressed with gzip.", "Accept-Encoding: gzip");
	else
		reply_file(x, f);
}

static void get_folder(struct exchange *x)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Location", "/ui/");
	exchange_reply_text(x, 308, &fields, NULL, NULL, 0);
}

#define OPEN_ROUTE(the_path, the_handler)                                                                              \
	{                                                                                                              \
		.method = HTTP_METHOD_GET, .path = the_path, .flags = ROUTE_OPEN | ROUTE_HIDDEN | ROUTE_ANY_QUERY,     \
		.handle = the_handler                                                                                  \
	}

const struct route routes_ui[] = {
	OPEN_ROUTE("/", get_folder), /* a browser that was given only the address */
	OPEN_ROUTE("/ui", get_folder),
	OPEN_ROUTE("/ui/{path...}", get_file),
	{ 0 },
};
