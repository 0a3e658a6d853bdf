#include "mcp/result.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "manager/json/codec.h"
#include "mcp/apps.h"
#include "mcp/display.h"
#include "mcp/text.h"

/* Each field is cut to this many characters if all fields together do not fit into a line. */
#define FIELD_CHARS_WHEN_TIGHT 100000

/* --- the fields ----------------------------------------------------------------------------------------- */

static json_t *optional_string(const char *s)
{
	return s ? json_text(s) : json_null();
}

static void set_count(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new_nocheck(o, key, json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX)));
}

/* Sets KEY, or KEY_chars if the text has more than text_max bytes. */
static void set_text(json_t *o, const char *key, const char *s, size_t text_max)
{
	size_t n = s ? strlen(s) : 0;
	if (n <= text_max) {
		json_object_set_new_nocheck(o, key, optional_string(s));
		return;
	}
	AUTO(freep) char *count = xasprintf("%s_chars", key);
	set_count(o, count, utf8_count(s, n));
}

static json_t *run_error(const struct run_result *run, size_t text_max)
{
	if (!run->error_type)
		return json_null();
	json_t *o = json_object();
	json_object_set_new_nocheck(o, "type", json_name(run->error_type));
	set_text(o, "message", run->error_message ? run->error_message : "", text_max);
	set_text(o, "traceback", run->error_traceback, text_max);
	return o;
}

static json_t *earlier_fields(const struct run_result *run, const struct run_context *ctx, size_t text_max);

/* Texts of more than text_max bytes are replaced by their number of characters. */
static json_t *run_fields(const struct run_result *run, const struct run_context *ctx, size_t text_max)
{
	json_t *o = json_object();
	json_t *result_chars = json_object();
	AUTO(freep) char *hint = answer_hint(run, ctx);
	json_object_set_new_nocheck(o, "success", json_boolean(run->ending == ENDING_OK));
	json_object_set_new_nocheck(o, "ending", json_string(ending_name(run->ending)));
	json_object_set_new_nocheck(o, "session_id", optional_string(ctx->session_id));
	if (run->run)
		set_count(o, "run", run->run);
	if (*run->branch)
		json_object_set_new(o, "branch", json_string(run->branch));
	if (run->lost)
		json_object_set_new_nocheck(o, "lost_variables", json_shown(run->lost));
	if (run->restored)
		json_object_set_new_nocheck(o, "restored", restored_encode(run->restored));
	if (run->prompt) {
		json_object_set_new_nocheck(o, "prompt", json_shown(run->prompt));
		json_object_set_new_nocheck(o, "password", json_boolean(run->password));
	}
	if (run->queued)
		json_object_set_new_nocheck(o, "queued", json_true());
	if (run->behind)
		set_count(o, "behind", run->behind);
	set_text(o, "stdout", run->stdout_text, text_max);
	set_text(o, "stderr", run->stderr_text, text_max);
	json_object_set_new_nocheck(o, "result", display_result(&run->result, text_max, result_chars));
	if (json_object_size(result_chars) > 0)
		json_object_set(o, "result_chars", result_chars);
	json_decref(result_chars);
	json_object_set_new_nocheck(o, "error", run_error(run, text_max));
	json_object_set_new_nocheck(o, "display_outputs", display_list(run, text_max));
	set_count(o, "displays_dropped", run->displays_dropped);
	json_object_set_new_nocheck(o, "exit_code", run->has_exit_code ? json_integer(run->exit_code) : json_null());
	json_object_set_new_nocheck(o, "signal", run->signal ? json_integer(run->signal) : json_null());
	set_text(o, "detail", run->detail, text_max);
	if (run->cause)
		json_object_set_new_nocheck(o, "cause", json_string(cause_name(run->cause)));
	json_object_set_new_nocheck(o, "hint", optional_string(hint));
	set_count(o, "duration_ms", run->duration_ms);
	set_count(o, "stdout_bytes", run->stdout_bytes);
	set_count(o, "stderr_bytes", run->stderr_bytes);
	json_object_set_new_nocheck(o, "stdout_truncated", json_boolean(run->stdout_truncated));
	json_object_set_new_nocheck(o, "stderr_truncated", json_boolean(run->stderr_truncated));
	if (run->memory_peak)
		set_count(o, "memory_peak", run->memory_peak);
	if (run->memory_limit)
		set_count(o, "memory_limit", run->memory_limit);
	if (run->memory_files)
		set_count(o, "memory_files", run->memory_files);
	if (run->notice)
		set_text(o, "notice", run->notice, text_max);
	if (run->n_earlier)
		json_object_set_new_nocheck(o, "earlier", earlier_fields(run, ctx, text_max));
	return o;
}

static json_t *earlier_fields(const struct run_result *run, const struct run_context *ctx, size_t text_max)
{
	json_t *list = json_array();
	for (size_t i = 0; i < run->n_earlier; i++) {
		const struct earlier_result *e = &run->earlier[i];
		json_t *o = e->ended ? run_fields(&e->result, ctx, text_max) : json_object();
		set_count(o, "run", e->seq);
		json_object_set_new(o, "kind", json_string(e->kind == RUN_TERMINAL ? "command" : "cell"));
		json_object_set_new(o, "ended", json_boolean(e->ended));
		json_array_append_new(list, o);
	}
	return list;
}

static void cut_strings(json_t *o)
{
	const char *key;
	json_t *value;
	void *tmp;
	json_object_foreach_safe(o, tmp, key, value)
	{
		if (json_is_object(value))
			cut_strings(value);
		if (!json_is_string(value))
			continue;
		AUTO(freep) char *cut = text_cut(json_string_value(value), FIELD_CHARS_WHEN_TIGHT, false);
		json_object_set_new(o, key, json_string(cut));
	}
}

static void bound_one(json_t *fields)
{
	cut_strings(fields);
	json_object_set_new(fields, "stdout_truncated", json_true());
	json_object_set_new(fields, "stderr_truncated", json_true());
	json_object_set_new(fields, "display_outputs", json_array());
}

/* Cuts the fields if they exceed the hard limit of a line, which can happen if MAX_* settings are raised or turned off.
 * Returns their length. */
static size_t bound_fields(json_t *fields)
{
	size_t n = json_print_size(fields);
	if (n <= RESULT_LINE_MAX / 4)
		return n;
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(fields, "earlier"), i, entry)
		bound_one(entry);
	bound_one(fields);
	return json_print_size(fields);
}

/* Characters of pictures in result_shown(). */
#define SHOWN_PICTURES_MAX (512u << 10)

/* --- results -------------------------------------------------------------------------------------------- */

static json_t *text_block(const char *text)
{
	json_t *block = json_object(); /* json_pack() takes four times as long */
	json_object_set_new_nocheck(block, "type", json_string_nocheck("text"));
	json_object_set_new_nocheck(block, "text", json_text(text));
	return block;
}

static json_t *new_result(const char *text, bool is_error)
{
	json_t *result = json_object(), *content = json_array();
	json_array_append_new(content, text_block(text));
	json_object_set_new_nocheck(result, "content", content);
	json_object_set_new_nocheck(result, "isError", json_boolean(is_error));
	return result;
}

static json_t *picture_block(const struct picture *p)
{
	/* The data is base64 that image_take() has made or checked, so jansson need not check it. */
	return json_pack("{s:s, s:o, s:s}", "type", "image", "data", json_string_nocheck(p->data), "mimeType", p->type);
}

static void append_pictures(json_t *content, const struct pictures *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].number)
			json_array_append_new(content, picture_block(&p->v[i]));
}

static void append_text(json_t *content, const char *text, size_t n)
{
	AUTO(freep) char *piece = xstrndup(text, n);
	if (n)
		json_array_append_new(content, text_block(piece));
}

/* Places each picture right after its mark. Pictures whose mark was cut come at the end. */
static json_t *interleaved(const char *text, struct pictures *p)
{
	json_t *content = json_array();
	const char *end;
	unsigned number;
	for (const char *mark; (mark = answer_mark(text, &end, &number)); text = end + (*end == '\n')) {
		append_text(content, text, (size_t)(end - text));
		for (size_t i = 0; i < p->n; i++) {
			if (p->v[i].number != number)
				continue;
			json_array_append_new(content, picture_block(&p->v[i]));
			p->v[i].number = 0;
		}
	}
	append_text(content, text, strlen(text));
	append_pictures(content, p);
	return content;
}

json_t *result_of_run(const struct run_result *run, const struct run_context *ctx)
{
	/* The text block has the long texts, so they are not sent twice. */
	json_t *fields = run_fields(run, ctx, RESULT_META_TEXT_MAX);
	json_t *structured = ctx->structured ? run_fields(run, ctx, SIZE_MAX) : NULL;
	struct pictures pictures;
	size_t fields_size = bound_fields(fields) + (structured ? bound_fields(structured) : 0);
	pictures_collect(&pictures, run);

	/* Reserve room for escapes in the text and for the envelope. */
	size_t text_max = 4 * (ctx->max_chars ? ctx->max_chars : ANSWER_CHARS);
	size_t base = fields_size + MIN(text_max, (size_t)RESULT_LINE_AIM / 4) + 4096;
	pictures_choose(&pictures, PICTURES_MAX, base < RESULT_LINE_AIM ? RESULT_LINE_AIM - base : 0);

	AUTO(freep) char *text = answer_text(run, ctx, &pictures);
	json_t *result = new_result(text, false);
	if (ctx->interleaved)
		json_object_set_new_nocheck(result, "content", interleaved(text, &pictures));
	else
		append_pictures(json_object_get(result, "content"), &pictures);
	pictures_release(&pictures);
	json_t *meta = json_object();
	json_object_set_new_nocheck(meta, RESULT_META, fields);
	json_object_set_new_nocheck(result, "_meta", meta);
	if (ctx->app && apps_show_more(run))
		apps_refer(result, /* app_only= */ false);
	if (structured)
		json_object_set_new_nocheck(result, "structuredContent", structured);
	return result;
}

char *result_shown(const json_t *result)
{
	const json_t *content = json_object_get(result, "content");
	size_t i, n = 0;
	json_t *block;
	json_array_foreach(content, i, block)
		n += json_string_length(json_object_get(block, "data"));
	struct buf text = { 0 };
	if (n <= SHOWN_PICTURES_MAX) {
		json_print(&text, content);
		return buf_steal_str(&text);
	}
	json_auto_t *copy = json_array();
	json_array_foreach(content, i, block) {
		json_t *kept = json_copy(block);
		json_object_del(kept, "data");
		json_array_append_new(copy, kept);
	}
	json_print(&text, copy);
	return buf_steal_str(&text);
}

json_t *result_of_fields(json_t *fields, bool structured)
{
	AUTO(freep) char *text = json_dumps(fields, JSON_REAL_PRECISION(15));
	json_t *result = new_result(text, false);
	if (structured)
		json_object_set(result, "structuredContent", fields);
	json_decref(fields);
	return result;
}
