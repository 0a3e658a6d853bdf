#include "base/fail.h"

#include "base/alloc.h"

void fail_release(struct fail *f)
{
	free(f->message);
	free(f->hint);
	*f = (struct fail){ 0 };
}

int fail_set(struct fail *f, enum fail_kind kind, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *message = xvasprintf(fmt, ap);
	va_end(ap);
	fail_release(f);
	f->kind = kind;
	f->message = message;
	return -1;
}

int fail_wrap(struct fail *f, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *prefix = xvasprintf(fmt, ap);
	va_end(ap);
	char *message = xasprintf("%s: %s", prefix, f->message ? f->message : "failed");
	free(f->message);
	f->message = message;
	return -1;
}

int fail_hint(struct fail *f, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *hint = xvasprintf(fmt, ap);
	va_end(ap);
	free(f->hint);
	f->hint = hint;
	return -1;
}

void fail_move(struct fail *to, struct fail *from)
{
	fail_release(to);
	*to = *from;
	*from = (struct fail){ 0 };
}

void fail_copy(struct fail *to, const struct fail *from)
{
	fail_release(to);
	to->kind = from->kind;
	to->cause = from->cause;
	to->message = from->message ? xstrdup(from->message) : NULL;
	to->hint = from->hint ? xstrdup(from->hint) : NULL;
}
