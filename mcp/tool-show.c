/* The tool show_run, which only the document of MCP Apps calls (apps.h): the record of a run, as it is now. Large
 * contents are left out of it; the document asks for them piece by piece. So no answer is longer than clients accept,
 * and nothing reaches a model. */
#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "manager/json/codec.h"
#include "mcp/apps.h"
#include "mcp/tools.h"

/* Bytes of contents in one answer. As JSON, each may take six. */
#define CONTENT_MAX (150u << 10)
/* A content up to this size is in the record, as long as CONTENT_MAX lasts. */
#define INLINE_MAX (32u << 10)
#define PARTS_MAX 1000

struct show_args {
	const char *session_id;
	int64_t run, known;
	int64_t output, offset; /* output: -1 = not given */
	const char *type;
};

static const struct arg show_table[] = {
	{ "session_id", ARG_STRING, offsetof(struct show_args, session_id), ARG_REQUIRED | ARG_NONEMPTY, .max = 128,
	  .description = "The session.", .example = "\"kq3v…\"" },
	{ "run", ARG_INT, offsetof(struct show_args, run), 0, .min = 0, .max = UINT32_MAX,
	  .description = "The number of the run; 0 = the newest.", .example = "7" },
	{ "known", ARG_INT, offsetof(struct show_args, known), 0, .min = 0, .max = INT64_MAX,
	  .description = "The number `journal` of the last answer: if nothing has happened since, the answer says so.",
	  .example = "12" },
	{ "output", ARG_INT, offsetof(struct show_args, output), ARG_ABSENT, .min = 0, .max = UINT32_MAX,
	  .description = "Instead of the record: a piece of this part's content.", .example = "0" },
	{ "type", ARG_STRING, offsetof(struct show_args, type), 0, .max = 128,
	  .description = "With output: which of its types; none for text.", .example = "\"text/html\"" },
	{ "offset", ARG_INT, offsetof(struct show_args, offset), 0, .min = 0, .max = INT64_MAX,
	  .description = "With output: where the piece begins, in bytes.", .example = "153600" },
	{ 0 },
};

static void show_defaults(void *args, const struct tool_env *env)
{
	((struct show_args *)args)->output = -1;
}

static char *show_describe(const struct tool_env *env)
{
	return xstrdup("Shows a run to the person: for the document of this server, not for models.");
}

/* Takes the fields. The text says what they are, because a result must have content. */
static void reply_fields(struct call *call, json_t *fields)
{
	json_t *result = json_pack("{s:[{s:s, s:s}], s:b, s:{s:o}}", "content", "type", "text", "text",
				   "The run is in _meta.", "isError", 0, "_meta", APPS_META, fields);
	call_reply(call, result);
}

/* --- the record ---------------------------------------------------------------------------------------------------- */

static size_t size_of(const struct record_part *part)
{
	size_t n = part->len;
	for (size_t i = 0; part->bundle && i < part->bundle->n; i++)
		n += part->bundle->parts[i].len;
	return n;
}

/* The sizes of the contents that were left out: of the text, or of each type. */
static json_t *sizes_of(const struct record_part *part)
{
	if (!part->bundle)
		return json_integer((json_int_t)part->len);
	json_t *sizes = json_object();
	for (size_t i = 0; i < part->bundle->n; i++)
		json_object_set_new(sizes, part->bundle->parts[i].type,
				    json_integer((json_int_t)part->bundle->parts[i].len));
	return sizes;
}

/* The record without contents that are in the parts, or that only people of the server see. */
static json_t *encode_lean(const struct run_record *record)
{
	static const char *const unwanted[] = { "stdout", "stderr", "result" };
	json_t *out = run_record_encode(record, /* parts= */ true);
	for (size_t i = 0; i < ARRAY_LEN(unwanted); i++)
		json_object_del(out, unwanted[i]);
	if (json_string_length(json_object_get(out, "text")) > INLINE_MAX)
		json_object_del(out, "text");
	json_t *error = json_object_get(out, "error");
	if (json_string_length(json_object_get(error, "traceback")) > INLINE_MAX)
		json_object_del(error, "traceback");
	return out;
}

static json_t *encode(const struct run_record *record)
{
	struct run_record shown = *record;
	size_t first = record->n_parts - MIN(record->n_parts, (size_t)PARTS_MAX), left = CONTENT_MAX;
	AUTO(freep) struct record_part *parts = xcalloc(record->n_parts + 1, sizeof(*parts));
	AUTO(freep) bool *large = xcalloc(record->n_parts + 1, sizeof(*large));
	shown.parts = parts;
	shown.n_parts = record->n_parts - first;
	shown.n_answers = 0;
	for (size_t i = 0; i < shown.n_parts; i++) {
		size_t n = size_of(&record->parts[first + i]);
		parts[i] = record->parts[first + i];
		large[i] = n > INLINE_MAX || n > left;
		if (large[i]) {
			parts[i].text = NULL;
			parts[i].len = 0;
			parts[i].bundle = NULL;
		} else {
			left -= n;
		}
	}
	json_t *out = encode_lean(&shown);
	size_t i;
	json_t *part;
	json_array_foreach(json_object_get(out, "parts"), i, part)
		if (large[i])
			json_object_set_new(part, "large", sizes_of(&record->parts[first + i]));
	if (first)
		json_object_set_new(out, "first_part", json_integer((json_int_t)first));
	return out;
}

/* --- a piece of a content ------------------------------------------------------------------------------------------ */

struct content {
	const char *data;
	size_t n;
};

static bool find_content(const struct run_record *record, const struct show_args *args, struct content *ret)
{
	if ((uint64_t)args->output >= record->n_parts)
		return false;
	const struct record_part *part = &record->parts[args->output];
	if (!args->type || !*args->type) {
		*ret = (struct content){ part->text, part->len };
		return part->text != NULL;
	}
	for (size_t i = 0; part->bundle && i < part->bundle->n; i++) {
		if (!streq(part->bundle->parts[i].type, args->type))
			continue;
		*ret = (struct content){ part->bundle->parts[i].data, part->bundle->parts[i].len };
		return true;
	}
	return false;
}

/* A piece ends between two characters. */
static json_t *encode_piece(const struct content *content, uint64_t offset)
{
	size_t start = (size_t)MIN(offset, (uint64_t)content->n);
	start += utf8_partial_start(content->data + start, content->n - start);
	size_t n = MIN(content->n - start, (size_t)CONTENT_MAX);
	if (start + n < content->n)
		n -= utf8_partial_end(content->data + start, n);
	AUTO(freep) char *piece = xstrndup(content->data + start, n);
	size_t next = start + n;
	return json_pack("{s:o, s:I, s:I}", "data", json_text(piece), "next", (json_int_t)next, "size",
			 (json_int_t)content->n);
}

/* --- the tool ------------------------------------------------------------------------------------------------------ */

static void show_done(void *ctx, const struct run_record *record, const struct fail *f)
{
	struct call *call = ctx;
	const struct show_args *args = call->decoded;
	struct content content;
	call->op = NULL;
	if (!record) {
		tools_fail(call, args->session_id, f);
		return;
	}
	if (args->output < 0) {
		bool same = args->known && record->journal == (uint64_t)args->known;
		reply_fields(call, same ? json_pack("{s:b, s:I}", "unchanged", 1, "journal", (json_int_t)args->known) :
					  encode(record));
		return;
	}
	if (find_content(record, args, &content)) {
		reply_fields(call, encode_piece(&content, (uint64_t)args->offset));
		return;
	}
	AUTO(fail_release) struct fail none = { 0 };
	fail_set(&none, FAIL_NOT_FOUND, "run %llu has no such content", (unsigned long long)record->number);
	tools_fail(call, args->session_id, &none);
}

static struct op *read_record(struct call *call, uint64_t number, struct fail *f)
{
	const struct show_args *args = call->decoded;
	return manager_run_record(
		call_env(call)->conversation,
		&(struct run_record_request){
			.session_id = args->session_id, .number = number, .on_done = show_done, .ctx = call },
		f);
}

static void newest_done(void *ctx, const struct run_record *v, size_t n, bool more, const struct fail *f)
{
	struct call *call = ctx;
	const struct show_args *args = call->decoded;
	AUTO(fail_release) struct fail own = { 0 };
	call->op = NULL;
	if (f) {
		tools_fail(call, args->session_id, f);
	} else if (!n) {
		reply_fields(call, json_object());
	} else {
		call->op = read_record(call, v[0].number, &own);
		if (!call->op)
			tools_fail(call, args->session_id, &own);
	}
}

static struct op *show_start(struct call *call, const void *data, struct fail *f)
{
	const struct show_args *args = data;
	if (args->run)
		return read_record(call, (uint64_t)args->run, f);
	return manager_runs(call_env(call)->conversation,
			    &(struct runs_request){
				    .session_id = args->session_id, .limit = 1, .on_done = newest_done, .ctx = call },
			    f);
}

const struct tool tool_show_run = {
	.name = "show_run",
	.scope = SCOPE_SESSIONS_READ,
	.title = "Show a run",
	.read_only = true,
	.idempotent = true,
	.describe = show_describe,
	.args = show_table,
	.args_size = sizeof(struct show_args),
	.args_init = show_defaults,
	.start = show_start,
};
