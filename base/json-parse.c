/* Parses the messages between programs. They are short, and jansson's parser handles each of their bytes several times:
 * it took a third of the server's time for a run. Values, and what is valid, are the same. */
#include <string.h>

#include "base/json.h"
#include "base/outline.h"
#include "base/utf8.h"

/* As in jansson. */
#define DEPTH_MAX 2048
/* A number with more digits may be too large; jansson decides. */
#define DIGITS_MAX 18

struct parser {
	const uint8_t *at, *end;
	size_t flags;
	unsigned depth;
	struct buf text; /* a string with escapes */
};

static json_t *parse_value(struct parser *p);

static void skip_space(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
		p->at++;
}

static bool take(struct parser *p, uint8_t byte)
{
	skip_space(p);
	if (p->at == p->end || *p->at != byte)
		return false;
	p->at++;
	return true;
}

/* --- strings ------------------------------------------------------------------------------------------------------- */

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits after \u; -1 if they are not there. */
static long take_unit(struct parser *p)
{
	long unit = 0;
	if (p->end - p->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*p->at++);
		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static bool take_unicode(struct parser *p)
{
	long unit = take_unit(p);
	if (unit >= 0xd800 && unit < 0xdc00) {
		if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
			return false;
		p->at += 2;
		long low = take_unit(p);
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	} else if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000) || (unit == 0 && !(p->flags & JSON_ALLOW_NUL))) {
		return false;
	}
	p->text.len += utf8_write(buf_reserve(&p->text, 4), (uint32_t)unit);
	return true;
}

static bool take_escape(struct parser *p)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (p->at == p->end)
		return false;
	uint8_t byte = *p->at++;
	if (byte == 'u')
		return take_unicode(p);
	const char *found = byte ? strchr(from, byte) : NULL;
	if (!found)
		return false;
	buf_add(&p->text, &to[found - from], 1);
	return true;
}

/* Moves to the first byte that is neither plain nor a part of a valid character. */
static void skip_plain(struct parser *p)
{
	while (p->at < p->end) {
		p->at += outline_plain_run(p->at, (size_t)(p->end - p->at));
		if (p->at == p->end || *p->at == '"' || *p->at == '\\' || *p->at < 0x20)
			return;
		size_t n = *p->at < 0x80 ? 1 : utf8_sequence(p->at, (size_t)(p->end - p->at));
		if (!n)
			return;
		p->at += n;
	}
}

/* After the opening quote. The text is valid until the next string. */
static bool take_string(struct parser *p, const char **ret, size_t *ret_n)
{
	const uint8_t *start = p->at;
	skip_plain(p);
	if (p->at < p->end && *p->at == '"') {
		*ret = (const char *)start;
		*ret_n = (size_t)(p->at++ - start);
		return true;
	}
	buf_reset(&p->text);
	buf_add(&p->text, start, (size_t)(p->at - start));
	while (p->at < p->end && *p->at == '\\') {
		p->at++;
		if (!take_escape(p))
			return false;
		start = p->at;
		skip_plain(p);
		buf_add(&p->text, start, (size_t)(p->at - start));
	}
	if (p->at == p->end || *p->at != '"')
		return false;
	p->at++;
	*ret = buf_str(&p->text);
	*ret_n = p->text.len;
	return true;
}

/* --- other values -------------------------------------------------------------------------------------------------- */

static bool is_digit(const struct parser *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool is_in_number(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || byte == '.' || byte == 'e' || byte == 'E' || byte == '+' || byte == '-';
}

/* A real number or a long one. */
static json_t *parse_rare_number(struct parser *p, const uint8_t *start)
{
	while (p->at < p->end && is_in_number(*p->at))
		p->at++;
	return json_loadb((const char *)start, (size_t)(p->at - start), JSON_DECODE_ANY, NULL);
}

static json_t *parse_number(struct parser *p)
{
	const uint8_t *start = p->at;
	bool negative = *p->at == '-';
	p->at += negative;
	const uint8_t *digits = p->at;
	json_int_t value = 0;
	while (is_digit(p) && p->at - digits < DIGITS_MAX)
		value = 10 * value + (*p->at++ - '0');
	if (p->at == digits || (*digits == '0' && p->at - digits > 1))
		return NULL;
	if (p->at < p->end && is_in_number(*p->at)) {
		p->at = start;
		return parse_rare_number(p, start);
	}
	return json_integer(negative ? -value : value);
}

static json_t *parse_word(struct parser *p)
{
	static const struct {
		const char *word;
		json_t *(*make)(void);
	} words[] = { { "true", json_true }, { "false", json_false }, { "null", json_null } };
	const uint8_t *start = p->at;
	while (p->at < p->end && ((*p->at | 0x20) >= 'a' && (*p->at | 0x20) <= 'z'))
		p->at++;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == (size_t)(p->at - start) &&
		    memcmp(start, words[i].word, (size_t)(p->at - start)) == 0)
			return words[i].make();
	return NULL;
}

static bool take_member(struct parser *p, json_t *object)
{
	const char *text;
	size_t n;
	if (!take(p, '"') || !take_string(p, &text, &n) || memchr(text, '\0', n))
		return false;
	if ((p->flags & JSON_REJECT_DUPLICATES) && json_object_getn(object, text, n))
		return false;
	/* A value may overwrite a name that has escapes. */
	AUTO(buf_release) struct buf name = { 0 };
	if (text == (const char *)p->text.data) {
		name = p->text;
		p->text = (struct buf){ 0 };
	}
	json_t *value = take(p, ':') ? parse_value(p) : NULL;
	return value && json_object_setn_new_nocheck(object, text, n, value) == 0;
}

static bool take_item(struct parser *p, json_t *array)
{
	json_t *value = parse_value(p);
	return value && json_array_append_new(array, value) == 0;
}

static json_t *parse_container(struct parser *p, json_t *container, uint8_t close,
			       bool (*item)(struct parser *, json_t *))
{
	p->at++;
	bool fine = ++p->depth <= DEPTH_MAX;
	if (fine && !take(p, close)) {
		do
			fine = item(p, container);
		while (fine && take(p, ','));
		fine = fine && take(p, close);
	}
	p->depth--;
	if (fine)
		return container;
	json_decref(container);
	return NULL;
}

static json_t *parse_text(struct parser *p)
{
	const char *text;
	size_t n;
	p->at++;
	return take_string(p, &text, &n) ? json_stringn_nocheck(text, n) : NULL;
}

static json_t *parse_value(struct parser *p)
{
	skip_space(p);
	if (p->at == p->end)
		return NULL;
	switch (*p->at) {
	case '{':
		return parse_container(p, json_object(), '}', take_member);
	case '[':
		return parse_container(p, json_array(), ']', take_item);
	case '"':
		return parse_text(p);
	default:
		return *p->at == '-' || is_digit(p) ? parse_number(p) : parse_word(p);
	}
}

json_t *json_parse(const void *data, size_t n, size_t flags)
{
	struct parser p = { .at = data, .end = (const uint8_t *)data + n, .flags = flags };
	skip_space(&p);
	bool container = p.at < p.end && (*p.at == '{' || *p.at == '[');
	json_t *value = container || (flags & JSON_DECODE_ANY) ? parse_value(&p) : NULL;
	skip_space(&p);
	buf_release(&p.text);
	if (!value || p.at == p.end)
		return value;
	json_decref(value);
	return NULL;
}
