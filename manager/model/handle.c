#include "manager/model/handle.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/model/cause.h"

/* Number of matches that an error lists. */
#define LISTED_MAX 10

enum rank { BY_ID, BY_NAME, BY_PREFIX, BY_PREFIX_OF_ENDED, BY_NOTHING };

bool handle_is_word(const char *word)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(word);
	return n && n <= HANDLE_NAME_MAX && strspn(word, allowed) == n;
}

bool handle_name_is_valid(const char *name)
{
	return handle_is_word(name) && isalpha((unsigned char)*name);
}

static enum rank rank_of(const struct handle *h, const char *word)
{
	if (streq(h->id, word))
		return BY_ID;
	if (h->live && h->name && streq(h->name, word))
		return BY_NAME;
	if (!*word || strncmp(h->id, word, strlen(word)) != 0)
		return BY_NOTHING;
	return h->live ? BY_PREFIX : BY_PREFIX_OF_ENDED;
}

static int ambiguous(const struct handle *v, size_t n, const char *word, enum rank rank, struct fail *f)
{
	AUTO(buf_release) struct buf list = { 0 };
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		if (rank_of(&v[i], word) == rank && found++ < LISTED_MAX)
			buf_printf(&list, "%s%.64s%s%s", found > 1 ? ", " : "", v[i].id, v[i].name ? " " : "",
				   v[i].name ? v[i].name : "");
	return fail_set(f, FAIL_INVALID, "'%.64s' means more than one session: %s%s. Write more of the id.", word,
			buf_str(&list), found > LISTED_MAX ? " and others" : "");
}

int handle_find(const struct handle *v, size_t n, const char *word, size_t *ret, struct fail *f)
{
	enum rank best = BY_NOTHING;
	size_t at = 0, same = 0;
	for (size_t i = 0; i < n; i++) {
		enum rank rank = rank_of(&v[i], word);
		if (rank < best) {
			best = rank;
			at = i;
			same = 0;
		}
		same += rank == best && rank != BY_NOTHING;
	}
	if (best == BY_NOTHING)
		return cause_no_session(f, word);
	if (same > 1)
		return ambiguous(v, n, word, best, f);
	*ret = at;
	return 0;
}
