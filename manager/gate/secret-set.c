#include "manager/gate/secret-set.h"

#include "base/alloc.h"
#include "base/percent.h"

struct secret_set *secret_set_new(void)
{
	struct secret_set *s = new0(struct secret_set);
	s->references = 1;
	return s;
}

struct secret_set *secret_set_ref(struct secret_set *s)
{
	s->references++;
	return s;
}

static void secret_release(struct gate_secret *s)
{
	if (s->value)
		explicit_bzero(s->value, strlen(s->value));
	free(s->name);
	free(s->placeholder);
	free(s->value);
	free(s->header);
	free(s->query);
	free(s->basic);
	strv_release(&s->hosts);
	strv_release(&s->paths);
	strv_release(&s->raw);
}

struct secret_set *secret_set_unref(struct secret_set *s)
{
	if (!s || --s->references)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		secret_release(&s->v[i]);
	free(s->v);
	free(s);
	return NULL;
}

struct gate_secret *secret_set_add(struct secret_set *s)
{
	s->v = xrealloc(s->v, (s->n + 1) * sizeof(*s->v));
	s->v[s->n] = (struct gate_secret){ 0 };
	return &s->v[s->n++];
}

void secret_set_swap(struct secret_set *a, struct secret_set *b)
{
	struct secret_set old = *a;
	a->v = b->v;
	a->n = b->n;
	b->v = old.v;
	b->n = old.n;
}

bool gate_secret_is_for(const struct gate_secret *s, const char *host, uint16_t port)
{
	size_t n = strlen(host);
	for (size_t i = 0; i < s->hosts.n; i++) {
		const char *entry = s->hosts.v[i];
		if (strncmp(entry, host, n) == 0 && entry[n] == ':' && strtoul(entry + n + 1, NULL, 10) == port)
			return true;
	}
	return false;
}

const struct gate_secret *secret_set_find(const struct secret_set *s, const char *host, uint16_t port)
{
	for (size_t i = 0; i < s->n; i++)
		if (gate_secret_is_for(&s->v[i], host, port))
			return &s->v[i];
	return NULL;
}

bool secret_set_covers(const struct secret_set *s, const char *host, uint16_t port)
{
	return secret_set_find(s, host, port);
}

/* The secret whose placeholder is at the beginning of the text. */
static const struct gate_secret *placeholder_at(const struct secret_set *s, const char *text, size_t n)
{
	for (size_t i = 0; n >= SECRET_PLACEHOLDER_CHARS && i < s->n; i++)
		if (memcmp(text, s->v[i].placeholder, SECRET_PLACEHOLDER_CHARS) == 0)
			return &s->v[i];
	return NULL;
}

ssize_t secret_set_fill(const struct secret_set *s, const char *text, size_t n,
			bool (*allowed)(void *ctx, const struct gate_secret *secret), void *ctx, bool escape,
			struct buf *out, const char **ret_used)
{
	static const size_t head = sizeof(SECRET_PLACEHOLDER) - 1;
	ssize_t count = 0;
	size_t at = 0;
	const char *hit;
	int r = 0;
	while (r == 0 && (hit = memmem(text + at, n - at, SECRET_PLACEHOLDER, head))) {
		size_t start = (size_t)(hit - text);
		const struct gate_secret *secret = placeholder_at(s, hit, n - start);
		bool fill = secret && allowed(ctx, secret);
		/* A placeholder that may not be used here stays. */
		size_t end = start + (fill ? 0 : head);
		r = buf_add(out, text + at, end - at);
		at = end;
		if (!fill || r < 0)
			continue;
		AUTO(buf_wipe) struct buf value = { 0 };
		buf_reserve(&value, 3 * SECRET_VALUE_MAX);
		if (escape)
			percent_encode(&value, secret->value, /* keep_slash= */ false);
		else
			buf_add_str(&value, secret->value);
		r = buf_add(out, value.data, value.len);
		*ret_used = secret->name;
		at += SECRET_PLACEHOLDER_CHARS;
		count++;
	}
	return r < 0 || buf_add(out, text + at, n - at) < 0 ? -1 : count;
}

/* Replaces each needle in b. */
static bool replace(struct buf *b, const char *needle, const char *by)
{
	size_t length = strlen(needle), at = 0;
	struct buf out = { 0 };
	const uint8_t *hit;
	if (length < SECRET_VALUE_MIN || !b->len || !memmem(b->data, b->len, needle, length))
		return false;
	while ((hit = memmem(b->data + at, b->len - at, needle, length))) {
		buf_add(&out, b->data + at, (size_t)(hit - b->data) - at);
		buf_add_str(&out, by);
		at = (size_t)(hit - b->data) + length;
	}
	buf_add(&out, b->data + at, b->len - at);
	buf_wipe(b);
	*b = out;
	return true;
}

bool secret_set_hide(const struct secret_set *s, const char *text, size_t n, struct buf *out)
{
	struct buf copy = { 0 };
	bool hidden = false;
	buf_add(&copy, text, n);
	for (size_t i = 0; i < s->n; i++) {
		const struct gate_secret *secret = &s->v[i];
		struct buf escaped = { 0 };
		percent_encode(&escaped, secret->value, /* keep_slash= */ false);
		hidden = replace(&copy, secret->value, secret->placeholder) || hidden;
		hidden = replace(&copy, buf_str(&escaped), secret->placeholder) || hidden;
		buf_wipe(&escaped);
	}
	buf_add(out, copy.data, copy.len);
	buf_wipe(&copy);
	return hidden;
}
