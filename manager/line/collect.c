#include "manager/line/collect.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/outline.h"
#include "base/screen.h"
#include "manager/line/parts.h"
#include "manager/model/token.h"

/* Displays of a run, with those that have given way. */
#define PLACES_MAX (10 * CALL_DISPLAYS_MAX)
#define MIME_TYPE_MAX 128
#define BUNDLE_PARTS_MAX 32
#define ERROR_TYPE_CHARS 200
#define DETAIL_CHARS 1000
#define LOST_CHARS 100
#define BYTES_PER_CHAR 4

struct collect {
	const struct config *config;
	struct parts live, tail;
	struct run_result partial; /* displays, result, error; the texts come at the end */
	struct shown {		   /* beside partial.displays */
		char *id;	   /* NULL = none */
		size_t bytes;
		bool update; /* of one that is not there */
		bool gone;   /* what came first: it had to go */
	} * shown;
	size_t display_bytes;
	size_t emptied;		/* of partial.displays: what was there had to go */
	uint64_t displays_over; /* dropped by us */
	json_t *end;
	uint32_t call; /* its number */
	bool raw;
	struct last_display { /* what the last of them did */
		bool cleared, update;
		size_t at; /* SIZE_MAX = nothing */
	} last;
};

static uint64_t byte_limit(uint64_t chars)
{
	uint64_t bytes = chars ? chars * BYTES_PER_CHAR : OUTPUT_LIMIT_MAX;
	return MIN(bytes, OUTPUT_LIMIT_MAX);
}

uint64_t collect_stdout_limit(const struct config *config)
{
	return byte_limit(config->max_stdout_chars);
}

uint64_t collect_stderr_limit(const struct config *config)
{
	return byte_limit(config->max_stderr_chars);
}

uint64_t collect_keep_over(const struct config *config)
{
	const uint64_t limits[] = { config->max_stdout_chars, config->max_stderr_chars, config->max_result_chars,
				    config->max_traceback_chars };
	/* Labels and notes take their part of an answer. */
	uint64_t chars = config->max_answer_chars / 4 * 3;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i])
			chars = MIN(chars, limits[i]);
	return chars;
}

struct collect *collect_new(const struct config *config)
{
	struct collect *c = new0(struct collect);
	c->config = config;
	c->last.at = SIZE_MAX;
	return c;
}

/* Everything that has come so far is void. */
static void clear(struct collect *c)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		free(c->shown[i].id);
	free(c->shown);
	run_result_release(&c->partial);
	parts_release(&c->live);
	parts_release(&c->tail);
	json_decref(c->end);
	*c = (struct collect){ .config = c->config, .raw = c->raw, .last = { .at = SIZE_MAX } };
}

void collect_set_raw(struct collect *c)
{
	c->raw = true;
}

struct collect *collect_free(struct collect *c)
{
	if (c) {
		clear(c);
		free(c);
	}
	return NULL;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* Text from JSON: valid UTF-8 already; controls and escapes still go. */
static char *cut_string(const char *s, size_t n, uint64_t max_chars)
{
	AUTO(buf_release) struct buf clean = { 0 };
	screen_text(&clean, s, n);
	return parts_cut(buf_str(&clean), clean.len, max_chars);
}

static char *string_field(json_t *object, const char *name, uint64_t max_chars)
{
	json_t *value = json_object_get(object, name);
	if (!json_is_string(value))
		return NULL;
	return cut_string(json_string_value(value), json_string_length(value), max_chars);
}

/* --- MIME bundles ------------------------------------------------------------------------------------------------ */

static bool is_mime_type(const char *type)
{
	size_t n = strlen(type);
	if (n == 0 || n > MIME_TYPE_MAX || !strchr(type, '/'))
		return false;
	for (; *type; type++)
		if (!isalnum((unsigned char)*type) && !strchr("/.+-_;=", *type))
			return false;
	return true;
}

static bool is_text_type(const char *type)
{
	return strncmp(type, "text/", 5) == 0 || strstr(type, "json") || strstr(type, "xml") ||
	       strstr(type, "javascript");
}

static bool is_base64(const char *s, size_t n)
{
	if (base64_is_strict(s, n))
		return true;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '+' && s[i] != '/' && s[i] != '=' && s[i] != '\n')
			return false;
	return true;
}

/* max_chars: 0 = whole. False if the value cannot be of its type. */
static bool read_part(const struct outline *o, const char *type, json_t *value, uint64_t max_chars,
		      struct mime_part *ret)
{
	char *data = NULL;
	if (!is_mime_type(type))
		return false;
	const char *text = json_string_value(value);
	size_t n = json_string_length(value);
	const struct outline_string *whole = text ? outline_find(o, text) : NULL;
	if (whole) {
		text = whole->at;
		n = whole->len;
	}
	if (text && is_text_type(type))
		data = cut_string(text, n, max_chars);
	else if (text && is_base64(text, n))
		data = xstrndup(text, n);
	else if (!json_is_string(value) && strstr(type, "json"))
		data = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!data)
		return false;
	*ret = (struct mime_part){ .type = xstrdup(type), .data = data, .len = strlen(data) };
	for (char *p = ret->type; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return true;
}

static void read_bundle(const struct outline *o, json_t *data, uint64_t max_chars, struct mime_bundle *ret)
{
	const char *type;
	json_t *value;
	*ret = (struct mime_bundle){ 0 };
	json_object_foreach(data, type, value) {
		struct mime_part part;
		if (ret->n == BUNDLE_PARTS_MAX || !read_part(o, type, value, max_chars, &part))
			continue;
		ret->parts = xrealloc(ret->parts, (ret->n + 1) * sizeof(*ret->parts));
		ret->parts[ret->n++] = part;
	}
}

static size_t find_display(const struct collect *c, const char *id)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		if (c->shown[i].id && streq(c->shown[i].id, id))
			return i;
	return SIZE_MAX;
}

static size_t new_display(struct collect *c, const char *id, bool update)
{
	struct run_result *r = &c->partial;
	size_t at = r->n_displays++;
	r->displays = xrealloc(r->displays, r->n_displays * sizeof(*r->displays));
	c->shown = xrealloc(c->shown, r->n_displays * sizeof(*c->shown));
	c->shown[at] = (struct shown){ .id = id ? xstrdup(id) : NULL, .update = id && update };
	r->displays[at] = (struct mime_bundle){ 0 };
	parts_add_display(&c->live, at, update);
	return at;
}

static bool is_picture_type(const char *type)
{
	return strncmp(type, "image/", 6) == 0 && !streq(type, "image/svg+xml");
}

/* Of too many pictures the last are kept: the oldest goes, and its place stays empty. */
static bool drop_picture(struct collect *c)
{
	for (size_t i = 0; i < c->partial.n_displays; i++) {
		struct mime_bundle *b = &c->partial.displays[i];
		for (size_t k = 0; k < b->n; k++) {
			if (!is_picture_type(b->parts[k].type))
				continue;
			mime_bundle_release(b);
			*b = (struct mime_bundle){ 0 };
			c->display_bytes -= c->shown[i].bytes;
			c->shown[i].bytes = 0;
			c->shown[i].gone = true;
			c->emptied++;
			return true;
		}
	}
	return false;
}

static bool has_room(const struct collect *c, size_t at, size_t bytes)
{
	size_t before = at == SIZE_MAX ? 0 : c->shown[at].bytes, n = c->partial.n_displays;
	return c->display_bytes - before + bytes <= CALL_DISPLAY_BYTES_MAX &&
	       (at != SIZE_MAX || (n - c->emptied < CALL_DISPLAYS_MAX && n < PLACES_MAX));
}

static bool make_room(struct collect *c, json_t *data, size_t at, size_t bytes)
{
	const char *type;
	json_t *value;
	bool picture = false;
	json_object_foreach(data, type, value)
		picture |= is_picture_type(type);
	while (!has_room(c, at, bytes)) {
		c->displays_over++;
		if (!picture || !drop_picture(c))
			return false;
	}
	return true;
}

static void add_display(struct collect *c, const struct outline *o, json_t *display, size_t bytes)
{
	const char *id = json_string_value(json_object_get(display, "display_id"));
	bool update = json_is_true(json_object_get(display, "update"));
	size_t at = id && update ? find_display(c, id) : SIZE_MAX;
	c->last = (struct last_display){ .at = SIZE_MAX, .update = update && id };
	if (json_is_true(json_object_get(display, "clear"))) {
		clear(c);
		c->last.cleared = true;
		return;
	}
	if (!make_room(c, json_object_get(display, "data"), at, bytes))
		return;
	if (at == SIZE_MAX)
		at = new_display(c, id, update);
	c->display_bytes += bytes - c->shown[at].bytes;
	c->shown[at].bytes = bytes;
	mime_bundle_release(&c->partial.displays[at]);
	read_bundle(o, json_object_get(display, "data"), 0, &c->partial.displays[at]);
	c->last.at = at;
}

bool collect_shown(const struct collect *c, struct shown_display *ret)
{
	const struct last_display *last = &c->last;
	bool shows = last->at < c->partial.n_displays;
	if (!last->cleared && !shows)
		return false;
	*ret = (struct shown_display){ .clear = last->cleared };
	if (shows)
		*ret = (struct shown_display){ .bundle = &c->partial.displays[last->at],
					       .id = c->shown[last->at].id,
					       .update = last->update };
	return true;
}

size_t collect_displays(const struct collect *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->partial.n_displays; i++)
		n += !c->shown[i].update && !c->shown[i].gone;
	return n;
}

void collect_show(const struct collect *c, const struct collect_viewer *v)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct piece *piece = &c->live.v[i];
		if (piece->kind == PART_STDOUT || piece->kind == PART_STDERR)
			v->on_output(v->ctx, piece->kind == PART_STDOUT ? 1 : 2, piece->bytes.data, piece->bytes.len);
		else if (piece->kind == PART_DISPLAY)
			v->on_display(v->ctx, &(struct shown_display){ .bundle = &c->partial.displays[piece->display],
								       .id = c->shown[piece->display].id });
	}
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static json_t *load_whole(const struct wire_frame *frame)
{
	return wire_json_is_modest(frame->payload, frame->n) ?
		       json_loadb((const char *)frame->payload, frame->n, JSON_REJECT_DUPLICATES, NULL) :
		       NULL;
}

/* Of a bundle, only the values themselves may be left out. */
static bool is_flat(const json_t *payload)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)payload, name, value)
		if (json_is_string(value) && json_string_length(value) >= TOKEN_SIZE)
			return false;
	json_object_foreach(json_object_get(payload, "data"), name, value)
		if (json_is_object(value) || json_is_array(value))
			return false;
	return true;
}

/* A bundle comes without its long strings, which the outline has: a picture is not parsed. NULL if it is not JSON. */
static json_t *load(const struct wire_frame *frame, struct outline *o)
{
	static char mark[TOKEN_SIZE]; /* of this process, and nobody else's to know */
	o->mark = "";
	if (frame->n < OUTLINE_MIN || (frame->type != FRAME_DISPLAY && frame->type != FRAME_RESULT))
		return load_whole(frame);
	if (!*mark)
		token_make(mark);
	outline_make(o, frame->payload, frame->n, OUTLINE_MIN, mark);
	json_t *payload = wire_json_is_modest(o->text.data, o->text.len) ?
				  json_loadb((const char *)o->text.data, o->text.len, JSON_REJECT_DUPLICATES, NULL) :
				  NULL;
	if (!payload || is_flat(payload))
		return payload;
	json_decref(payload);
	outline_release(o);
	o->mark = "";
	return load_whole(frame);
}

static int on_json_frame(struct collect *c, const struct wire_frame *frame)
{
	AUTO(outline_release) struct outline outline = { 0 };
	json_auto_t *payload = load(frame, &outline);
	struct run_result *r = &c->partial;
	if (!json_is_object(payload))
		return -EPROTO;
	switch (frame->type) {
	case FRAME_DISPLAY:
		add_display(c, &outline, payload, frame->n);
		return 0;
	case FRAME_RESULT:
		if (!r->result.n)
			parts_add(&c->live, PART_RESULT, NULL, 0);
		mime_bundle_release(&r->result);
		read_bundle(&outline, json_object_get(payload, "data"), c->config->max_result_chars, &r->result);
		return 0;
	case FRAME_ERROR:
		if (!r->error_type)
			parts_add(&c->live, PART_ERROR, NULL, 0);
		free(r->error_type);
		free(r->error_message);
		free(r->error_traceback);
		r->error_type = string_field(payload, "type", ERROR_TYPE_CHARS);
		r->error_message = string_field(payload, "message", c->config->max_traceback_chars);
		r->error_traceback = string_field(payload, "traceback", c->config->max_traceback_chars);
		if (!r->error_type)
			r->error_type = xstrdup("Error");
		return 0;
	default:
		c->end = json_incref(payload);
		return 1;
	}
}

/* PID 1 shares one ring among the streams, so either of them may have all of it. */
static uint64_t tail_limit(const struct collect *c)
{
	return collect_stdout_limit(c->config) + collect_stderr_limit(c->config);
}

static int on_output(struct parts *p, enum part_kind stream, const struct wire_frame *frame, uint64_t limit)
{
	if (frame->n > limit - p->bytes[stream])
		return -EPROTO;
	parts_add(p, stream, frame->payload, frame->n);
	return 0;
}

/* Without content it is the place of something that was sent before. */
static int on_tail(struct collect *c, enum part_kind stream, const struct wire_frame *frame)
{
	if (frame->n)
		return on_output(&c->tail, stream, frame, tail_limit(c));
	parts_add(&c->tail, PART_GAP, NULL, 0);
	return 0;
}

int collect_frame(struct collect *c, const struct wire_frame *frame)
{
	if (c->end)
		return -EPROTO;
	c->call = frame->call;
	switch (frame->type) {
	case FRAME_OUT:
		return on_output(&c->live, PART_STDOUT, frame, collect_stdout_limit(c->config));
	case FRAME_ERR:
		return on_output(&c->live, PART_STDERR, frame, collect_stderr_limit(c->config));
	case FRAME_OUT_TAIL:
		return on_tail(c, PART_STDOUT, frame);
	case FRAME_ERR_TAIL:
		return on_tail(c, PART_STDERR, frame);
	case FRAME_CALL:
		clear(c);
		return 0;
	case FRAME_PROGRESS:
		return 0;
	case FRAME_DISPLAY:
	case FRAME_RESULT:
	case FRAME_ERROR:
	case FRAME_END:
		return on_json_frame(c, frame);
	default:
		return -EPROTO;
	}
}

bool collect_refused(const struct collect *c)
{
	const char *ending = json_string_value(json_object_get(c->end, "ending"));
	return ending && streq(ending, "refused");
}

static enum ending read_ending(const char *name)
{
	for (int i = ENDING_OK; name && i <= ENDING_KERNEL_DIED; i++)
		if (streq(name, ending_name((enum ending)i)))
			return (enum ending)i;
	return ENDING_KERNEL_DIED;
}

static uint64_t number_field(json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));
	return value > 0 ? (uint64_t)value : 0;
}

/* "df (pandas.DataFrame), x (int)"; NULL for none. */
static char *lost_names(const json_t *list)
{
	struct buf names = { 0 };
	size_t n = MIN(json_array_size(list), (size_t)VARIABLES_MAX);
	for (size_t i = 0; i < n; i++) {
		json_t *one = json_array_get(list, i);
		AUTO(freep) char *name = string_field(one, "name", LOST_CHARS),
				 *type = string_field(one, "type", LOST_CHARS);
		if (name && type)
			buf_printf(&names, "%s%s (%s)", names.len ? ", " : "", name, type);
	}
	return names.len ? buf_steal_str(&names) : NULL;
}

static void read_end(struct collect *c, struct run_result *r)
{
	json_t *end = c->end, *code = json_object_get(end, "exit_code");
	const char *kernel = json_string_value(json_object_get(end, "kernel"));
	r->ending = read_ending(json_string_value(json_object_get(end, "ending")));
	r->detail = string_field(end, "detail", DETAIL_CHARS);
	const char *cause = json_string_value(json_object_get(end, "cause"));
	r->cause = cause ? cause_find(cause) : CAUSE_NONE;
	r->has_exit_code = json_is_integer(code);
	r->exit_code = (int)(json_integer_value(code) & 0xffff);
	r->signal = (int)(number_field(end, "signal") & 0x7f);
	r->duration_ms = number_field(end, "duration_ms");
	r->memory_peak = number_field(end, "memory_peak");
	r->memory_limit = number_field(end, "memory_limit");
	r->memory_files = number_field(end, "memory_files");
	r->oom_kills = number_field(end, "oom_kills");
	r->kernel_restarted = kernel && !streq(kernel, "kept");
	r->kernel_gone = kernel && streq(kernel, "gone");
	r->displays_dropped = number_field(end, "displays_dropped");
	r->stdout_bytes = number_field(end, "stdout_bytes");
	r->stderr_bytes = number_field(end, "stderr_bytes");
	r->behind = number_field(end, "behind");
	r->lost = lost_names(json_object_get(end, "lost"));
	json_t *kept = json_object_get(end, "kept");
	r->kept_run = json_is_object(kept) ? c->call : 0;
	r->kept_whole = json_is_true(json_object_get(kept, "whole"));
}

void collect_mark(struct collect *c, const struct wire_mark *mark)
{
	c->partial.duration_ms = mark->duration_ms;
	c->partial.stdout_bytes = mark->stdout_bytes;
	c->partial.stderr_bytes = mark->stderr_bytes;
	c->partial.displays_dropped = mark->displays_dropped;
}

void collect_finish(struct collect *c, struct run_result *ret)
{
	*ret = c->partial;
	c->partial = (struct run_result){ 0 };
	for (size_t i = 0; i < ret->n_displays; i++)
		free(c->shown[i].id);
	free(take_ptr(c->shown));
	if (c->end)
		read_end(c, ret);
	ret->displays_dropped = MAX(ret->displays_dropped, c->displays_over); /* PID 1 drops the same */
	ret->stdout_bytes = MAX(ret->stdout_bytes, c->live.bytes[0] + c->tail.bytes[0]);
	ret->stderr_bytes = MAX(ret->stderr_bytes, c->live.bytes[1] + c->tail.bytes[1]);
	if (c->raw)
		parts_join(&c->live, &c->tail, ret->stdout_bytes, ret);
	const struct stream_limit limits[] = { { c->raw ? 0 : ret->stdout_bytes, c->config->max_stdout_chars },
					       { ret->stderr_bytes, c->config->max_stderr_chars } };
	parts_finish(&c->live, &c->tail, limits, ret);
	clear(c);
}
