/* manager/files/names: file names from a session, as paths and names on the host. */
#include "manager/files/names.h"

#include <limits.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

static void check_path(const char *text)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = names_session_path(text, &f);
	if (!path) {
		CHECK(f.message && *f.message);
		return;
	}
	CHECK(names_below(path, "/workspace") || names_below(path, "/tmp") || names_below(path, "/home/sandbox"));
	CHECK(!strstr(path, "/../") && !strstr(path, "/./") && !strstr(path, "//"));
	AUTO(freep) char *again = names_session_path(path, &f);
	CHECK(again && streq(again, path));
}

static void check_host_file(const char *name, bool directory)
{
	AUTO(freep) char *host = names_host_file(name, directory);
	size_t n = strlen(host);
	CHECK(n && n <= NAME_MAX && !strchr(host, '/') && !streq(host, ".") && !streq(host, ".."));
	CHECK(utf8_valid(host, n) && !strpbrk(host, "\n\r\t\x1b\x7f"));
	CHECK(!directory || (n >= 4 && streq(host + n - 4, ".tar")));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	AUTO(freep) char *base = names_base(text);
	CHECK(!strchr(base, '/') || streq(base, "/"));
	CHECK(strlen(names_extension(base)) <= strlen(base) && strchr(names_mime(base), '/'));
	check_path(text);
	check_host_file(base, false);
	check_host_file(base, true);
	return 0;
}
