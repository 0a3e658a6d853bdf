#include "mcp/result.h"

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/display.h"
#include "mcp/next-step.h"
#include "mcp/text.h"

/* What is kept of each field when the whole would not fit into a line. */
#define FIELD_CHARS_WHEN_TIGHT 100000

static const char *signal_name(int signo)
{
	static const char *const names[] = {
		[1] = "SIGHUP",	  [2] = "SIGINT",   [3] = "SIGQUIT",  [4] = "SIGILL",	[6] = "SIGABRT",
		[7] = "SIGBUS",	  [8] = "SIGFPE",   [9] = "SIGKILL",  [11] = "SIGSEGV", [13] = "SIGPIPE",
		[14] = "SIGALRM", [15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS",
	};
	if (signo < 0 || (size_t)signo >= ARRAY_LEN(names) || !names[signo])
		return "unnamed";
	return names[signo];
}

/* --- the text ------------------------------------------------------------------------------------------- */

static char *error_line(const struct run_result *run)
{
	if (!run->error_message || !*run->error_message)
		return xstrdup(run->error_type);
	return xasprintf("%s: %s", run->error_type, run->error_message);
}

/* For endings that come without a detail of the manager's. */
static char *default_detail(const struct run_result *run, const struct run_context *ctx)
{
	switch (run->ending) {
	case ENDING_OK:
		break;
	case ENDING_ERROR:
		if (run->error_type)
			return error_line(run);
		if (run->signal)
			return xasprintf("killed by signal %d (%s)", run->signal, signal_name(run->signal));
		return run->has_exit_code ? xasprintf("exit code %d", run->exit_code) : xstrdup("failed");
	case ENDING_TIMEOUT:
		return xasprintf("stopped after %llu s", (unsigned long long)ctx->timeout_seconds);
	case ENDING_INTERRUPTED:
		return xstrdup("interrupted before it was done");
	case ENDING_OOM:
		return xstrdup("the memory limit of the container was reached");
	case ENDING_KERNEL_DIED:
		return xstrdup("the interpreter died; its variables are gone, files in /workspace are kept");
	case ENDING_CONTAINER_DIED:
		return xstrdup("the container is gone; call stop_session, then create_session");
	case ENDING_SESSION_LOST:
		return xstrdup("the connection to the session was lost; whether the code finished is not known");
	}
	return xstrdup("");
}

static void add_ending(struct text *t, const struct run_result *run, const struct run_context *ctx)
{
	if (run->ending == ENDING_OK)
		return;
	AUTO(freep) char *label = xasprintf("[%s]", ending_name(run->ending));
	AUTO(freep) char *standard = default_detail(run, ctx);
	/* The error's own words come first, then the manager's detail. */
	bool both = run->ending == ENDING_ERROR && run->detail;
	if (both)
		text_addf(t, label, "%s (%s)", standard, run->detail);
	else
		text_add(t, label, run->detail ? run->detail : standard);
}

/* A run that ended well may still have something to say. */
static void add_detail(struct text *t, const struct run_result *run)
{
	if (run->ending == ENDING_OK && run->detail)
		text_add(t, "[note]", run->detail);
}

static void add_stream(struct text *t, const char *label, const char *name, const char *body, bool cut, uint64_t bytes)
{
	text_add(t, label, body);
	if (!cut)
		return;
	text_mark_gap(t);
	text_addf(t, "[note]", "%s was cut: the program wrote %llu bytes in all", name, (unsigned long long)bytes);
}

static void add_displays(struct text *t, const struct run_result *run)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < run->n_displays; i++) {
		AUTO(freep) char *one = display_text(&run->displays[i]);
		if (*one)
			buf_printf(&b, "%s%s", b.len ? "\n" : "", one);
	}
	if (b.len > 0)
		text_add(t, "[display]", buf_str(&b));
	buf_release(&b);
	if (run->displays_dropped > 0)
		text_addf(t, "[note]", "%llu more displays were dropped: too many or too large for one run",
			  (unsigned long long)run->displays_dropped);
}

static void add_error(struct text *t, const struct run_result *run)
{
	if (run->error_traceback && *run->error_traceback) {
		text_add(t, "[traceback]", run->error_traceback);
	} else if (run->error_type && run->ending != ENDING_ERROR) {
		AUTO(freep) char *line = error_line(run);
		text_add(t, "[error]", line);
	}
}

static void add_picture_notes(struct text *t, const struct pictures *p)
{
	size_t omitted = 0;
	for (size_t i = 0; i < p->n; i++)
		omitted += !p->v[i].sent;
	if (omitted > 0)
		text_addf(
			t, "[note]",
			"%zu more image%s omitted: an answer holds %d images and about 1 MB; show fewer or smaller ones (lower dpi) in one call",
			omitted, omitted == 1 ? "" : "s", RESULT_IMAGES_MAX);
	if (p->bad > 0)
		text_addf(t, "[note]",
			  "%zu image%s omitted: not a valid PNG, JPEG, GIF or WebP of at most 8000 pixels a side",
			  p->bad, p->bad == 1 ? "" : "s");
}

static char *run_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *p);

static char *hint_of(const struct run_result *run, const struct run_context *ctx)
{
	return next_step_after_run(run, &(struct run_terms){ .terminal = ctx->terminal,
							     .timeout_seconds = ctx->timeout_seconds,
							     .cause = run->cause });
}

/* Runs that a former server of the session started and that no answer has reported yet. */
static void add_earlier(struct text *t, const struct run_result *run)
{
	for (size_t i = 0; i < run->n_earlier; i++) {
		const struct earlier_result *e = &run->earlier[i];
		const char *what = e->kind == RUN_TERMINAL ? "command" : "cell";
		AUTO(freep) char *label = xasprintf("[earlier %s %llu: %s]", what, (unsigned long long)e->seq,
						    e->ended ? ending_name(e->result.ending) : "still running");
		AUTO(freep) char *body =
			e->ended ?
				run_text(&e->result, &(struct run_context){ .terminal = e->kind == RUN_TERMINAL },
					 &(struct pictures){ 0 }) :
				xstrdup("it was started by an earlier server and still runs; a later answer will report its end");
		text_add(t, label, body);
	}
}

static char *run_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *p)
{
	struct text t = { .n = 0 };
	AUTO(freep) char *value = display_text(&run->result);
	AUTO(freep) char *hint = hint_of(run, ctx);
	add_earlier(&t, run);
	add_ending(&t, run, ctx);
	add_stream(&t, NULL, "stdout", run->stdout_text, run->stdout_truncated, run->stdout_bytes);
	add_stream(&t, "[stderr]", "stderr", run->stderr_text, run->stderr_truncated, run->stderr_bytes);
	add_displays(&t, run);
	text_add(&t, "[result]", value);
	add_error(&t, run);
	add_picture_notes(&t, p);
	add_detail(&t, run);
	if (hint)
		text_add(&t, "[hint]", hint);
	if (t.n == run->n_earlier)
		text_add(&t, NULL, "(no output)");
	if (run->notice)
		text_add(&t, "[note]", run->notice);
	char *text = text_join(&t, RESULT_TEXT_CHARS);
	text_release(&t);
	return text;
}

/* --- the fields ----------------------------------------------------------------------------------------- */

static json_t *optional_string(const char *s)
{
	return s ? json_text(s) : json_null();
}

static json_t *run_error(const struct run_result *run)
{
	if (!run->error_type)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "type", json_text(run->error_type), "message",
			 json_text(run->error_message ? run->error_message : ""), "traceback",
			 optional_string(run->error_traceback));
}

static void set_count(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key, json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX)));
}

static json_t *earlier_fields(const struct run_result *run, const struct run_context *ctx);

static json_t *run_fields(const struct run_result *run, const struct run_context *ctx)
{
	json_t *o = json_object();
	AUTO(freep) char *hint = hint_of(run, ctx);
	json_object_set_new(o, "success", json_boolean(run->ending == ENDING_OK));
	json_object_set_new(o, "ending", json_string(ending_name(run->ending)));
	json_object_set_new(o, "session_id", optional_string(ctx->session_id));
	json_object_set_new(o, "stdout", json_text(run->stdout_text));
	json_object_set_new(o, "stderr", json_text(run->stderr_text));
	json_object_set_new(o, "result", display_result(&run->result));
	json_object_set_new(o, "error", run_error(run));
	json_object_set_new(o, "display_outputs", display_list(run));
	set_count(o, "displays_dropped", run->displays_dropped);
	json_object_set_new(o, "exit_code", run->has_exit_code ? json_integer(run->exit_code) : json_null());
	json_object_set_new(o, "signal", run->signal ? json_integer(run->signal) : json_null());
	json_object_set_new(o, "detail", optional_string(run->detail));
	if (run->cause)
		json_object_set_new(o, "cause", json_string(cause_name(run->cause)));
	json_object_set_new(o, "hint", optional_string(hint));
	set_count(o, "duration_ms", run->duration_ms);
	set_count(o, "stdout_bytes", run->stdout_bytes);
	set_count(o, "stderr_bytes", run->stderr_bytes);
	json_object_set_new(o, "stdout_truncated", json_boolean(run->stdout_truncated));
	json_object_set_new(o, "stderr_truncated", json_boolean(run->stderr_truncated));
	if (run->memory_peak)
		set_count(o, "memory_peak", run->memory_peak);
	if (run->memory_limit)
		set_count(o, "memory_limit", run->memory_limit);
	if (run->memory_files)
		set_count(o, "memory_files", run->memory_files);
	if (run->notice)
		json_object_set_new(o, "notice", json_text(run->notice));
	if (run->n_earlier)
		json_object_set_new(o, "earlier", earlier_fields(run, ctx));
	return o;
}

static json_t *earlier_fields(const struct run_result *run, const struct run_context *ctx)
{
	json_t *list = json_array();
	for (size_t i = 0; i < run->n_earlier; i++) {
		const struct earlier_result *e = &run->earlier[i];
		json_t *o = e->ended ? run_fields(&e->result, ctx) : json_object();
		set_count(o, "seq", e->seq);
		json_object_set_new(o, "tool",
				    json_string(e->kind == RUN_TERMINAL ? "execute_terminal" : "execute_code"));
		json_object_set_new(o, "ended", json_boolean(e->ended));
		json_array_append_new(list, o);
	}
	return list;
}

static size_t json_size(const json_t *v)
{
	return json_dumpb(v, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
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
		AUTO(freep) char *cut = text_cut(json_string_value(value), FIELD_CHARS_WHEN_TIGHT);
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

/* With the MAX_* settings raised or turned off, the fields alone could exceed the hard limit of a line. */
static void bound_fields(json_t *fields)
{
	if (json_size(fields) <= RESULT_LINE_MAX / 4)
		return;
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(fields, "earlier"), i, entry)
		bound_one(entry);
	bound_one(fields);
}

/* --- results -------------------------------------------------------------------------------------------- */

static json_t *text_block(const char *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", json_text(text));
}

static json_t *new_result(const char *text, bool is_error)
{
	return json_pack("{s:[o], s:b}", "content", text_block(text), "isError", is_error);
}

static void append_pictures(json_t *content, const struct pictures *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].sent)
			json_array_append_new(content, json_pack("{s:s, s:s, s:s}", "type", "image", "data",
								 p->v[i].data, "mimeType", p->v[i].type));
}

json_t *result_of_run(const struct run_result *run, const struct run_context *ctx)
{
	json_t *fields = run_fields(run, ctx);
	struct pictures pictures;
	bound_fields(fields);
	pictures_collect(&pictures, run);

	AUTO(freep) char *draft = run_text(run, ctx, &(struct pictures){ 0 });
	/* Escapes and notes about pictures may make the text longer than the draft; the rest is the envelope. */
	size_t base = json_size(fields) * (ctx->structured ? 2 : 1) + strlen(draft) * 5 / 4 + 4096;
	pictures_choose(&pictures, RESULT_IMAGES_MAX, base < RESULT_LINE_AIM ? RESULT_LINE_AIM - base : 0);

	AUTO(freep) char *text = run_text(run, ctx, &pictures);
	json_t *result = new_result(text, false);
	append_pictures(json_object_get(result, "content"), &pictures);
	pictures_release(&pictures);
	json_object_set_new(result, "_meta", json_pack("{s:O}", RESULT_META, fields));
	if (ctx->structured)
		json_object_set(result, "structuredContent", fields);
	json_decref(fields);
	return result;
}

json_t *result_of_fields(json_t *fields, bool structured)
{
	AUTO(freep) char *text = json_dumps(fields, 0);
	json_t *result = new_result(text, false);
	if (structured)
		json_object_set(result, "structuredContent", fields);
	json_decref(fields);
	return result;
}
