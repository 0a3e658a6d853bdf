#include "manager/doctor/doctor-private.h"

#include "base/alloc.h"
#include "base/utf8.h"

#define CHECK_TEXT_CHARS 600

static char *one_line(const char *text)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, text, strlen(text));
	const char *s = buf_str(&clean);
	char *line = xstrndup(s, utf8_head(s, clean.len, CHECK_TEXT_CHARS));
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return line;
}

void checks_add(struct checks *c, const char *name, enum check_status status, const char *fix, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *detail = xvasprintf(fmt, ap);
	va_end(ap);
	c->v = xrealloc(c->v, (c->n + 1) * sizeof(*c->v));
	c->v[c->n++] = (struct check){
		.name = one_line(name),
		.status = status,
		.detail = one_line(detail),
		.fix = fix ? one_line(fix) : NULL,
	};
}

void checks_release(struct checks *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].detail);
		free(c->v[i].fix);
	}
	free(c->v);
	*c = (struct checks){ 0 };
}
