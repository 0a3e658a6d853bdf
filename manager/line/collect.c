#include "manager/line/collect.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define MIME_TYPE_MAX 128
#define BUNDLE_PARTS_MAX 32
#define ERROR_TYPE_CHARS 200
#define DETAIL_CHARS 1000
#define BYTES_PER_CHAR 4

struct collect {
	const struct config *config;
	struct buf out, err, out_tail, err_tail;
	struct run_result partial; /* displays, result, error; the texts come at the end */
	char **display_ids;	   /* beside partial.displays; NULL where none */
	size_t display_bytes;
	uint64_t displays_over; /* dropped by us */
	json_t *end;
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

static void set_limits(struct collect *c)
{
	c->out.max = c->out_tail.max = collect_stdout_limit(c->config);
	c->err.max = c->err_tail.max = collect_stderr_limit(c->config);
}

struct collect *collect_new(const struct config *config)
{
	struct collect *c = new0(struct collect);
	c->config = config;
	set_limits(c);
	return c;
}

static void clear(struct collect *c)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		free(c->display_ids[i]);
	free(c->display_ids);
	run_result_release(&c->partial);
	buf_release(&c->out);
	buf_release(&c->err);
	buf_release(&c->out_tail);
	buf_release(&c->err_tail);
	json_decref(c->end);
	*c = (struct collect){ .config = c->config };
	set_limits(c);
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

static void append_cut(struct buf *text, const char *head, size_t head_len, const char *tail, size_t tail_len,
		       const char *total, uint64_t max_chars)
{
	size_t first = (size_t)(max_chars - max_chars / 2), last = (size_t)(max_chars / 2);
	size_t head_bytes = utf8_head(head, head_len, first), tail_bytes = utf8_tail(tail, tail_len, last);
	buf_add(text, head, head_bytes);
	buf_printf(text, "\n\n... [truncated — %s total, showing the first %zu and the last %zu characters] ...\n\n",
		   total, utf8_count(head, head_bytes), utf8_count(tail + tail_len - tail_bytes, tail_bytes));
	buf_add(text, tail + tail_len - tail_bytes, tail_bytes);
}

char *collect_text(const struct buf *head, const struct buf *tail, uint64_t total, uint64_t max_chars, bool *ret_cut)
{
	AUTO(buf_release) struct buf first = { 0 }, last = { 0 }, text = { 0 }, joined = { 0 };
	bool gap = total > head->len + tail->len;
	if (!max_chars)
		max_chars = UINT64_MAX / 2;
	*ret_cut = gap;
	if (!gap) {
		buf_add(&joined, head->data, head->len);
		buf_add(&joined, tail->data, tail->len);
		utf8_clean(&first, joined.data, joined.len);
		if (utf8_count(buf_str(&first), first.len) <= max_chars)
			return buf_steal_str(&first);
		*ret_cut = true;
	}
	AUTO(freep) char *size = xasprintf("%llu bytes", (unsigned long long)total);
	if (!gap) {
		append_cut(&text, buf_str(&first), first.len, buf_str(&first), first.len, size, max_chars);
		return buf_steal_str(&text);
	}
	size_t skip = utf8_partial_start(tail->data, tail->len);
	utf8_clean(&first, head->data, head->len - utf8_partial_end(head->data, head->len));
	if (tail->len)
		utf8_clean(&last, tail->data + skip, tail->len - skip);
	append_cut(&text, buf_str(&first), first.len, buf_str(&last), last.len, size, max_chars);
	return buf_steal_str(&text);
}

/* Text from JSON: valid UTF-8 already; controls and escapes still go. */
static char *cut_string(const char *s, size_t n, uint64_t max_chars)
{
	AUTO(buf_release) struct buf clean = { 0 }, text = { 0 };
	utf8_clean(&clean, s, n);
	size_t chars = utf8_count(buf_str(&clean), clean.len);
	if (!max_chars || chars <= max_chars)
		return buf_steal_str(&clean);
	AUTO(freep) char *size = xasprintf("%zu chars", chars);
	append_cut(&text, buf_str(&clean), clean.len, buf_str(&clean), clean.len, size, max_chars);
	return buf_steal_str(&text);
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
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '+' && s[i] != '/' && s[i] != '=' && s[i] != '\n')
			return false;
	return true;
}

/* max_chars: 0 = whole. False if the value cannot be of its type. */
static bool read_part(const char *type, json_t *value, uint64_t max_chars, struct mime_part *ret)
{
	char *data = NULL;
	if (!is_mime_type(type))
		return false;
	if (json_is_string(value) && is_text_type(type))
		data = cut_string(json_string_value(value), json_string_length(value), max_chars);
	else if (json_is_string(value) && is_base64(json_string_value(value), json_string_length(value)))
		data = xstrdup(json_string_value(value));
	else if (!json_is_string(value) && strstr(type, "json"))
		data = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!data)
		return false;
	*ret = (struct mime_part){ .type = xstrdup(type), .data = data, .len = strlen(data) };
	for (char *p = ret->type; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return true;
}

static void read_bundle(json_t *data, uint64_t max_chars, struct mime_bundle *ret)
{
	const char *type;
	json_t *value;
	*ret = (struct mime_bundle){ 0 };
	json_object_foreach(data, type, value) {
		struct mime_part part;
		if (ret->n == BUNDLE_PARTS_MAX || !read_part(type, value, max_chars, &part))
			continue;
		ret->parts = xrealloc(ret->parts, (ret->n + 1) * sizeof(*ret->parts));
		ret->parts[ret->n++] = part;
	}
}

static size_t find_display(const struct collect *c, const char *id)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		if (c->display_ids[i] && streq(c->display_ids[i], id))
			return i;
	return SIZE_MAX;
}

static void add_display(struct collect *c, json_t *display, size_t bytes)
{
	const char *id = json_string_value(json_object_get(display, "display_id"));
	bool update = json_is_true(json_object_get(display, "update"));
	size_t at = id && update ? find_display(c, id) : SIZE_MAX;
	c->display_bytes += bytes;
	if (c->display_bytes > CALL_DISPLAY_BYTES_MAX ||
	    (at == SIZE_MAX && c->partial.n_displays >= CALL_DISPLAYS_MAX)) {
		c->displays_over++;
		return;
	}
	if (at == SIZE_MAX) {
		at = c->partial.n_displays++;
		c->partial.displays =
			xrealloc(c->partial.displays, c->partial.n_displays * sizeof(*c->partial.displays));
		c->display_ids = xrealloc(c->display_ids, c->partial.n_displays * sizeof(*c->display_ids));
		c->display_ids[at] = id ? xstrdup(id) : NULL;
	} else {
		mime_bundle_release(&c->partial.displays[at]);
	}
	read_bundle(json_object_get(display, "data"), 0, &c->partial.displays[at]);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_json_frame(struct collect *c, const struct wire_frame *frame)
{
	if (!wire_json_is_modest(frame->payload, frame->n))
		return -EPROTO;
	json_auto_t *payload = json_loadb((const char *)frame->payload, frame->n, JSON_REJECT_DUPLICATES, NULL);
	struct run_result *r = &c->partial;
	if (!json_is_object(payload))
		return -EPROTO;
	switch (frame->type) {
	case FRAME_DISPLAY:
		add_display(c, payload, frame->n);
		return 0;
	case FRAME_RESULT:
		mime_bundle_release(&r->result);
		read_bundle(json_object_get(payload, "data"), c->config->max_result_chars, &r->result);
		return 0;
	case FRAME_ERROR:
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

int collect_frame(struct collect *c, const struct wire_frame *frame)
{
	if (c->end)
		return -EPROTO;
	switch (frame->type) {
	case FRAME_OUT:
		return buf_add(&c->out, frame->payload, frame->n) < 0 ? -EPROTO : 0;
	case FRAME_ERR:
		return buf_add(&c->err, frame->payload, frame->n) < 0 ? -EPROTO : 0;
	case FRAME_OUT_TAIL:
		return buf_add(&c->out_tail, frame->payload, frame->n) < 0 ? -EPROTO : 0;
	case FRAME_ERR_TAIL:
		return buf_add(&c->err_tail, frame->payload, frame->n) < 0 ? -EPROTO : 0;
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
}

void collect_finish(struct collect *c, struct run_result *ret)
{
	*ret = c->partial;
	c->partial = (struct run_result){ 0 };
	for (size_t i = 0; i < ret->n_displays; i++)
		free(c->display_ids[i]);
	free(take_ptr(c->display_ids));
	if (c->end)
		read_end(c, ret);
	ret->displays_dropped += c->displays_over;
	ret->stdout_bytes = MAX(ret->stdout_bytes, c->out.len + c->out_tail.len);
	ret->stderr_bytes = MAX(ret->stderr_bytes, c->err.len + c->err_tail.len);
	ret->stdout_text = collect_text(&c->out, &c->out_tail, ret->stdout_bytes, c->config->max_stdout_chars,
					&ret->stdout_truncated);
	ret->stderr_text = collect_text(&c->err, &c->err_tail, ret->stderr_bytes, c->config->max_stderr_chars,
					&ret->stderr_truncated);
	clear(c);
}
