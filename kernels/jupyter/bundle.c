#include "kernels/jupyter/bundle.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "kernels/cells/mime.h"

/* As in kernels/cells/link.c, which rejects a bundle with more. */
#define TYPES_MAX 32

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && streq(s + n - m, end);
}

static bool is_json(const char *mime)
{
	return streq(mime, "application/json") || ends_with(mime, "+json");
}

static bool is_text(const char *mime)
{
	return strncmp(mime, "text/", 5) == 0 || ends_with(mime, "+xml") || ends_with(mime, "/xml") ||
	       ends_with(mime, "javascript") || ends_with(mime, "ecmascript");
}

static json_t *string_of(const struct buf *b)
{
	return json_stringn(b->len ? (const char *)b->data : "", b->len);
}

static json_t *clean_string(const json_t *value)
{
	AUTO(buf_release) struct buf out = { 0 };
	utf8_clean(&out, json_string_value(value), json_string_length(value));
	return string_of(&out);
}

/* Removes the line breaks that some kernels insert into base64. */
static json_t *compact_string(const json_t *value)
{
	AUTO(buf_release) struct buf out = { 0 };
	const char *s = json_string_value(value);
	size_t n = json_string_length(value);
	for (size_t i = 0, from = 0; i <= n; i++) {
		if (i < n && (unsigned char)s[i] > ' ')
			continue;
		(void)buf_add(&out, s + from, i - from);
		from = i + 1;
	}
	return string_of(&out);
}

json_t *bundle_text(const json_t *value)
{
	AUTO(buf_release) struct buf out = { 0 };
	size_t i;
	json_t *line;
	if (json_is_string(value))
		return clean_string(value);
	json_array_foreach(value, i, line) {
		if (i)
			(void)buf_add(&out, "\n", 1);
		if (json_is_string(line))
			utf8_clean(&out, json_string_value(line), json_string_length(line));
	}
	return string_of(&out);
}

/* Joins a list of lines as in notebooks, where each line includes its line end. */
static json_t *join_lines(const json_t *lines)
{
	AUTO(buf_release) struct buf out = { 0 };
	size_t i;
	json_t *line;
	json_array_foreach(lines, i, line)
		(void)buf_add(&out, json_string_value(line), json_string_length(line));
	return string_of(&out);
}

static bool is_lines(const json_t *value)
{
	size_t i;
	json_t *line;
	if (!json_is_array(value))
		return false;
	json_array_foreach(value, i, line)
		if (!json_is_string(line))
			return false;
	return true;
}

/* Recursion is safe, since load_object() (jupyter/load.h) limits the depth. */
json_t *bundle_copy(const json_t *value)
{
	size_t i;
	const char *key;
	json_t *item;
	if (json_is_string(value))
		return memchr(json_string_value(value), '\0', json_string_length(value)) ? clean_string(value) :
											   json_incref((json_t *)value);
	if (json_is_array(value)) {
		json_t *copy = json_array();
		json_array_foreach(value, i, item)
			json_array_append_new(copy, bundle_copy(item));
		return copy;
	}
	if (json_is_object(value)) {
		json_t *copy = json_object();
		json_object_foreach((json_t *)value, key, item)
			json_object_set_new(copy, key, bundle_copy(item));
		return copy;
	}
	return json_incref((json_t *)value);
}

/* NULL if the value is not valid for the type. */
static json_t *clean_value(const char *mime, const json_t *value)
{
	if (is_json(mime))
		return bundle_copy(value);
	json_auto_t *joined = is_lines(value) ? join_lines(value) : NULL;
	const json_t *text = joined ? joined : value;
	if (json_is_string(text))
		return is_text(mime) ? clean_string(text) : compact_string(text);
	if (!is_text(mime))
		return NULL;
	AUTO(freep) char *dump = json_dumps(text, JSON_ENCODE_ANY | JSON_COMPACT);
	return dump ? json_string(dump) : NULL;
}

json_t *bundle_clean(const json_t *data)
{
	json_t *bundle = json_object();
	const char *mime;
	json_t *value;
	json_object_foreach((json_t *)data, mime, value) {
		json_t *cleaned =
			mime_valid(mime) && json_object_size(bundle) < TYPES_MAX ? clean_value(mime, value) : NULL;
		if (cleaned)
			json_object_set_new(bundle, mime, cleaned);
	}
	return bundle;
}

size_t bundle_size(const json_t *value)
{
	size_t i, total = 0;
	const char *key;
	json_t *item;
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_string_length(value) + 3;
	case JSON_ARRAY:
		json_array_foreach(value, i, item)
			total += bundle_size(item);
		return total + 2;
	case JSON_OBJECT:
		json_object_foreach((json_t *)value, key, item)
			total += strlen(key) + 3 + bundle_size(item);
		return total + 2;
	default:
		return 20;
	}
}

bool bundle_shrink(json_t *data)
{
	const char *mime, *largest = NULL;
	json_t *value;
	size_t most = 0;
	json_object_foreach(data, mime, value) {
		size_t size = bundle_size(value);
		if (size < most)
			continue;
		most = size;
		largest = mime;
	}
	return largest && json_object_del(data, largest) == 0;
}
