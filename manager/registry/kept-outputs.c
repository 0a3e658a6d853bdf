#include "manager/registry/kept-outputs.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/shape.h"

/* JSON with more values is kept as a string, and a traceback with more lines as one piece, since parsed values use
 * much memory. */
#define VALUES_MAX 20000u

/* --- on the loop: copies ----------------------------------------------------------------------------------------- */

struct copying {
	const struct run_result *from;
	struct run_result *to;
	size_t left; /* bytes that may still be kept */
};

static bool fits(struct copying *c, size_t n)
{
	if (n > c->left)
		return false;
	c->left -= n;
	return true;
}

static void copy_missing(struct copying *c, uint64_t bytes)
{
	if (bytes)
		run_result_add_part(c->to, (struct run_part){ .kind = PART_GAP, .bytes = bytes });
}

static void copy_text(struct copying *c, enum part_kind kind, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	if (!n)
		return;
	if (fits(c, n))
		run_result_add_part(c->to, (struct run_part){ .kind = kind, .text = xstrndup(text, n) });
	else
		copy_missing(c, n);
}

/* Returns the number of bytes that do not fit. */
static size_t copy_bundle(struct copying *c, struct mime_bundle *ret, const struct mime_bundle *bundle)
{
	size_t missing = 0;
	ret->parts = xcalloc(bundle->n + 1, sizeof(*ret->parts));
	for (size_t i = 0; i < bundle->n; i++) {
		const struct mime_part *part = &bundle->parts[i];
		if (fits(c, part->len))
			ret->parts[ret->n++] = (struct mime_part){ .type = xstrdup(part->type),
								   .data = xstrndup(part->data, part->len),
								   .len = part->len };
		else
			missing += part->len;
	}
	return missing;
}

static void copy_display(struct copying *c, const struct mime_bundle *bundle)
{
	struct run_result *to = c->to;
	struct mime_bundle copy = { 0 };
	size_t missing = copy_bundle(c, &copy, bundle);
	to->displays = xrealloc(to->displays, (to->n_displays + 1) * sizeof(*to->displays));
	run_result_add_part(to, (struct run_part){ .kind = PART_DISPLAY, .display = to->n_displays });
	to->displays[to->n_displays++] = copy;
	copy_missing(c, missing);
}

static void copy_error(struct copying *c)
{
	const struct run_result *from = c->from;
	const char *traceback = from->error_traceback ? from->error_traceback : "";
	if (!from->error_type || c->to->error_type || !fits(c, strlen(traceback)))
		return;
	c->to->error_type = xstrdup(from->error_type);
	c->to->error_message = xstrdup(from->error_message ? from->error_message : "");
	c->to->error_traceback = xstrdup(traceback);
	run_result_add_part(c->to, (struct run_part){ .kind = PART_ERROR });
}

static void copy_part(struct copying *c, const struct run_part *part)
{
	switch (part->kind) {
	case PART_STDOUT:
	case PART_STDERR:
		copy_text(c, part->kind, part->text);
		break;
	case PART_DISPLAY:
		if (part->display < c->from->n_displays)
			copy_display(c, &c->from->displays[part->display]);
		break;
	case PART_RESULT:
		if (c->to->result.parts)
			break;
		run_result_add_part(c->to, (struct run_part){ .kind = PART_RESULT });
		copy_missing(c, copy_bundle(c, &c->to->result, &c->from->result));
		break;
	case PART_ERROR:
		copy_error(c);
		break;
	case PART_GAP:
		copy_missing(c, part->bytes);
		break;
	}
}

struct run_result *kept_outputs_take(const struct run_result *result)
{
	struct run_result *to = new0(struct run_result);
	struct copying c = { .from = result, .to = to, .left = KEPT_OUTPUTS_MAX };
	for (size_t i = 0; i < result->n_parts; i++)
		copy_part(&c, &result->parts[i]);
	copy_text(&c, PART_STDERR, result->detail);
	if (to->n_parts)
		return to;
	kept_outputs_free(to);
	return NULL;
}

void kept_outputs_free(void *kept)
{
	struct run_result *copy = kept;
	run_result_release(copy);
	free(copy);
}

/* --- in a worker: JSON ------------------------------------------------------------------------------------------- */

struct outputs {
	json_t *list;
	size_t values; /* JSON values that may still be parsed */
};

static void add_stream(struct outputs *o, const char *name, const char *text)
{
	json_array_append_new(o->list,
			      json_pack("{s:s, s:s, s:s}", "output_type", "stream", "name", name, "text", text));
}

static void add_missing(struct outputs *o, uint64_t bytes)
{
	AUTO(freep) char *text = xasprintf("[%llu bytes are not kept here]\n", (unsigned long long)bytes);
	add_stream(o, "stderr", text);
}

static bool affords(struct outputs *o, size_t values)
{
	if (values > o->values)
		return false;
	o->values -= values;
	return true;
}

static bool is_json(const char *type)
{
	size_t n = strlen(type);
	return streq(type, "application/json") || (n > 5 && streq(type + n - 5, "+json"));
}

static json_t *value_of(struct outputs *o, const struct mime_part *part)
{
	json_t *value = NULL;
	if (is_json(part->type)) {
		struct shape shape = shape_of(part->data, part->len);
		if (affords(o, shape.values + shape.containers))
			value = json_loadb(part->data, part->len, JSON_DECODE_ANY, NULL);
	}
	return value ? value : json_stringn(part->data, part->len);
}

static void add_bundle(struct outputs *o, const struct mime_bundle *bundle, bool is_result)
{
	json_t *data = json_object();
	for (size_t i = 0; i < bundle->n; i++)
		json_object_set_new(data, bundle->parts[i].type, value_of(o, &bundle->parts[i]));
	if (json_object_size(data)) {
		json_t *output = json_pack("{s:s, s:O, s:{}}", "output_type",
					   is_result ? "execute_result" : "display_data", "data", data, "metadata");
		if (is_result)
			json_object_set_new(output, "execution_count", json_null());
		json_array_append_new(o->list, output);
	}
	json_decref(data);
}

static json_t *lines_of(struct outputs *o, const char *text)
{
	size_t count = 1;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	json_t *lines = json_array();
	if (!affords(o, count)) {
		json_array_append_new(lines, json_string(text));
		return lines;
	}
	while (*text) {
		size_t n = strcspn(text, "\n");
		json_array_append_new(lines, json_stringn(text, n));
		text += n + (text[n] == '\n');
	}
	return lines;
}

static void add_error(struct outputs *o, const struct run_result *r)
{
	json_array_append_new(o->list,
			      json_pack("{s:s, s:s, s:s, s:o}", "output_type", "error", "ename", r->error_type,
					"evalue", r->error_message, "traceback", lines_of(o, r->error_traceback)));
}

static void add_part(struct outputs *o, const struct run_result *r, const struct run_part *part)
{
	switch (part->kind) {
	case PART_STDOUT:
		add_stream(o, "stdout", part->text);
		break;
	case PART_STDERR:
		add_stream(o, "stderr", part->text);
		break;
	case PART_DISPLAY:
		add_bundle(o, &r->displays[part->display], /* is_result= */ false);
		break;
	case PART_RESULT:
		add_bundle(o, &r->result, /* is_result= */ true);
		break;
	case PART_ERROR:
		add_error(o, r);
		break;
	case PART_GAP:
		add_missing(o, part->bytes);
		break;
	}
}

char *kept_outputs_text(void *kept)
{
	const struct run_result *copy = kept;
	struct outputs o = { .list = json_array(), .values = VALUES_MAX };
	for (size_t i = 0; i < copy->n_parts; i++)
		add_part(&o, copy, &copy->parts[i]);
	struct buf text = { 0 };
	bool any = json_array_size(o.list) > 0;
	if (any)
		json_print(&text, o.list);
	json_decref(o.list);
	return any ? buf_steal_str(&text) : NULL;
}
