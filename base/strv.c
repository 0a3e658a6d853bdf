#include "base/strv.h"

#include "base/alloc.h"

static void take(struct strv *s, char *value)
{
	/* Grows by doubling, because a session may decide how many strings there are. The capacity is always a power of
	 * two above n. */
	if ((s->n & (s->n + 1)) == 0)
		s->v = xrealloc(s->v, 2 * (s->n + 1) * sizeof(*s->v));
	s->v[s->n++] = value;
	s->v[s->n] = NULL;
}

void strv_release(struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strv){ 0 };
}

void strv_add(struct strv *s, const char *value)
{
	take(s, xstrdup(value));
}

void strv_addf(struct strv *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	take(s, xvasprintf(fmt, ap));
	va_end(ap);
}

void strv_add_all(struct strv *s, ...)
{
	va_list ap;
	va_start(ap, s);
	for (const char *value; (value = va_arg(ap, const char *));)
		strv_add(s, value);
	va_end(ap);
}

void strv_set_env(struct strv *env, const char *variable)
{
	size_t n = strcspn(variable, "=") + 1;
	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], variable, n) != 0)
			continue;
		free(env->v[i]);
		env->v[i] = xstrdup(variable);
		return;
	}
	strv_add(env, variable);
}

size_t strv_find(const struct strv *s, const char *value)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i], value))
			return i;
	return SIZE_MAX;
}

void strv_remove(struct strv *s, size_t at)
{
	free(s->v[at]);
	memmove(&s->v[at], &s->v[at + 1], (s->n - at) * sizeof(*s->v)); /* including the NULL */
	s->n--;
}

char **strv_argv(struct strv *s)
{
	if (!s->v)
		s->v = xcalloc(1, sizeof(*s->v));
	return s->v;
}
