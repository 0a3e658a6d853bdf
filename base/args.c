#include "base/args.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/parse.h"

/* Longer values are not repeated in messages, since the model knows what it sent. */
#define ECHO_MAX 200
/* Maximum number of problems in one report. */
#define PROBLEMS_MAX 20

static void add_problem(json_t *problems, const char *type, const char *name, json_t *input, char *msg)
{
	json_t *p = json_pack("{s:s, s:[s], s:s}", "type", type, "loc", name, "msg", msg);
	free(msg);
	if (!p)
		return;
	bool scalar = input && !json_is_object(input) && !json_is_array(input);
	if (scalar && !(json_is_string(input) && json_string_length(input) > ECHO_MAX))
		json_object_set(p, "input", input);
	json_array_append_new(problems, p);
}

static const char *json_type_name(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static char *join_choices(const struct arg *a)
{
	struct buf b = { 0 };
	for (size_t i = 0; a->choice && a->choice(i); i++)
		buf_printf(&b, "%s\"%s\"", i ? ", " : "", a->choice(i));
	return buf_steal_str(&b);
}

/* "an integer from 1 to 300", for both the wrong type and the wrong value. */
static char *wanted(const struct arg *a)
{
	switch (a->type) {
	case ARG_STRING:
		if (a->choice) {
			AUTO(freep) char *choices = join_choices(a);
			return xasprintf("one of %s", choices);
		}
		return xstrdup(a->flags & ARG_NONEMPTY ? "a non-empty string" : "a string");
	case ARG_INT:
		if (a->max > a->min)
			return xasprintf("an integer from %lld to %lld", (long long)a->min, (long long)a->max);
		return xstrdup("an integer");
	case ARG_BOOL:
		return xstrdup("true or false");
	case ARG_NUMBER:
		return xstrdup("a number above 0");
	case ARG_SIZE:
		return xstrdup("a size above 0 with its unit, m or g");
	case ARG_OBJECT:
		return xstrdup("an object");
	case ARG_LIST:
		return xasprintf("a list of 1 to %lld objects", (long long)a->max);
	case ARG_STRINGS:
		return xasprintf("a list of at most %lld strings", (long long)a->max);
	case ARG_SWITCH:
		return xasprintf("true, false or a list of at most %lld strings", (long long)a->max);
	case ARG_TEXTS:
		return xstrdup("an object of strings");
	}
	return xstrdup("a value");
}

static void add_mismatch(json_t *problems, const char *type, const struct arg *a, json_t *input)
{
	AUTO(freep) char *want = wanted(a);
	AUTO(freep) char *example = a->example ? xasprintf(", e.g. %s", a->example) : xstrdup("");
	AUTO(buf_release) struct buf got = { 0 };
	if (json_is_string(input) || json_is_number(input) || json_is_boolean(input))
		json_print(&got, input);
	const char *shown = got.len && got.len <= ECHO_MAX ? buf_str(&got) : json_type_name(input);
	add_problem(problems, type, a->name, input,
		    xasprintf("%s must be %s%s; got %s", a->name, want, example, shown));
}

static bool is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

static void decode_string(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	if (!json_is_string(v)) {
		add_mismatch(problems, "string_type", a, v);
		return;
	}
	const char *s = json_string_value(v);
	if (json_string_length(v) != strlen(s)) {
		add_problem(problems, "string_nul", a->name, NULL,
			    xasprintf("%s must not contain NUL characters (\\u0000)", a->name));
		return;
	}
	if (a->flags & ARG_NONEMPTY && (a->flags & ARG_BLANK ? !*s : is_blank(s))) {
		add_mismatch(problems, "string_too_short", a, v);
		return;
	}
	if (a->max > 0 && strlen(s) > (size_t)a->max) {
		add_problem(problems, "string_too_long", a->name, NULL,
			    xasprintf("%s must be at most %lld bytes; got %zu", a->name, (long long)a->max, strlen(s)));
		return;
	}
	*(const char **)at = s;
}

/* The value of a number that was sent as a string or with a fraction of zero. */
static bool integer_of(const json_t *v, int64_t *ret)
{
	if (json_is_integer(v)) {
		*ret = json_integer_value(v);
		return true;
	}
	if (json_is_real(v)) {
		double d = json_real_value(v);
		if (!(d >= -9007199254740992.0 && d <= 9007199254740992.0) || d != (double)(int64_t)d)
			return false;
		*ret = (int64_t)d;
		return true;
	}
	if (!json_is_string(v))
		return false;
	const char *s = json_string_value(v);
	bool negative = *s == '-';
	uint64_t u;
	if (json_string_length(v) != strlen(s) || parse_u64(s + negative, &u) < 0 || u > INT64_MAX)
		return false;
	*ret = negative ? -(int64_t)u : (int64_t)u;
	return true;
}

static void decode_int(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	int64_t value;
	if (!integer_of(v, &value)) {
		add_mismatch(problems, "int_type", a, v);
		return;
	}
	if (a->max > a->min && (value < a->min || value > a->max)) {
		add_mismatch(problems, "int_range", a, v);
		return;
	}
	*(int64_t *)at = value;
}

static void decode_bool(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	const char *s = json_string_value(v);
	if (json_is_boolean(v))
		*(bool *)at = json_is_true(v);
	else if (s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0))
		*(bool *)at = strcasecmp(s, "true") == 0;
	else
		add_mismatch(problems, "bool_type", a, v);
}

static bool is_strings(const struct arg *a, const json_t *v)
{
	bool good = json_is_array(v) && (int64_t)json_array_size(v) <= a->max;
	for (size_t i = 0; good && i < json_array_size(v); i++) {
		const json_t *text = json_array_get(v, i);
		good = json_is_string(text) && strlen(json_string_value(text)) == json_string_length(text);
	}
	return good;
}

static void decode_switch(const struct arg *a, json_t *v, struct arg_switch *at, json_t *problems)
{
	const char *s = json_string_value(v);
	if (is_strings(a, v))
		*at = (struct arg_switch){ .on = true, .list = v };
	else if (json_is_boolean(v) || (s && (strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0)))
		decode_bool(a, v, &at->on, problems);
	else
		add_mismatch(problems, "switch_type", a, v);
}

static void decode_number(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	double value = json_number_value(v);
	if (json_is_string(v) && parse_decimal(json_string_value(v), &value) < 0)
		value = 0;
	if (value > 0)
		*(double *)at = value;
	else
		add_mismatch(problems, "number_type", a, v);
}

/* Accepts the form of the settings and what people write: "4g", "4G", "4GB", "4 GiB". */
static bool size_of(const char *text, uint64_t *ret)
{
	char plain[32];
	size_t n = 0;
	for (; *text && n < sizeof(plain) - 1; text++)
		if (*text != ' ')
			plain[n++] = *text;
	if (*text)
		return false;
	if (n > 1 && (plain[n - 1] | 0x20) == 'b' && !(plain[n - 2] >= '0' && plain[n - 2] <= '9'))
		n -= n > 2 && plain[n - 2] == 'i' ? 2 : 1;
	plain[n] = '\0';
	return parse_size(plain, ret) == 0;
}

static void decode_size(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	uint64_t value = 0;
	int64_t bytes;
	if (json_is_string(v) && size_of(json_string_value(v), &value) && value)
		*(uint64_t *)at = value;
	else if (json_is_number(v) && integer_of(v, &bytes) && bytes > 0)
		*(uint64_t *)at = (uint64_t)bytes;
	else
		add_mismatch(problems, "size_type", a, v);
}

/* Problems of an entry, reported as "files[2]: …". */
static void add_entry_problems(const struct arg *a, size_t i, json_t *found, json_t *problems)
{
	size_t k;
	json_t *p;
	json_array_foreach(found, k, p) {
		const char *msg = json_string_value(json_object_get(p, "msg"));
		json_object_set_new(p, "msg", json_sprintf("%s[%zu]: %s", a->name, i, msg));
		json_t *loc = json_pack("[s, I]", a->name, (json_int_t)i);
		json_array_extend(loc, json_object_get(p, "loc"));
		json_object_set_new(p, "loc", loc);
		if (json_array_size(problems) < PROBLEMS_MAX)
			json_array_append(problems, p);
	}
}

static void decode_list(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	size_t i, n = json_array_size(v);
	json_t *entry;
	if (!json_is_array(v) || n == 0 || n > (size_t)a->max) {
		add_mismatch(problems, "list_type", a, v);
		return;
	}
	AUTO(freep) void *scratch = xcalloc(1, a->item_size);
	json_array_foreach(v, i, entry) {
		json_auto_t *found = json_is_object(entry) ? args_decode(a->item, entry, scratch) :
							     json_pack("[{s:s, s:[], s:s}]", "type", "object_type",
								       "loc", "msg", "must be an object");
		if (found)
			add_entry_problems(a, i, found, problems);
	}
	*(json_t **)at = v;
}

static bool is_texts(const json_t *v)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)v, name, value) {
		const char *text = json_string_value(value);
		if (!json_is_null(value) && (!text || strlen(text) != json_string_length(value)))
			return false;
	}
	return json_is_object(v);
}

static void decode_one(const struct arg *a, json_t *v, void *at, json_t *problems)
{
	switch (a->type) {
	case ARG_STRING:
		decode_string(a, v, at, problems);
		break;
	case ARG_INT:
		decode_int(a, v, at, problems);
		break;
	case ARG_BOOL:
		decode_bool(a, v, at, problems);
		break;
	case ARG_NUMBER:
		decode_number(a, v, at, problems);
		break;
	case ARG_SIZE:
		decode_size(a, v, at, problems);
		break;
	case ARG_OBJECT:
		if (json_is_object(v))
			*(json_t **)at = v;
		else
			add_mismatch(problems, "object_type", a, v);
		break;
	case ARG_LIST:
		decode_list(a, v, at, problems);
		break;
	case ARG_STRINGS:
		if (is_strings(a, v))
			*(json_t **)at = v;
		else
			add_mismatch(problems, "list_type", a, v);
		break;
	case ARG_SWITCH:
		decode_switch(a, v, at, problems);
		break;
	case ARG_TEXTS:
		if (is_texts(v))
			*(json_t **)at = v;
		else
			add_mismatch(problems, "object_type", a, v);
		break;
	}
}

static const struct arg *find_arg(const struct arg *table, const char *name)
{
	for (const struct arg *a = table; a->name; a++)
		if (streq(a->name, name))
			return a;
	return NULL;
}

static void add_unknown(const struct arg *table, const char *name, json_t *problems)
{
	struct buf known = { 0 };
	for (const struct arg *a = table; a->name; a++)
		if (!(a->flags & ARG_HIDDEN))
			buf_printf(&known, "%s%s", known.len ? ", " : "", a->name);
	AUTO(freep) char *list = buf_steal_str(&known);
	if (strlen(name) > ECHO_MAX)
		name = "(a very long name)";
	add_problem(problems, "unexpected_argument", name, NULL,
		    xasprintf("unknown argument '%s'; known: %s", name, *list ? list : "none"));
}

json_t *args_decode(const struct arg *table, json_t *args, void *out)
{
	json_t *problems = json_array();
	const char *name;
	json_t *value;
	for (const struct arg *a = table; a->name; a++) {
		json_t *v = json_object_get(args, a->name);
		if (v && !(json_is_null(v) && !(a->flags & ARG_REQUIRED))) {
			decode_one(a, v, (char *)out + a->offset, problems);
		} else if (a->flags & ARG_REQUIRED) {
			AUTO(freep) char *want = wanted(a);
			add_problem(problems, "missing", a->name, NULL,
				    xasprintf("%s is required: %s%s%s", a->name, want, a->example ? ", e.g. " : "",
					      a->example ? a->example : ""));
		}
	}
	json_object_foreach(args, name, value) {
		if (json_array_size(problems) >= PROBLEMS_MAX)
			break;
		if (!find_arg(table, name))
			add_unknown(table, name, problems);
	}
	if (json_array_size(problems) > 0)
		return problems;
	json_decref(problems);
	return NULL;
}

char *args_problems_text(const json_t *problems)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < json_array_size(problems); i++) {
		const char *msg = json_string_value(json_object_get(json_array_get(problems, i), "msg"));
		buf_printf(&b, "%s%s", i ? "; " : "", msg ? msg : "invalid");
	}
	return buf_steal_str(&b);
}

static json_t *default_of(const struct arg *a, const void *defaults)
{
	const void *at = (const char *)defaults + a->offset;
	switch (a->type) {
	case ARG_STRING:
		return *(const char *const *)at ? json_string(*(const char *const *)at) : NULL;
	case ARG_INT:
		return json_integer(*(const int64_t *)at);
	case ARG_BOOL:
		return json_boolean(*(const bool *)at);
	case ARG_SWITCH:
		return json_boolean(((const struct arg_switch *)at)->on);
	case ARG_NUMBER:
	case ARG_SIZE:
	case ARG_OBJECT:
	case ARG_LIST:
	case ARG_STRINGS:
	case ARG_TEXTS:
		break;
	}
	return NULL;
}

static json_t *property(const struct arg *a, const void *defaults)
{
	static const char *const types[] = {
		[ARG_STRING] = "string", [ARG_INT] = "integer",	 [ARG_BOOL] = "boolean",
		[ARG_NUMBER] = "number", [ARG_SIZE] = "string",	 [ARG_OBJECT] = "object",
		[ARG_LIST] = "array",	 [ARG_TEXTS] = "object", [ARG_STRINGS] = "array",
	};
	/* Some model providers accept no list of types. */
	json_t *p = a->type == ARG_SWITCH ? json_pack("{s:[{s:s}, {s:s, s:{s:s}}]}", "anyOf", "type", "boolean", "type",
						      "array", "items", "type", "string") :
					    json_pack("{s:s}", "type", types[a->type]);
	if (a->type == ARG_STRINGS)
		json_object_set_new(p, "items", json_pack("{s:s}", "type", "string"));
	if (a->type == ARG_TEXTS)
		json_object_set_new(p, "additionalProperties", json_pack("{s:s}", "type", "string"));
	if (a->description)
		json_object_set_new(p, "description", json_string(a->description));
	if (a->choice) {
		json_t *values = json_array();
		for (size_t i = 0; a->choice(i); i++)
			json_array_append_new(values, json_string(a->choice(i)));
		json_object_set_new(p, "enum", values);
	}
	if (a->type == ARG_INT && a->max > a->min) {
		json_object_set_new(p, "minimum", json_integer(a->min));
		if (a->max < UINT32_MAX)
			json_object_set_new(p, "maximum", json_integer(a->max));
	}
	/* A text has at least as many bytes as characters, so every text that the table accepts also fits the
	 * schema. */
	if (a->type == ARG_STRING && a->max > 0 && !a->choice)
		json_object_set_new(p, "maxLength", json_integer(a->max));
	if (a->type == ARG_LIST) {
		AUTO(freep) void *item_defaults = xcalloc(1, a->item_size);
		json_object_set_new(p, "items", args_schema(a->item, item_defaults));
		json_object_set_new(p, "minItems", json_integer(1));
		json_object_set_new(p, "maxItems", json_integer(a->max));
	}
	json_t *def = a->flags & (ARG_REQUIRED | ARG_ABSENT) ? NULL : default_of(a, defaults);
	if (def)
		json_object_set_new(p, "default", def);
	return p;
}

json_t *args_schema(const struct arg *table, const void *defaults)
{
	json_t *properties = json_object();
	json_t *required = json_array();
	for (const struct arg *a = table; a->name; a++) {
		if (a->flags & ARG_HIDDEN)
			continue;
		json_object_set_new(properties, a->name, property(a, defaults));
		if (a->flags & ARG_REQUIRED)
			json_array_append_new(required, json_string(a->name));
	}
	json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(required);
	json_object_set_new(schema, "additionalProperties", json_false());
	return schema;
}
