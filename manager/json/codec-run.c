/* Runs and their results. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/utf8.h"
#include "manager/json/fields.h"

/* Limits of one result: PID 1 sends less. */
#define PARTS_MAX 100000
#define DISPLAYS_MAX 1000
#define MIME_PARTS_MAX 100

static const char *const kinds[] = { [RUN_CODE] = "cell", [RUN_TERMINAL] = "command" };
static const char *const part_kinds[] = {
	[PART_STDOUT] = "stdout", [PART_STDERR] = "stderr", [PART_DISPLAY] = "display",
	[PART_RESULT] = "result", [PART_ERROR] = "error",   [PART_GAP] = "gap",
};

/* --- the request --------------------------------------------------------------------------------------------------- */

json_t *env_encode(const struct env_var *v, size_t n)
{
	json_t *out = n ? json_object() : NULL;
	for (size_t i = 0; i < n; i++)
		fields_put_text(out, v[i].name, v[i].value);
	return out;
}

int env_decode(const json_t *json, struct env_var **ret, size_t *ret_n, struct fail *f)
{
	const char *name;
	json_t *value;
	*ret = xcalloc(json_object_size(json) + 1, sizeof(**ret));
	*ret_n = 0;
	json_object_foreach((json_t *)json, name, value) {
		if (!json_is_string(value))
			return fail_set(f, FAIL_INVALID, "variable '%.64s' is not a string", name);
		(*ret)[(*ret_n)++] = (struct env_var){ name, json_string_value(value) };
	}
	return 0;
}

const char **strings_decode(const json_t *list)
{
	size_t n = json_array_size(list);
	const char **v = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++)
		v[i] = json_string_value(json_array_get(list, i));
	return v;
}

struct dependency *dependencies_decode(json_t *texts, size_t *ret_n)
{
	const char *name;
	json_t *version;
	struct dependency *v = xcalloc(json_object_size(texts) + 1, sizeof(*v));
	*ret_n = 0;
	json_object_foreach(texts, name, version)
		v[(*ret_n)++] = (struct dependency){ name, json_is_string(version) ? json_string_value(version) : "" };
	return v;
}

json_t *run_request_encode(const struct run_request *req)
{
	json_t *out = json_object();
	fields_put_text(out, "kind", kinds[req->kind]);
	json_object_set_new(out, "text", json_stringn(req->text ? req->text : "", req->len));
	fields_put_bool(out, "interactive", req->interactive);
	fields_put_number(out, "rows", (uint64_t)req->rows);
	fields_put_number(out, "cols", (uint64_t)req->cols);
	fields_put_bool(out, "restart", req->restart);
	fields_put_number(out, "timeout", req->timeout_seconds);
	if (req->n_env)
		json_object_set_new(out, "env", env_encode(req->env, req->n_env));
	fields_put_text(out, "cwd", req->cwd);
	fields_put_text(out, "by", req->by);
	fields_put_text(out, "branch", req->branch);
	return out;
}

/* --- the result ---------------------------------------------------------------------------------------------------- */

/* An object: type -> data. A worker stops at its deadline, but it encodes at least one representation of a value. */
json_t *mime_bundle_encode(const struct mime_bundle *b)
{
	json_t *out = json_object();
	for (size_t i = 0; i < b->n && (!i || !deadline_passed()); i++)
		fields_put_text_n(out, b->parts[i].type, b->parts[i].data, b->parts[i].len);
	return out;
}

static int bundle_decode(const json_t *json, struct mime_bundle *ret, struct fail *f)
{
	size_t n = json_object_size(json);
	const char *type;
	json_t *data;
	if (n > MIME_PARTS_MAX || (json && !json_is_object(json)))
		return fail_set(f, FAIL_INVALID,
				"the representations of a value must be an object of at most %d members",
				MIME_PARTS_MAX);
	ret->parts = xcalloc(n + 1, sizeof(*ret->parts));
	json_object_foreach((json_t *)json, type, data) {
		const char *text = json_string_value(data);
		size_t len = json_string_length(data);
		if (!text || memchr(text, '\0', len))
			return fail_set(f, FAIL_INVALID, "the data of a value is not a text");
		ret->parts[ret->n++] =
			(struct mime_part){ .type = xstrdup(type), .data = xstrndup(text, len), .len = len };
	}
	return 0;
}

json_t *display_encode(const struct shown_display *d)
{
	json_t *out = json_object();
	fields_put_bool(out, "clear", d->clear);
	if (d->bundle)
		json_object_set_new(out, "data", mime_bundle_encode(d->bundle));
	fields_put_text(out, "id", d->id);
	fields_put_bool(out, "update", d->update);
	return out;
}

int display_decode(const json_t *json, struct shown_display *ret, struct mime_bundle *ret_bundle, struct fail *f)
{
	struct fields in = { .json = json };
	bool clear = fields_bool(&in, "clear"), update = fields_bool(&in, "update");
	const char *id = fields_text(&in, "id");
	if (fields_check(&in, f) < 0 || bundle_decode(json_object_get(json, "data"), ret_bundle, f) < 0)
		return -1;
	*ret = clear ? (struct shown_display){ .clear = true } :
		       (struct shown_display){ .bundle = ret_bundle, .id = id, .update = update };
	return 0;
}

/* Whether the result has the content of the part. */
static bool part_is_sound(const struct run_result *r, const struct run_part *part, unsigned *once)
{
	switch (part->kind) {
	case PART_STDOUT:
	case PART_STDERR:
	case PART_GAP:
		return true;
	case PART_DISPLAY:
		return part->display < r->n_displays;
	case PART_RESULT:
		return r->result.n && !once[PART_RESULT]++;
	case PART_ERROR:
		return r->error_type && !once[PART_ERROR]++;
	}
	return false;
}

static json_t *parts_encode(const struct run_result *r)
{
	json_t *out = json_array();
	unsigned once[ARRAY_LEN(part_kinds)] = { 0 };
	for (size_t i = 0; i < r->n_parts; i++) {
		if (!part_is_sound(r, &r->parts[i], once))
			continue;
		json_t *part = json_object();
		fields_put_text(part, "kind", part_kinds[r->parts[i].kind]);
		fields_put_text(part, "text", r->parts[i].text);
		fields_put_number(part, "display", r->parts[i].display);
		fields_put_number(part, "bytes", r->parts[i].bytes);
		json_array_append_new(out, part);
	}
	return out;
}

static int parts_decode(const json_t *json, struct run_result *ret, struct fail *f)
{
	unsigned once[ARRAY_LEN(part_kinds)] = { 0 };
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		struct run_part part = {
			.kind = (enum part_kind)fields_choice(&in, "kind", part_kinds, ARRAY_LEN(part_kinds)),
			.display = fields_number(&in, "display", DISPLAYS_MAX),
			.bytes = fields_number(&in, "bytes", UINT64_MAX),
		};
		const char *text = fields_text(&in, "text");
		if (fields_check(&in, f) < 0)
			return -1;
		if (!part_is_sound(ret, &part, once))
			return fail_set(f, FAIL_INVALID, "a result lacks the content of one of its parts");
		if (part.kind == PART_STDOUT || part.kind == PART_STDERR)
			run_result_add_text(ret, part.kind, xstrdup(text ? text : ""));
		else
			run_result_add_part(ret, part);
	}
	return 0;
}

static void put_numbers(json_t *out, const struct run_result *r)
{
	fields_put_number(out, "behind", r->behind);
	fields_put_number(out, "stdout_bytes", r->stdout_bytes);
	fields_put_number(out, "stderr_bytes", r->stderr_bytes);
	fields_put_number(out, "kept_run", r->kept_run);
	if (r->has_exit_code)
		json_object_set_new(out, "exit_code", json_integer(r->exit_code));
	fields_put_number(out, "signal", (uint64_t)MAX(r->signal, 0));
	fields_put_number(out, "duration_ms", r->duration_ms);
	fields_put_number(out, "memory_peak", r->memory_peak);
	fields_put_number(out, "memory_limit", r->memory_limit);
	fields_put_number(out, "memory_files", r->memory_files);
	fields_put_number(out, "oom_kills", r->oom_kills);
	fields_put_bool(out, "queued", r->queued);
	fields_put_bool(out, "password", r->password);
	fields_put_bool(out, "stdout_truncated", r->stdout_truncated);
	fields_put_bool(out, "stderr_truncated", r->stderr_truncated);
	fields_put_bool(out, "kept_whole", r->kept_whole);
	fields_put_bool(out, "kernel_restarted", r->kernel_restarted);
	fields_put_bool(out, "kernel_gone", r->kernel_gone);
}

static json_t *error_encode(const struct run_result *r)
{
	json_t *out = json_object();
	fields_put_text(out, "type", r->error_type);
	fields_put_text(out, "message", r->error_message);
	fields_put_text(out, "traceback", r->error_traceback);
	return out;
}

void run_outcome_encode(json_t *out, const struct run_result *r)
{
	put_numbers(out, r);
	if (r->cause && !json_object_get(out, "cause"))
		fields_put_text(out, "cause", cause_name(r->cause));
	fields_put_text(out, "branch", *r->branch ? r->branch : NULL);
	fields_put_text(out, "prompt", r->prompt);
	if (!json_object_get(out, "detail"))
		fields_put_text(out, "detail", r->detail);
	if (r->error_type)
		json_object_set_new(out, "error", error_encode(r));
	fields_put_text(out, "lost_variables", r->lost);
	if (r->restored)
		json_object_set_new(out, "restored", restored_encode(r->restored));
	fields_put_text(out, "notice", r->notice);
	fields_put_number(out, "displays_dropped", r->displays_dropped);
}

json_t *run_result_encode(const struct run_result *r)
{
	json_t *out = json_object();
	fields_put_text(out, "ending", ending_name(r->ending));
	fields_put_number(out, "run", r->run);
	run_outcome_encode(out, r);
	fields_put_text(out, "stdout", r->stdout_text);
	fields_put_text(out, "stderr", r->stderr_text);
	json_object_set_new(out, "result", mime_bundle_encode(&r->result));
	json_t *displays = json_array();
	uint64_t dropped = r->displays_dropped;
	for (size_t i = 0; i < r->n_displays; i++) {
		json_t *display = deadline_passed() ? json_object() : mime_bundle_encode(&r->displays[i]);
		dropped += r->displays[i].n && !json_object_size(display);
		json_array_append_new(displays,
				      display); /* even an empty one, because parts refer to displays by index */
	}
	fields_put_number(out, "displays_dropped", dropped);
	json_object_set_new(out, "displays", displays);
	json_object_set_new(out, "parts", parts_encode(r));
	return out;
}

static enum ending read_ending(struct fields *in)
{
	const char *names[ENDING_WAITING + 1];
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		names[i] = ending_name((enum ending)i);
	return (enum ending)fields_choice(in, "ending", names, ARRAY_LEN(names));
}

static void read_numbers(struct fields *in, struct run_result *r)
{
	const json_t *exit_code = json_object_get(in->json, "exit_code");
	r->run = fields_number(in, "run", UINT32_MAX);
	r->behind = fields_number(in, "behind", UINT32_MAX);
	r->stdout_bytes = fields_number(in, "stdout_bytes", UINT64_MAX);
	r->stderr_bytes = fields_number(in, "stderr_bytes", UINT64_MAX);
	r->kept_run = (uint32_t)fields_number(in, "kept_run", UINT32_MAX);
	r->displays_dropped = fields_number(in, "displays_dropped", UINT64_MAX);
	r->has_exit_code = json_is_integer(exit_code);
	json_int_t code = json_integer_value(exit_code);
	r->exit_code = (int)MAX(MIN(code, (json_int_t)INT32_MAX), (json_int_t)INT32_MIN);
	r->signal = (int)fields_number(in, "signal", 255);
	r->duration_ms = fields_number(in, "duration_ms", UINT64_MAX);
	r->memory_peak = fields_number(in, "memory_peak", UINT64_MAX);
	r->memory_limit = fields_number(in, "memory_limit", UINT64_MAX);
	r->memory_files = fields_number(in, "memory_files", UINT64_MAX);
	r->oom_kills = fields_number(in, "oom_kills", UINT64_MAX);
	r->queued = fields_bool(in, "queued");
	r->password = fields_bool(in, "password");
	r->stdout_truncated = fields_bool(in, "stdout_truncated");
	r->stderr_truncated = fields_bool(in, "stderr_truncated");
	r->kept_whole = fields_bool(in, "kept_whole");
	r->kernel_restarted = fields_bool(in, "kernel_restarted");
	r->kernel_gone = fields_bool(in, "kernel_gone");
}

static void read_texts(struct fields *in, struct run_result *r)
{
	const char *cause = fields_text(in, "cause");
	r->cause = cause ? cause_find(cause) : CAUSE_NONE;
	const char *branch = fields_text(in, "branch");
	if (branch)
		memcpy(r->branch, branch, strnlen(branch, BRANCH_NAME_MAX));
	r->prompt = fields_copy(in, "prompt");
	if (r->ending == ENDING_WAITING && !r->prompt)
		r->prompt = xstrdup("");
	r->detail = fields_copy(in, "detail");
	r->stdout_text = fields_copy_or_empty(in, "stdout");
	r->stderr_text = fields_copy_or_empty(in, "stderr");
	struct fields error = { .json = fields_object(in, "error") };
	r->error_type = fields_copy(&error, "type");
	r->error_message = fields_copy(&error, "message");
	r->error_traceback = fields_copy(&error, "traceback");
	if (error.bad)
		in->bad = error.bad;
	r->lost = fields_copy(in, "lost_variables");
	struct fields restored = { 0 };
	r->restored = restored_decode(fields_object(in, "restored"), &restored);
	if (restored.bad)
		in->bad = restored.bad;
	r->notice = fields_copy(in, "notice");
}

int run_result_decode(const json_t *json, struct run_result *ret, struct fail *f)
{
	struct fields in = { .json = json };
	ret->ending = read_ending(&in);
	read_numbers(&in, ret);
	read_texts(&in, ret);
	const json_t *displays = fields_list(&in, "displays", DISPLAYS_MAX),
		     *parts = fields_list(&in, "parts", PARTS_MAX);
	if (fields_check(&in, f) < 0 || bundle_decode(json_object_get(json, "result"), &ret->result, f) < 0)
		return -1;
	ret->displays = xcalloc(json_array_size(displays) + 1, sizeof(*ret->displays));
	for (size_t i = 0; i < json_array_size(displays); i++) {
		ret->n_displays++;
		if (bundle_decode(json_array_get(displays, i), &ret->displays[i], f) < 0)
			return -1;
	}
	return parts_decode(parts, ret, f);
}
