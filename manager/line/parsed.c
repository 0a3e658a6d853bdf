#include "manager/line/parsed.h"

#include <ctype.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/outline.h"
#include "base/screen.h"
#include "base/shape.h"
#include "base/span.h"
#include "manager/line/run-output.h"
#include "manager/model/token.h"

#define MIME_TYPE_MAX 128
#define BUNDLE_PARTS_MAX 32
#define ERROR_TYPE_CHARS 200
/* A string is cut before it is cleaned if it exceeds this size and has more than CUT_FIRST_FACTOR bytes for each
 * character to keep. */
#define CUT_FIRST_BYTES (64u << 10)
#define CUT_FIRST_FACTOR 16
/* Limits for parsing on the loop. A value costs about 100 ns, a member of an object 800 ns. */
#define LIGHT_BYTES (64u << 10)
#define LIGHT_VALUES 2000u
/* Limit for the values in a message after its trees and long strings were taken out. Kernels send a few dozen.
 * Larger messages are not shown, because the parser cannot be stopped early and takes 0.8 s and 110 MB for a
 * million members. */
#define VALUES_MAX 10000u

static char mark[TOKEN_SIZE]; /* secret, random for each process */

void parsed_init(void)
{
	if (!*mark)
		token_make(mark);
}

void parsed_release(struct parsed *p)
{
	free(p->id);
	free(p->error_type);
	free(p->error_message);
	free(p->error_traceback);
	mime_bundle_release(&p->bundle);
	*p = (struct parsed){ 0 };
}

bool parsed_is_light(const struct wire_frame *frame)
{
	if (frame->n > LIGHT_BYTES)
		return false;
	struct shape shape = shape_of(frame->payload, frame->n);
	return shape.containers + shape.values <= LIGHT_VALUES;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* Moves back to the start of a character; the text is valid UTF-8. */
static size_t boundary(const char *s, size_t at)
{
	while (at > 0 && ((uint8_t)s[at] & 0xc0) == 0x80)
		at--;
	return at;
}

char *parsed_text(const char *s, size_t n, uint64_t max_chars)
{
	AUTO(buf_release) struct buf head = { 0 }, tail = { 0 };
	uint64_t room = CUT_FIRST_BYTES + CUT_FIRST_FACTOR * MIN(max_chars, (uint64_t)n);
	bool cut;
	if (!max_chars || n <= room) {
		screen_text(&head, s, n);
		return run_output_cut(buf_str(&head), head.len, max_chars);
	}
	size_t first = boundary(s, (size_t)room / 2), last = boundary(s, n - (size_t)room / 2);
	screen_text(&head, s, first);
	screen_text(&tail, s + last, n - last);
	return run_output_text(&head, &tail, n, /* gap= */ true, max_chars, &cut);
}

static char *text_field(json_t *object, const char *name, uint64_t max_chars)
{
	json_t *value = json_object_get(object, name);
	if (!json_is_string(value))
		return NULL;
	return parsed_text(json_string_value(value), json_string_length(value), max_chars);
}

/* --- lists and objects in bundles -------------------------------------------------------------------------------- */

/* Objects and lists in a bundle. They are checked but not parsed into a tree, and passed on unchanged. */
struct trees {
	struct buf text; /* the message with each tree replaced by a mark, or by null if nobody reads it */
	bool reduced;
	struct {
		const char *at;
		size_t len;
	} v[BUNDLE_PARTS_MAX];
	size_t n;
};

static void trees_release(struct trees *t)
{
	buf_release(&t->text);
}

/* Position in the message. */
struct reading {
	const uint8_t *s;
	size_t n, at, kept; /* bytes before `kept` are already in the text */
};

static void skip_space(struct reading *r)
{
	r->at += span_space(r->s + r->at, r->n - r->at);
}

static bool skip_byte(struct reading *r, char byte)
{
	skip_space(r);
	if (r->at >= r->n || r->s[r->at] != (uint8_t)byte)
		return false;
	r->at++;
	skip_space(r);
	return true;
}

static void leave_out(struct trees *t, struct reading *r, size_t length, bool in_data)
{
	t->reduced = true;
	buf_add(&t->text, r->s + r->kept, r->at - r->kept);
	r->kept = r->at + length;
	if (!in_data || t->n == ARRAY_LEN(t->v)) {
		buf_add_str(&t->text, "null");
		return;
	}
	buf_printf(&t->text, "\"%sc%zu\"", mark, t->n);
	t->v[t->n].at = (const char *)r->s + r->at;
	t->v[t->n++].len = length;
}

/* Reads the members of the message, or (in_data) of its bundle. */
static bool read_members(struct trees *t, struct reading *r, bool in_data)
{
	static const char data[] = "\"data\"";
	if (!skip_byte(r, '{'))
		return false;
	if (skip_byte(r, '}'))
		return true;
	do {
		size_t name = span_string(r->s + r->at, r->n - r->at);
		bool is_data = name == strlen(data) && memcmp(r->s + r->at, data, name) == 0;
		r->at += name;
		if (!name || !skip_byte(r, ':') || r->at >= r->n)
			return false;
		if (!in_data && is_data && r->s[r->at] == '{') {
			if (!read_members(t, r, /* in_data= */ true))
				return false;
			continue;
		}
		size_t length = span_value(r->s + r->at, r->n - r->at);
		bool tree = r->s[r->at] == '{' || r->s[r->at] == '[';
		if (!length)
			return false;
		if (tree)
			leave_out(t, r, length, in_data);
		r->at += length;
	} while (skip_byte(r, ','));
	return skip_byte(r, '}');
}

/* False if there is nothing to leave out or the message is not plain JSON. The parser then gets the whole
 * message. */
static bool trees_make(struct trees *t, const struct wire_frame *frame)
{
	struct reading r = { .s = frame->payload, .n = frame->n };
	if (!read_members(t, &r, /* in_data= */ false) || r.at != r.n || !t->reduced)
		return false;
	buf_add(&t->text, r.s + r.kept, r.n - r.kept);
	return true;
}

/* The index of the tree that the value is a mark for; SIZE_MAX if the value is a plain string. */
static size_t trees_find(const struct trees *t, const char *value)
{
	size_t length = strlen(mark);
	if (!t->n || strncmp(value, mark, length) != 0 || value[length] != 'c')
		return SIZE_MAX;
	size_t i = strtoul(value + length + 1, NULL, 10);
	return i < t->n ? i : SIZE_MAX;
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

/* max_chars: 0 = no limit. False if the value does not fit its type. */
static char *printed(const json_t *value)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, value);
	return buf_steal_str(&text);
}

static bool read_part(const struct trees *t, const struct outline *o, const char *type, json_t *value,
		      uint64_t max_chars, struct mime_part *ret)
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
	size_t tree = text ? trees_find(t, text) : SIZE_MAX;
	if (tree != SIZE_MAX)
		data = strstr(type, "json") ? xstrndup(t->v[tree].at, t->v[tree].len) : NULL;
	else if (text && is_text_type(type))
		data = parsed_text(text, n, max_chars);
	else if (text && is_base64(text, n))
		data = xstrndup(text, n);
	else if (!json_is_string(value) && strstr(type, "json"))
		data = printed(value);
	if (!data)
		return false;
	*ret = (struct mime_part){ .type = xstrdup(type), .data = data, .len = strlen(data) };
	for (char *p = ret->type; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return true;
}

static void read_bundle(const struct trees *t, const struct outline *o, json_t *data, uint64_t max_chars,
			struct mime_bundle *ret)
{
	const char *type;
	json_t *value;
	*ret = (struct mime_bundle){ 0 };
	json_object_foreach(data, type, value) {
		struct mime_part part;
		if (ret->n == BUNDLE_PARTS_MAX || !read_part(t, o, type, value, max_chars, &part))
			continue;
		ret->parts = xrealloc(ret->parts, (ret->n + 1) * sizeof(*ret->parts));
		ret->parts[ret->n++] = part;
	}
}

static bool has_picture(json_t *data)
{
	const char *type;
	json_t *value;
	json_object_foreach(data, type, value)
		if (strncmp(type, "image/", 6) == 0 && !streq(type, "image/svg+xml"))
			return true;
	return false;
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static json_t *load_text(const uint8_t *text, size_t n)
{
	struct shape shape = shape_of(text, n);
	if (shape.values + shape.containers > VALUES_MAX)
		return json_object();
	return json_parse(text, n, JSON_REJECT_DUPLICATES);
}

/* True if only direct values of the bundle were replaced by marks, which is all that read_part() can resolve. */
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

/* Parses the bundle without its long strings, such as pictures; the outline holds them. NULL if it is not JSON. */
static json_t *load(const struct wire_frame *whole, struct trees *t, struct outline *o)
{
	struct wire_frame reduced = *whole;
	const struct wire_frame *frame = whole;
	o->mark = "";
	if (frame->n < OUTLINE_MIN || (frame->type != FRAME_DISPLAY && frame->type != FRAME_RESULT))
		return load_text(frame->payload, frame->n);
	if (trees_make(t, frame)) {
		reduced.payload = t->text.data;
		reduced.n = t->text.len;
		frame = &reduced;
	} else {
		t->n = 0;
	}
	outline_make(o, frame->payload, frame->n, OUTLINE_MIN, mark);
	json_t *payload = load_text(o->text.data, o->text.len);
	if (!payload || is_flat(payload))
		return payload;
	json_decref(payload);
	outline_release(o);
	o->mark = "";
	return load_text(frame->payload, frame->n);
}

void parsed_read(struct parsed *ret, const struct wire_frame *frame, const struct config *config)
{
	AUTO(outline_release) struct outline outline = { 0 };
	AUTO(trees_release) struct trees trees = { 0 };
	json_auto_t *payload = load(frame, &trees, &outline);
	json_t *data = json_object_get(payload, "data");
	*ret = (struct parsed){ .valid = json_is_object(payload) };
	if (!ret->valid)
		return;
	if (frame->type == FRAME_ERROR) {
		ret->error_type = text_field(payload, "type", ERROR_TYPE_CHARS);
		ret->error_message = text_field(payload, "message", config->max_traceback_chars);
		ret->error_traceback = text_field(payload, "traceback", config->max_traceback_chars);
		if (!ret->error_type)
			ret->error_type = xstrdup("Error");
		return;
	}
	const char *id = json_string_value(json_object_get(payload, "display_id"));
	ret->id = id ? xstrdup(id) : NULL;
	ret->update = id && json_is_true(json_object_get(payload, "update"));
	ret->clear = json_is_true(json_object_get(payload, "clear"));
	ret->picture = has_picture(data);
	if (!ret->clear)
		read_bundle(&trees, &outline, data, frame->type == FRAME_RESULT ? config->max_result_chars : 0,
			    &ret->bundle);
}
