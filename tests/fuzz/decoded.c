#include "tests/fuzz/decoded.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* Twenty problems, each of which echoes at most a few hundred bytes. */
#define PROBLEMS_TEXT_MAX 32768

static bool text_fits(const struct arg *a, const char *s)
{
	size_t n = strlen(s);
	bool blank = !s[strspn(s, " \t\r\n")];
	return utf8_valid(s, n) && (a->max <= 0 || n <= (size_t)a->max) &&
	       (!(a->flags & ARG_NONEMPTY) || a->flags & ARG_BLANK || !blank);
}

static bool number_fits(const struct arg *a, int64_t i)
{
	return a->flags & ARG_ABSENT || a->max <= a->min || (i >= a->min && i <= a->max);
}

static bool one_fits(const struct arg *a, const void *at)
{
	const char *s = a->type == ARG_STRING ? *(const char *const *)at : NULL;
	json_t *o = a->type == ARG_OBJECT ? *(json_t *const *)at : NULL;
	if (a->type == ARG_STRING)
		return s ? text_fits(a, s) : !(a->flags & ARG_REQUIRED);
	if (a->type == ARG_INT)
		return number_fits(a, *(const int64_t *)at);
	return !o || json_is_object(o);
}

bool decoded_fits(const struct arg *table, const json_t *args, const void *decoded, bool defaults)
{
	for (const struct arg *a = table; a->name; a++) {
		const json_t *given = json_object_get(args, a->name);
		bool checked = defaults || (a->flags & ARG_REQUIRED) || (given && !json_is_null(given));
		if (checked && !one_fits(a, (const char *)decoded + a->offset))
			return false;
	}
	return true;
}

char *decoded_problems(const json_t *problems)
{
	AUTO(freep) char *text = args_problems_text(problems);
	size_t n = strlen(text);
	bool good = json_array_size(problems) > 0 && n > 0 && n < PROBLEMS_TEXT_MAX && utf8_valid(text, n);
	return good ? take_ptr(text) : NULL;
}
