#include "cli/cp-names.h"

#include "base/alloc.h"

#define WORKSPACE "/workspace"

const char *cp_split(const char *word, char **ret_session)
{
	size_t n = strcspn(word, ":/");
	if (word[n] != ':' || !n)
		return NULL;
	*ret_session = xstrndup(word, n);
	return word + n + 1;
}

static size_t count(const char *const *words)
{
	size_t n = 0;
	while (words && words[n])
		n++;
	return n;
}

static int refuse_both(struct fail *f)
{
	fail_set(f, FAIL_INVALID, "cannot copy: either the destination or all sources must be in one session");
	return fail_hint(f,
			 "Write SESSION:PATH for a path in the session, and ./NAME for a file whose name has a colon.");
}

/* Either all sources are in one session, or none of them is. */
static int take_sources(struct cp_names *names, struct fail *f)
{
	for (size_t i = 0; i < names->n; i++) {
		AUTO(freep) char *session = NULL;
		if (!cp_split(names->sources[i], &session) != names->in)
			return refuse_both(f);
		if (session && names->session && !streq(session, names->session))
			return refuse_both(f);
		if (session && !names->session)
			names->session = take_ptr(session);
	}
	return 0;
}

int cp_names_take(const char *const *words, struct cp_names *ret, struct fail *f)
{
	size_t n = count(words);
	AUTO(freep) char *session = NULL;
	if (n < 2)
		return fail_set(f, FAIL_INVALID, "cp needs a source and a destination, one of them as SESSION:PATH");
	const char *inside = cp_split(words[n - 1], &session);
	struct cp_names names = { .in = inside != NULL,
				  .session = take_ptr(session),
				  .sources = words,
				  .n = n - 1,
				  .destination = inside ? inside : words[n - 1] };
	if (take_sources(&names, f) < 0) {
		free(names.session);
		return -1;
	}
	*ret = names;
	return 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && streq(s + n - m, end);
}

bool cp_is_content(const char *path)
{
	return streq(path, ".") || ends_with(path, "/.");
}

char *cp_base(const char *path)
{
	size_t end = strlen(path), start;
	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/';)
		start--;
	return xstrndup(path + start, end - start);
}

/* True for paths that are folders in every session, and for paths that are written as folders. */
static bool is_folder(const char *path)
{
	static const char *const roots[] = { "", "~", WORKSPACE, "/tmp", "/home/sandbox" };
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (streq(path, roots[i]))
			return true;
	return ends_with(path, "/") || cp_is_content(path);
}

char *cp_place(const char *path, const char *base, bool content, bool many, bool *ret_may_be_folder)
{
	const char *to = *path ? path : WORKSPACE;
	*ret_may_be_folder = !content && !many && !is_folder(path);
	if (content || (!many && !is_folder(path)))
		return xstrdup(to);
	return xasprintf("%s%s%s", to, ends_with(to, "/") ? "" : "/", base);
}
