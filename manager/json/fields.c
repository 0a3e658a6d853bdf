#include "manager/json/fields.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

static const json_t *get(struct fields *in, const char *name)
{
	const json_t *v = json_object_get(in->json, name);
	return json_is_null(v) ? NULL : v;
}

static void complain(struct fields *in, const char *name)
{
	if (!in->bad)
		in->bad = name;
}

const char *fields_text_n(struct fields *in, const char *name, size_t *ret_n)
{
	const json_t *v = get(in, name);
	*ret_n = 0;
	if (!v)
		return NULL;
	if (!json_is_string(v)) {
		complain(in, name);
		return NULL;
	}
	*ret_n = json_string_length(v);
	return json_string_value(v);
}

const char *fields_text(struct fields *in, const char *name)
{
	size_t n;
	return fields_text_n(in, name, &n);
}

char *fields_copy(struct fields *in, const char *name)
{
	const char *text = fields_text(in, name);
	return text ? xstrdup(text) : NULL;
}

char *fields_copy_or_empty(struct fields *in, const char *name)
{
	const char *text = fields_text(in, name);
	return xstrdup(text ? text : "");
}

uint64_t fields_number(struct fields *in, const char *name, uint64_t max)
{
	const json_t *v = get(in, name);
	if (!v)
		return 0;
	json_int_t n = json_integer_value(v);
	if (!json_is_integer(v) || n < 0 || (uint64_t)n > max) {
		complain(in, name);
		return 0;
	}
	return (uint64_t)n;
}

uint64_t fields_number_or_none(struct fields *in, const char *name)
{
	return get(in, name) ? fields_number(in, name, UINT64_MAX) : UINT64_MAX;
}

double fields_real(struct fields *in, const char *name)
{
	const json_t *v = get(in, name);
	if (v && !json_is_number(v))
		complain(in, name);
	return json_number_value(v);
}

bool fields_bool(struct fields *in, const char *name)
{
	const json_t *v = get(in, name);
	if (v && !json_is_boolean(v))
		complain(in, name);
	return json_is_true(v);
}

const json_t *fields_list(struct fields *in, const char *name, size_t max)
{
	const json_t *v = get(in, name);
	if (v && (!json_is_array(v) || json_array_size(v) > max)) {
		complain(in, name);
		return NULL;
	}
	return v;
}

const json_t *fields_object(struct fields *in, const char *name)
{
	const json_t *v = get(in, name);
	if (v && !json_is_object(v)) {
		complain(in, name);
		return NULL;
	}
	return v;
}

int fields_choice(struct fields *in, const char *name, const char *const *names, size_t n)
{
	const char *text = fields_text(in, name);
	for (size_t i = 0; text && i < n; i++)
		if (names[i] && streq(names[i], text))
			return (int)i;
	complain(in, name);
	return 0;
}

int fields_check(const struct fields *in, struct fail *f)
{
	if (!json_is_object(in->json))
		return fail_set(f, FAIL_INVALID, "a message lacks a part");
	return in->bad ? fail_set(f, FAIL_INVALID, "a message has a bad '%s'", in->bad) : 0;
}

/* --- out ----------------------------------------------------------------------------------------------------------- */

void fields_put_text_n(json_t *out, const char *name, const char *text, size_t n)
{
	if (!text)
		return;
	/* NULs are not allowed in these messages. */
	if (!memchr(text, '\0', n) && utf8_valid(text, n)) {
		json_object_set_new_nocheck(out, name, json_stringn_nocheck(text, n));
		return;
	}
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, text, n);
	json_object_set_new_nocheck(out, name, json_text(buf_str(&clean)));
}

void fields_put_text(json_t *out, const char *name, const char *text)
{
	if (text)
		json_object_set_new_nocheck(out, name, json_text(text));
}

void fields_put_number(json_t *out, const char *name, uint64_t value)
{
	if (value)
		json_object_set_new_nocheck(out, name, json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX)));
}

void fields_put_bool(json_t *out, const char *name, bool value)
{
	if (value)
		json_object_set_new_nocheck(out, name, json_true());
}
