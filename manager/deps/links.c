#include "manager/deps/links.h"

#include <ctype.h>
#include <strings.h>

#include "base/alloc.h"

/* A longer value is not treated as a link. */
#define LINK_MAX 4096u
/* Enough for "href=" and for every relevant name of a tag or a key. */
#define WORD_MAX 16

struct word {
	char text[WORD_MAX + 1];
	size_t len; /* more than WORD_MAX = too long to be relevant */
};

enum where {
	OUTSIDE, /* text of HTML, or JSON between strings */
	TAG,
	QUOTED,
};

struct links {
	enum links_kind kind;
	const struct upstream *upstream;
	char *local;
	char *base; /* the page's target, for relative links */
	void (*on_link)(void *ctx, const char *path);
	void *ctx;
	enum where where;
	char quote;
	bool escaped;		    /* JSON: the byte before was a backslash */
	bool wanted;		    /* this string may be a link */
	bool key_is_over;	    /* JSON: a colon followed the string */
	struct word tag, word, key; /* HTML: the tag and the attribute; JSON: the last string */
	struct buf token;
};

enum links_kind links_kind_of(const char *content_type)
{
	static const struct {
		const char *type;
		enum links_kind kind;
	} kinds[] = {
		{ "text/html", LINKS_HTML },
		{ "application/xhtml+xml", LINKS_HTML },
		{ "application/vnd.pypi.simple.v1+html", LINKS_HTML },
		{ "application/vnd.pypi.simple.v1+json", LINKS_SIMPLE_JSON },
		{ "application/json", LINKS_JSON },
		{ "application/vnd.npm.install-v1+json", LINKS_JSON },
	};
	size_t n = content_type ? strcspn(content_type, "; \t") : 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (n == strlen(kinds[i].type) && strncasecmp(content_type, kinds[i].type, n) == 0)
			return kinds[i].kind;
	return LINKS_NONE;
}

struct links *links_new(enum links_kind kind, const struct upstream *upstream, const char *page,
			void (*on_link)(void *ctx, const char *path), void *ctx)
{
	struct links *l = new0(struct links);
	l->kind = kind;
	l->upstream = upstream;
	l->local = upstream_local(upstream);
	l->base = xstrdup(page);
	l->on_link = on_link;
	l->ctx = ctx;
	return l;
}

struct links *links_free(struct links *l)
{
	if (!l)
		return NULL;
	free(l->local);
	free(l->base);
	buf_release(&l->token);
	free(l);
	return NULL;
}

static void word_add(struct word *w, char c)
{
	if (w->len < WORD_MAX) {
		w->text[w->len] = (char)tolower((unsigned char)c);
		w->text[w->len + 1] = '\0';
	}
	w->len++;
}

static void word_clear(struct word *w)
{
	*w = (struct word){ 0 };
}

static bool word_is(const struct word *w, const char *text)
{
	return w->len <= WORD_MAX && streq(w->text, text);
}

/* --- one link ---------------------------------------------------------------------------------------------------- */

/* Drops the last component of out, which begins and ends with a slash. */
static void go_up(struct buf *out)
{
	if (out->len > 1)
		out->len--;
	while (out->len > 1 && out->data[out->len - 1] != '/')
		out->len--;
}

/* Resolves a link without a host on the page `base`. The result has no query and no fragment. */
static char *resolve(const char *base, const char *link)
{
	struct buf out = { 0 };
	size_t dir = strcspn(base, "?#");
	while (dir && base[dir - 1] != '/')
		dir--;
	if (*link == '/')
		buf_add_str(&out, "/");
	else
		buf_add(&out, base, dir);
	if (!out.len)
		buf_add_str(&out, "/");
	for (const char *s = link + (*link == '/'); *s && !strchr("?#", *s);) {
		size_t n = strcspn(s, "/?#");
		bool slash = s[n] == '/';
		if (n == 2 && s[0] == '.' && s[1] == '.')
			go_up(&out);
		else if (!(n == 1 && s[0] == '.')) {
			buf_add(&out, s, n);
			if (slash)
				buf_add_str(&out, "/");
		}
		s += n + slash;
	}
	return buf_steal_str(&out);
}

static void tell(struct links *l, const char *target)
{
	AUTO(freep) char *path = upstream_path(l->upstream, target);
	if (path && l->kind != LINKS_JSON)
		l->on_link(l->ctx, path);
}

static bool has_scheme(const char *link)
{
	size_t n = strcspn(link, ":/?#");
	return n && link[n] == ':' && isalpha((unsigned char)*link);
}

/* The link that replaces this one; NULL = unchanged. */
static char *turn(struct links *l, const char *link)
{
	AUTO(freep) char *absolute = NULL;
	/* A link without a scheme has the page's scheme. */
	if (link[0] == '/' && link[1] == '/')
		absolute = xasprintf("%.*s%s", (int)strcspn(l->upstream->origin, "/"), l->upstream->origin, link);
	else if (has_scheme(link))
		absolute = xstrdup(link);
	const char *rest = absolute ? upstream_rest(l->upstream, absolute) : NULL;
	if (absolute && !rest)
		return NULL;
	AUTO(freep) char *target = resolve(l->base, rest ? (*rest == '/' ? rest : "/") : link);
	if (l->kind == LINKS_HTML && word_is(&l->tag, "base")) {
		free(l->base);
		l->base = take_ptr(target);
	} else if (*link != '#' && *link) {
		tell(l, target);
	}
	return rest ? xasprintf("%s%s", l->local, rest) : NULL;
}

/* Undoes the escapes that a URL may have in JSON; false if it has others. */
static bool unescape(struct buf *token)
{
	size_t to = 0;
	for (size_t i = 0; i < token->len; i++) {
		if (token->data[i] == '\\') {
			if (i + 1 == token->len || token->data[i + 1] != '/')
				return false;
			i++;
		}
		token->data[to++] = token->data[i];
	}
	token->len = to;
	return true;
}

static void pass_token(struct links *l, struct buf *out)
{
	AUTO(buf_release) struct buf link = { 0 };
	buf_add(&link, l->token.data, l->token.len);
	bool usable = l->wanted && !memchr(link.data ? link.data : (uint8_t *)"", '\0', link.len) &&
		      (l->kind == LINKS_HTML || unescape(&link));
	AUTO(freep) char *turned = usable ? turn(l, buf_str(&link)) : NULL;
	if (turned)
		buf_add_str(out, turned);
	else
		buf_add(out, l->token.data, l->token.len);
	buf_reset(&l->token);
}

/* --- parser state ------------------------------------------------------------------------------------------------ */

static void begin_string(struct links *l, char quote, bool wanted)
{
	l->where = QUOTED;
	l->quote = quote;
	l->wanted = wanted;
	l->escaped = false;
}

static void in_tag(struct links *l, char c)
{
	if (c == '>') {
		l->where = OUTSIDE;
	} else if (c == '"' || c == '\'') {
		begin_string(l, c, word_is(&l->word, "href="));
	} else if (isspace((unsigned char)c)) {
		/* A space ends the tag's name, or an attribute without a value. */
		if (!l->tag.len)
			l->tag = l->word;
		if (l->word.len && l->word.text[MIN(l->word.len, (size_t)WORD_MAX) - 1] != '=')
			word_clear(&l->word);
	} else {
		word_add(&l->word, c);
	}
}

static void in_html_text(struct links *l, char c)
{
	if (c != '<')
		return;
	l->where = TAG;
	word_clear(&l->tag);
	word_clear(&l->word);
}

static void between_strings(struct links *l, char c)
{
	if (c == '"') {
		bool value = l->key_is_over;
		begin_string(l, c, value && word_is(&l->key, l->kind == LINKS_JSON ? "tarball" : "url"));
		word_clear(&l->key);
		l->key_is_over = false;
	} else if (c == ':') {
		l->key_is_over = true;
	} else if (!isspace((unsigned char)c)) {
		l->key_is_over = false;
	}
}

static void in_string(struct links *l, char c, struct buf *out)
{
	bool json = l->kind != LINKS_HTML;
	if (c == l->quote && !l->escaped) {
		pass_token(l, out);
		buf_add(out, &c, 1);
		l->where = json ? OUTSIDE : TAG;
		word_clear(&l->word);
		return;
	}
	l->escaped = json && c == '\\' && !l->escaped;
	if (json)
		word_add(&l->key, c);
	if (l->wanted && l->token.len < LINK_MAX) {
		buf_add(&l->token, &c, 1);
		return;
	}
	l->wanted = false;
	pass_token(l, out);
	buf_add(out, &c, 1);
}

void links_feed(struct links *l, const void *data, size_t n, struct buf *out)
{
	const char *bytes = data;
	for (size_t i = 0; i < n; i++) {
		if (l->where == QUOTED) {
			in_string(l, bytes[i], out);
			continue;
		}
		if (l->kind == LINKS_HTML && l->where == TAG)
			in_tag(l, bytes[i]);
		else if (l->kind == LINKS_HTML)
			in_html_text(l, bytes[i]);
		else
			between_strings(l, bytes[i]);
		buf_add(out, &bytes[i], 1);
	}
}

void links_finish(struct links *l, struct buf *out)
{
	l->wanted = false;
	pass_token(l, out);
}
