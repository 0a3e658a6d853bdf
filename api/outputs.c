/* The route of one output of a run, as its own type. Browsers get it with a policy that keeps it apart from the page. */
#include "api/host.h"
#include "api/route.h"
#include "api/runs.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/parse.h"

struct output_query {
	const char *type;
	bool frame;
};

static const struct arg output_table[] = {
	{ "type", ARG_STRING, offsetof(struct output_query, type), ARG_NONEMPTY, .max = 128,
	  .description = "The type to return, if the output has several.", .example = "\"image/png\"" },
	{ "frame", ARG_BOOL, offsetof(struct output_query, frame),
	  .description = "For HTML in a frame: with a simple style, and a script that posts its height to the page.",
	  .example = "true" },
	{ 0 },
};

/* The sandbox of content that comes from a session: it can run its own scripts, but reaches nothing of ours. */
#define SANDBOX                                                                                                        \
	"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "           \
	"img-src data: blob:; font-src data:"

/* Around HTML that the page shows in a frame. The page cannot look into the frame, so the frame tells its height. */
#define FRAME_HEAD                                                                                                       \
	"<!doctype html><meta charset=\"utf-8\"><style>html{background:#fff;color:#1d1e20;font:13px/1.5 system-ui,"      \
	"sans-serif}body{margin:8px}table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:2px " \
	"10px;border-bottom:1px solid #e4e4e1;text-align:right}thead th{border-bottom-color:#6b6f76}</style>"
#define FRAME_TAIL                                                                                                     \
	"<script>new ResizeObserver(()=>parent.postMessage({height:document.documentElement.getBoundingClientRect()"   \
	".height},\"*\")).observe(document.documentElement)</script>"

static const char *const preferred[] = { "text/html",  "image/svg+xml", "image/png",
					 "image/jpeg", "text/markdown", "text/plain" };

static const struct mime_part *choose(const struct exchange *x, const struct mime_bundle *b)
{
	const struct output_query *query = x->query;
	for (size_t i = 0; query->type && i < b->n; i++)
		if (streq(b->parts[i].type, query->type))
			return &b->parts[i];
	for (size_t i = 0; i < b->n; i++)
		if (exchange_accepts(x, b->parts[i].type))
			return &b->parts[i];
	for (size_t k = 0; k < ARRAY_LEN(preferred); k++)
		for (size_t i = 0; i < b->n; i++)
			if (streq(b->parts[i].type, preferred[k]))
				return &b->parts[i];
	return b->n ? &b->parts[0] : NULL;
}

static bool is_binary(const char *type)
{
	return (strncmp(type, "image/", 6) == 0 && !streq(type, "image/svg+xml")) || streq(type, "application/pdf");
}

static void reply_part(struct exchange *x, const char *type, const char *data, size_t n)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf decoded = { 0 };
	http_fields_add(&fields, "Content-Security-Policy", SANDBOX);
	if (is_binary(type) && base64_decode(data, n, &decoded) == 0) {
		exchange_reply_text(x, 200, &fields, type, decoded.data, decoded.len);
		return;
	}
	AUTO(freep) char *with_charset = xasprintf("%s; charset=utf-8", type);
	if (streq(type, "text/html") && ((const struct output_query *)x->query)->frame) {
		buf_add_str(&decoded, FRAME_HEAD);
		buf_add(&decoded, data, n);
		buf_add_str(&decoded, FRAME_TAIL);
		exchange_reply_text(x, 200, &fields, with_charset, decoded.data, decoded.len);
		return;
	}
	exchange_reply_text(x, 200, &fields, with_charset, data, n);
}

/* "3" is the fourth output; "@17" is the output that the event with the number 17 has shown. */
static int find_output(const struct run_record *record, const char *name, uint64_t *ret)
{
	uint64_t event;
	if (*name != '@')
		return parse_u64(name, ret) == 0 && *ret < record->n_parts ? 0 : -1;
	for (size_t i = 0; parse_u64(name + 1, &event) == 0 && i < record->n_parts; i++) {
		if (record->parts[i].event != event)
			continue;
		*ret = i;
		return 0;
	}
	return -1;
}

static void reply_output(struct exchange *x, const struct run_record *record)
{
	AUTO(fail_release) struct fail none = { 0 };
	uint64_t index;
	if (find_output(record, x->captures[2], &index) < 0) {
		fail_set(&none, FAIL_NOT_FOUND, "Run %llu has no output '%.32s'.", (unsigned long long)record->number,
			 x->captures[2]);
		fail_hint(&none, "GET on the run lists its outputs as `parts`; the first one is 0.");
		exchange_fail(x, &none);
		return;
	}
	const struct record_part *part = &record->parts[index];
	const struct mime_part *shown = part->bundle ? choose(x, part->bundle) : NULL;
	if (shown)
		reply_part(x, shown->type, shown->data, shown->len);
	else
		reply_part(x, "text/plain", part->text ? part->text : "", part->text ? part->len : 0);
}

static void get_output(struct exchange *x)
{
	uint64_t number;
	if (runs_take_number(x, &number))
		runs_fetch(x, number, reply_output);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer output_answers[] = { { 200, NULL, "*/*", "The output as its own type." }, { 0 } };

const struct route routes_outputs[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/runs/{run}/outputs/{output}",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getOutput",
	  .tag = "runs",
	  .summary = "Read one output of a run as its own type",
	  .text = "`output` is a number in `parts`, or `@` and the number of the event that showed the output.",
	  .query = output_table,
	  .query_size = sizeof(struct output_query),
	  .answers = output_answers,
	  .handle = get_output },
	{ 0 },
};
