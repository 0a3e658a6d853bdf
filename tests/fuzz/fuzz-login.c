/* Settings of package indexes and requests to an index with a login: the first line is a setting, the rest are bytes of a
 * program. Only GET and HEAD requests below the index get the login. */
#include "base/alloc.h"
#include "manager/deps/logins.h"
#include "manager/gate/login.h"
#include "manager/gate/plain.h"
#include "tests/fuzz/fuzz.h"

#define LOGIN "dTpcY2FuYXJ5"

static void check_path(const struct gate_secret *s, const char *target)
{
	AUTO(freep) char *path = login_path(s, target);
	if (!path)
		return;
	size_t n = strlen(path);
	CHECK(path[0] == '/' && !strstr(path, "/../") && (n < 3 || !streq(path + n - 3, "/..")));
}

/* Each head that has the login is a GET or a HEAD of a path below the index. */
static void check_sent(const struct buf *up)
{
	const char *text = buf_str(up), *at = text;
	while ((at = strstr(at, LOGIN))) {
		const char *head = at;
		while (head > text && strncmp(head, "\r\n\r\n", 4) != 0)
			head--;
		head += head > text ? 4 : 0;
		CHECK(strncmp(head, "GET /a", 6) == 0 || strncmp(head, "HEAD /a", 7) == 0);
		at++;
	}
}

static void check_requests(const uint8_t *data, size_t n)
{
	AUTO(strv_release) struct strv sources = { 0 }, env = { 0 };
	AUTO(buf_release) struct buf up = { 0 }, down = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct secret_set *set = secret_set_new();
	strv_add(&sources, "A=http://u:%5Ccanary@h/a/");
	CHECK(logins_take(set, &env, &sources, &f) == 0);
	set->v[0].placeholder = xstrdup("husk-secret-aaaaaaaaaaaaaaaaaaaaaaaaaa");
	struct gate_filter *filter = plain_new("h", 80, set);
	struct pieces p = { .at = data, .left = n, .state = 1 };
	const uint8_t *piece;
	size_t size;
	int r = 0;
	while (r == 0 && pieces_next(&p, &piece, &size))
		r = filter->type->from_session(filter, piece, size, &up, &down, &f);
	check_sent(&up);
	CHECK(!strstr(buf_str(&down), LOGIN));
	filter->type->free(filter);
	secret_set_unref(set);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(strv_release) struct strv sources = { 0 }, env = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	char *rest = text + strcspn(text, "\n");
	const uint8_t *requests = data + (rest - text);
	struct secret_set *set = secret_set_new();
	*rest = '\0';
	strv_add(&sources, "A=https://u:p@h/given%2fpath/");
	strv_addf(&sources, "B=%s", text);
	(void)logins_take(set, &env, &sources, &f);
	CHECK(set->n >= 1 && set->n <= LOGINS_MAX);
	for (size_t i = 0; i < set->n; i++)
		check_path(&set->v[i], text);
	secret_set_unref(set);
	check_requests(requests, n - (size_t)(requests - data));
	return 0;
}
