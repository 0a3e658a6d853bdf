#include "kernels/cells/variables.h"

#include "base/utf8.h"

#define NAME_CHARS 100
#define TYPE_CHARS 100
#define SHAPE_CHARS 60
/* Total size as JSON. It keeps an INFO, and an END with all its other fields, below the limit of a frame. */
#define LIST_BYTES_MAX (24u << 10)
#define NUMBER_MAX ((json_int_t)1 << 53)

void variables_release(struct variables *v)
{
	json_decref(v->list);
	*v = (struct variables){ 0 };
}

static void copy_text(json_t *to, const char *name, const json_t *from, size_t max)
{
	const json_t *value = json_object_get(from, name);
	const char *s = json_string_value(value);
	if (s)
		json_object_set_new(to, name, json_stringn(s, utf8_head(s, json_string_length(value), max)));
}

static json_t *copy_one(const json_t *from)
{
	json_t *one = json_object();
	json_int_t bytes = json_integer_value(json_object_get(from, "bytes"));
	copy_text(one, "name", from, NAME_CHARS);
	copy_text(one, "type", from, TYPE_CHARS);
	copy_text(one, "shape", from, SHAPE_CHARS);
	if (bytes > 0)
		json_object_set_new(one, "bytes", json_integer(MIN(bytes, NUMBER_MAX)));
	/* A long name is empty here, because link_parse() does not read long strings. */
	if (json_string_length(json_object_get(one, "name")) && json_object_get(one, "type"))
		return one;
	json_decref(one);
	return NULL;
}

void variables_take(struct variables *v, const struct link_message *m)
{
	const json_t *list = json_object_get(m->tree, "variables");
	json_int_t more = json_integer_value(json_object_get(m->tree, "more"));
	size_t n = json_array_size(list), bytes = 0;
	variables_release(v);
	v->list = json_array();
	for (size_t i = 0; i < MIN(n, (size_t)VARIABLES_MAX); i++) {
		json_auto_t *one = copy_one(json_array_get(list, i));
		bytes += one ? json_dumpb(one, NULL, 0, JSON_COMPACT) + 1 : 0;
		if (bytes > LIST_BYTES_MAX)
			break;
		if (one)
			json_array_append(v->list, one);
	}
	v->more = (uint64_t)MIN(MAX(more, 0), NUMBER_MAX) + (n - json_array_size(v->list));
}

json_t *variables_lose(struct variables *v)
{
	json_t *lost = v->list && json_array_size(v->list) ? json_array() : NULL;
	for (size_t i = 0; i < json_array_size(v->list); i++) {
		json_t *one = json_array_get(v->list, i);
		json_object_del(one, "shape");
		json_object_del(one, "bytes");
		json_array_append(lost, one);
	}
	variables_release(v);
	return lost;
}
