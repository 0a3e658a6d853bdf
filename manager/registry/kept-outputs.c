#include "manager/registry/kept-outputs.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/shape.h"

/* JSON with more values than this is kept as a string: it would take the loop too long to parse. */
#define VALUES_MAX 20000u

struct outputs {
	json_t *list;
	size_t left;   /* bytes that are still kept */
	size_t values; /* of JSON that are still parsed */
};

static void add_stream(struct outputs *o, const char *name, const char *text)
{
	json_array_append_new(o->list,
			      json_pack("{s:s, s:s, s:s}", "output_type", "stream", "name", name, "text", text));
}

static bool fits(struct outputs *o, size_t n)
{
	if (n > o->left)
		return false;
	o->left -= n;
	return true;
}

static void add_missing(struct outputs *o, uint64_t bytes)
{
	AUTO(freep) char *text = xasprintf("[%llu bytes are not kept here]\n", (unsigned long long)bytes);
	add_stream(o, "stderr", text);
}

static void add_text(struct outputs *o, const char *name, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	if (!n)
		return;
	if (fits(o, n))
		add_stream(o, name, text);
	else
		add_missing(o, n);
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
		size_t n = shape.values + shape.containers;
		if (n <= o->values) {
			o->values -= n;
			value = json_loadb(part->data, part->len, JSON_DECODE_ANY, NULL);
		}
	}
	return value ? value : json_stringn(part->data, part->len);
}

static void add_bundle(struct outputs *o, const struct mime_bundle *bundle, bool is_result)
{
	size_t missing = 0;
	json_t *data = json_object();
	for (size_t i = 0; i < bundle->n; i++) {
		const struct mime_part *part = &bundle->parts[i];
		if (fits(o, part->len))
			json_object_set_new(data, part->type, value_of(o, part));
		else
			missing += part->len;
	}
	if (json_object_size(data)) {
		json_t *output = json_pack("{s:s, s:O, s:{}}", "output_type",
					   is_result ? "execute_result" : "display_data", "data", data, "metadata");
		if (is_result)
			json_object_set_new(output, "execution_count", json_null());
		json_array_append_new(o->list, output);
	}
	if (missing)
		add_missing(o, missing);
	json_decref(data);
}

static void add_error(struct outputs *o, const struct run_result *r)
{
	const char *lines = r->error_traceback ? r->error_traceback : "";
	if (!r->error_type || !fits(o, strlen(lines)))
		return;
	json_t *traceback = json_array();
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		json_array_append_new(traceback, json_stringn(lines, n));
		lines += n + (lines[n] == '\n');
	}
	json_array_append_new(o->list,
			      json_pack("{s:s, s:s, s:s, s:o}", "output_type", "error", "ename", r->error_type,
					"evalue", r->error_message ? r->error_message : "", "traceback", traceback));
}

static void add_part(struct outputs *o, const struct run_result *r, const struct run_part *part)
{
	switch (part->kind) {
	case PART_STDOUT:
		add_text(o, "stdout", part->text);
		break;
	case PART_STDERR:
		add_text(o, "stderr", part->text);
		break;
	case PART_DISPLAY:
		if (part->display < r->n_displays)
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

char *kept_outputs(const struct run_result *result)
{
	struct outputs o = { .list = json_array(), .left = KEPT_OUTPUTS_MAX, .values = VALUES_MAX };
	for (size_t i = 0; i < result->n_parts; i++)
		add_part(&o, result, &result->parts[i]);
	add_text(&o, "stderr", result->detail);
	struct buf text = { 0 };
	bool any = json_array_size(o.list) > 0;
	if (any)
		json_print(&text, o.list);
	json_decref(o.list);
	return any ? buf_steal_str(&text) : NULL;
}
