#include "mcp/text.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* "\n\n[… 123456789012 characters cut …]\n\n" */
#define NOTE_CHARS 60

void text_release(struct text *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->sections[i].label);
		free(t->sections[i].body);
	}
	t->n = 0;
}

void text_add(struct text *t, const char *label, const char *body)
{
	size_t n = strlen(body);
	while (n > 0 && (body[n - 1] == '\n' || body[n - 1] == '\r'))
		n--;
	if (n == 0 || t->n == TEXT_SECTIONS_MAX)
		return;
	t->sections[t->n].label = label ? xstrdup(label) : NULL;
	t->sections[t->n].body = xstrndup(body, n);
	t->sections[t->n].chars = utf8_count(body, n);
	t->sections[t->n].gap = false;
	t->n++;
}

void text_addf(struct text *t, const char *label, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *body = xvasprintf(fmt, ap);
	va_end(ap);
	text_add(t, label, body);
}

void text_mark_gap(struct text *t)
{
	if (t->n > 0)
		t->sections[t->n - 1].gap = true;
}

static char *cut(const char *s, size_t max_chars, bool gap)
{
	size_t n = strlen(s), chars = utf8_count(s, n);
	if (chars <= max_chars)
		return xstrdup(s);
	size_t keep = max_chars > NOTE_CHARS ? max_chars - NOTE_CHARS : 0;
	size_t head = utf8_head(s, n, keep - keep / 2), tail = utf8_tail(s, n, keep / 2);
	AUTO(freep) char *missing = gap ? xstrdup("the middle is") : xasprintf("%zu characters", chars - keep);
	return xasprintf("%.*s\n\n[… %s cut …]\n\n%s", (int)head, s, missing, s + n - tail);
}

char *text_cut(const char *s, size_t max_chars)
{
	return cut(s, max_chars, /* gap= */ false);
}

/* The largest share such that all sections, each cut to it, fit into max: what short sections do not use goes to the long ones. */
static size_t fair_share(const struct text *t, size_t max)
{
	size_t share = 0, left = max, open = t->n;
	bool settled[TEXT_SECTIONS_MAX] = { false };
	for (bool changed = true; changed && open > 0;) {
		changed = false;
		share = left / open;
		for (size_t i = 0; i < t->n; i++) {
			if (settled[i] || t->sections[i].chars > share)
				continue;
			settled[i] = changed = true;
			left -= t->sections[i].chars;
			open--;
		}
	}
	return open > 0 ? share : max;
}

char *text_join(const struct text *t, size_t max_chars)
{
	struct buf out = { 0 };
	size_t framing = 0;
	for (size_t i = 0; i < t->n; i++)
		framing +=
			4 + (t->sections[i].label ? utf8_count(t->sections[i].label, strlen(t->sections[i].label)) : 0);
	size_t share = fair_share(t, max_chars > framing ? max_chars - framing : 0);
	for (size_t i = 0; i < t->n; i++) {
		AUTO(freep) char *body = cut(t->sections[i].body, share, t->sections[i].gap);
		if (i > 0)
			buf_add_str(&out, "\n\n");
		if (t->sections[i].label)
			buf_printf(&out, "%s%s", t->sections[i].label, strchr(body, '\n') ? "\n" : " ");
		buf_add_str(&out, body);
	}
	return buf_steal_str(&out);
}
