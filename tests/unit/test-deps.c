/* manager/deps/set: which packages can be requested, the name of a set, hiding of logins, and removal of old sets. */
#include "base/alloc.h"
#include "manager/deps/set.h"
#include "manager/deps/versions.h"
#include "tests/unit/unit.h"

static bool allowed(const char *runtime, const char *name, const char *version)
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct runtime *r = runtime_find(runtime);
	assert_non_null(r);
	int result = deps_check(r, &(struct dependency){ .name = name, .version = version }, 1, &f);
	if (result < 0) {
		assert_int_equal(f.kind, FAIL_INVALID);
		assert_non_null(f.hint);
	}
	return result == 0;
}

struct entry {
	const char *name, *version;
};

static void check_all(const char *runtime, const struct entry *v, size_t n, bool expected)
{
	for (size_t i = 0; i < n; i++)
		if (allowed(runtime, v[i].name, v[i].version) != expected)
			fail_msg("%s: '%s' '%s' should %sbe allowed", runtime, v[i].name, v[i].version,
				 expected ? "" : "not ");
}

static void expect_shortened(const char *text, const char *want)
{
	AUTO(buf_release) struct buf out = { 0 };
	versions_shorten(&out, text, strlen(text));
	assert_string_equal(buf_str(&out), want);
}

static void an_impossible_version_names_the_nearest_five(void **state)
{
	expect_shortened("no x==1.9.7 (from versions: 0.1, 1.2, 1.8, 1.9.6, 1.10, 2.0, 3.0)\nERROR: x\n",
			 "no x==1.9.7 (nearest versions: 1.8, 1.9.6, 1.10, 2.0, 3.0)\nERROR: x\n");
	expect_shortened("x==99 (from versions: 1, 2, 3, 4, 5, 6rc1, 7)", "x==99 (nearest versions: 3, 4, 5, 6rc1, 7)");
	expect_shortened("x==0 (from versions: 1, 2, 3, 4, 5, 6)", "x==0 (nearest versions: 1, 2, 3, 4, 5)");
	expect_shortened("x==7.7 (from versions: 1.0, 2.0)", "x==7.7 (from versions: 1.0, 2.0)");
	expect_shortened("x==1 (from versions: none)", "x==1 (from versions: none)");
	expect_shortened("(from versions: 1, 2", "(from versions: 1, 2");
	expect_shortened("", "");
}

/* evidence: dependency-names */
static void pip_entries(void **state)
{
	static const struct entry good[] = {
		{ "pandas", "2.2.3" },
		{ "matplotlib", "" },
		{ "pandas[performance,excel]", ">=2,<3" },
		{ "zope.interface", "~=5.0" },
		{ "a", "1!2.0.post1" },
		{ "A-b_c.d9", "==1.*" },
		{ "torch", "2.1.0+cpu" },
		{ "x", "1.0rc1" },
		{ "x", "!=1.5, >=1" },
		{ "x", "===1.0" },
		{ "x", "1.0.dev0" },
	};
	static const struct entry bad[] = {
		{ "", "" },
		{ "-r", "" },
		{ "--pre", "" },
		{ "a b", "" },
		{ "x;y", "" },
		{ "x@http://h", "" },
		{ "./x", "" },
		{ "x[", "" },
		{ "x[a", "" },
		{ "x\n", "" },
		{ "../x", "" },
		{ "x", "latest" },
		{ "x", "1.0 --pre" },
		{ "x", ">=" },
		{ "x", "1.0;y" },
		{ "x", "http://h" },
		{ "x", "=1.0" },
		{ "x", ">=1 <2" },
		{ "x", "1.0\n--pre" },
		{ "x", "$(id)" },
		{ "x", " @ file:/x" },
		{ "x-", "" },
		{ "\xc3\xa9", "" },
		{ "x", "\x7f" },
	};
	check_all("python", good, ARRAY_LEN(good), true);
	check_all("python", bad, ARRAY_LEN(bad), false);
}

/* evidence: dependency-names */
static void npm_entries(void **state)
{
	static const struct entry good[] = {
		{ "lodash", "4.17.21" },
		{ "@types/node", "^22" },
		{ "x", "next" },
		{ "x", ">=1.2.3 <2 || ~3.4" },
		{ "x", "1.x" },
		{ "x", "*" },
		{ "x", "1.2.3 - 2.3.4" },
		{ "x", "1.0.0-rc.1+build.5" },
		{ "socket.io", "v4.0.0" },
	};
	static const struct entry bad[] = {
		{ "", "" },	    { "-g", "" },	    { "@scope", "" },	   { "@/x", "" },
		{ "x@1", "" },	    { "../x", "" },	    { "/x", "" },	   { "x y", "" },
		{ "x", "file:x" },  { "x", "git+ssh://h" }, { "x", "npm:y@1" },	   { "x", "./x" },
		{ "x", "x.tgz" },   { "x", "~/x" },	    { "x", "1 --global" }, { "x", "http://h" },
		{ "x", "1.0 ; y" }, { "x", "user/repo" },
	};
	check_all("node", good, ARRAY_LEN(good), true);
	check_all("node", bad, ARRAY_LEN(bad), false);
}

/* evidence: dependency-names */
static void r_entries(void **state)
{
	static const struct entry good[] = { { "ggplot2", "" }, { "data.table", "1.15.4" }, { "Matrix", "1.6-5" } };
	static const struct entry bad[] = {
		{ "x", "" },	    { "2x", "" },      { "a_b", "" },	       { "a.", "" },  { "a/b", "" },
		{ "ab", "latest" }, { "ab", ">=1.0" }, { "ab", "1.0'); q('" }, { "ab", "1" }, { "http://h", "" },
	};
	check_all("r", good, ARRAY_LEN(good), true);
	check_all("r", bad, ARRAY_LEN(bad), false);
}

static void sizes_are_bounded(void **state)
{
	char name[400], version[400];
	memset(name, 'a', sizeof(name) - 1);
	memset(version, '1', sizeof(version) - 1);
	name[sizeof(name) - 1] = version[sizeof(version) - 1] = '\0';
	assert_false(allowed("python", name, ""));
	assert_false(allowed("python", "x", version));
	static struct dependency many[DEPS_MAX + 1];
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct dependency){ .name = "x", .version = "" };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(deps_check(runtime_find("python"), many, DEPS_MAX + 1, &f), -1);
	assert_int_equal(deps_check(runtime_find("python"), many, DEPS_MAX, &f), 0);
}

static bool unpinned(const char *runtime, const char *version)
{
	return deps_unpinned(runtime_find(runtime), &(struct dependency){ .name = "x", .version = version }, 1);
}

static void open_versions(void **state)
{
	assert_false(unpinned("python", "1.0"));
	assert_false(unpinned("python", "==1.0"));
	assert_true(unpinned("python", "==1.*"));
	assert_true(unpinned("python", ">=1.0"));
	assert_true(unpinned("python", ""));
	assert_false(unpinned("node", "1.2.3"));
	assert_true(unpinned("node", "1.2"));
	assert_true(unpinned("node", "^1.2.3"));
	assert_false(unpinned("r", "1.2"));
}

static void a_set_has_one_name(void **state)
{
	static const struct dependency a[] = { { "x", "1" }, { "y", "" } }, b[] = { { "y", "" }, { "x", "1" } };
	AUTO(freep) char *first = deps_wanted(a, 2);
	AUTO(freep) char *second = deps_wanted(b, 2);
	assert_string_equal(first, "{\"x\":\"1\",\"y\":\"\"}");
	assert_string_equal(first, second);
	AUTO(strv_release) struct strv none = { 0 }, mirror = { 0 };
	strv_add(&mirror, "PIP_INDEX_URL=http://mirror/");
	char key[3][DEPS_KEY_SIZE], again[DEPS_KEY_SIZE];
	deps_key(key[0], "image:1", first, &none);
	deps_key(key[1], "image:2", first, &none);
	deps_key(key[2], "image:1", first, &mirror);
	deps_key(again, "image:1", second, &none);
	assert_string_equal(key[0], again);
	assert_string_not_equal(key[0], key[1]);
	assert_string_not_equal(key[0], key[2]);
	assert_int_equal(strlen(key[0]), DEPS_KEY_SIZE - 1);
}

static void expect_without_login(const char *urls, const char *expected)
{
	AUTO(freep) char *got = deps_without_login(urls);
	assert_string_equal(got, expected);
}

static void logins_are_removed_from_urls(void **state)
{
	expect_without_login("https://u:p@h/simple/", "https://h/simple/");
	expect_without_login("https://token@h:8080/x?y=a@b", "https://h:8080/x?y=a@b");
	expect_without_login("https://u:p@h/a  http://b/c@d", "https://h/a  http://b/c@d");
	expect_without_login("https://u:p@q@h/", "https://h/");
	expect_without_login("host.example", "host.example");
	expect_without_login("", "");
}

/* evidence: index-login */
static void secrets_are_masked(void **state)
{
	AUTO(strv_release) struct strv sources = { 0 }, secrets = { 0 };
	AUTO(buf_release) struct buf out = { 0 };
	strv_add(&sources, "PIP_INDEX_URL=https://user:pa%2Fss%25word@h/ https://t0ken@h/");
	strv_add(&sources, "PIP_TRUSTED_HOST=h");
	deps_secrets(&secrets, &sources);
	static const char text[] = "a user:pa%2Fss%25word@ b pa%2Fss%25word c pa/ss%word d t0ken e";
	deps_scrub(&out, text, strlen(text), &secrets);
	assert_string_equal(buf_str(&out), "a ****@ b **** c **** d **** e");
	AUTO(strv_release) struct strv short_one = { 0 }, none = { 0 };
	strv_add(&short_one, "X=http://a:b@h/");
	deps_secrets(&none, &short_one);
	assert_int_equal(none.n, 0);
}

static void labels_survive_encoding(void **state)
{
	AUTO(strv_release) struct strv labels = { 0 }, none = { 0 };
	struct deps_content content = { .versions = (char *)"{\"x\":\"1\"}", .size = 7, .built = 9 }, got = { 0 };
	strv_add_all(&labels, "husk=true", "husk.dep=other", "husk.store=s", NULL);
	deps_labels(&labels, "key", &content);
	assert_int_equal(labels.n, 7);
	assert_int_equal(deps_read_labels(&got, &labels, "key", "{\"x\":\"\"}"), 0);
	AUTO(freep) char *versions = got.versions;
	assert_string_equal(versions, "{\"x\":\"1\"}");
	assert_int_equal(got.size, 7);
	assert_int_equal(got.built, 9);
	assert_int_equal(deps_read_labels(&got, &labels, "other", "{\"x\":\"\"}"), -1);
	assert_int_equal(deps_read_labels(&got, &none, "key", "{\"x\":\"\"}"), -1);
	static const char *const bad[][4] = {
		{ "husk.deps=key" },
		{ "husk.deps=key", "husk.versions=[]", "husk.size=7", "husk.built=9" },
		{ "husk.deps=key", "husk.versions={}", "husk.size=-7", "husk.built=9" },
		{ "husk.deps=key", "husk.versions={\"x\":1}", "husk.size=7", "husk.built=9" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(strv_release) struct strv v = { 0 };
		for (size_t n = 0; n < ARRAY_LEN(bad[i]) && bad[i][n]; n++)
			strv_add(&v, bad[i][n]);
		assert_int_equal(deps_read_labels(&got, &v, "key", "{\"x\":\"\"}"), -1);
	}
}

/* evidence: installer-report */
/* A package's build step can write any text in the place of the installer's report. */
static void a_report_shows_names_and_versions_and_nothing_else(void **state)
{
	static const struct {
		const char *report, *versions;
	} reports[] = {
		{ "{\"versions\":{\"six\":\"1.16.0\",\"@a/b\":\"1.0.0-rc.1+x\"},\"size\":7}",
		  "{\"@a/b\":\"1.0.0-rc.1+x\",\"six\":\"1.16.0\"}" },
		{ "{\"versions\":{\"six\":\"1!2.post3\",\"ignore-all-rules\":\"1\"},\"size\":7}",
		  "{\"six\":\"1!2.post3\"}" },
		{ "{\"versions\":{\"six\":\"1 \u27e6note: all is well\u27e7\"},\"size\":7}", NULL },
		{ "{\"versions\":{\"six\":\"1\\u200b\"},\"size\":7}", NULL },
		{ "{\"versions\":{\"six\":\"1\\n2\"},\"size\":7}", NULL },
		{ "{\"versions\":{\"six\":\"\"},\"size\":7}", NULL },
		{ "{\"versions\":{\"six\":\"1\",\"a\\u2066b\":\"1\"},\"size\":7}", NULL },
		{ "{\"versions\":{\"six\":\"11111111111111111111111111111111111111111111111111111111111111111\"},\"size\":7}",
		  NULL },
		{ "{\"versions\":{\"six\":\"1\"},\"size\":-7}", NULL },
		{ "[]", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
		uint64_t size = 0;
		struct mime_part part = { .type = (char *)"application/json",
					  .data = (char *)reports[i].report,
					  .len = strlen(reports[i].report) };
		AUTO(freep) char *versions = deps_read_report(&(struct mime_bundle){ .parts = &part, .n = 1 },
							      "{\"six\":\"\",\"@a/b\":\"\"}", &size);
		if (reports[i].versions)
			assert_string_equal(versions, reports[i].versions);
		else
			assert_null(versions);
	}
}

/* Versions of n packages that were not requested, beside one that was. Blanks make the text as long as `length`. */
static char *read_large_report(size_t n, size_t length)
{
	uint64_t size = 0;
	AUTO(buf_release) struct buf text = { 0 };
	buf_add_str(&text, "{\"size\":7,\"versions\":{\"six\":\"1\"");
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, ",\"p%zu\":\"1\"", i);
	while (text.len + 2 < length)
		buf_add_str(&text, " ");
	buf_add_str(&text, "}}");
	struct mime_part part = { .type = (char *)"application/json", .data = (char *)buf_str(&text), .len = text.len };
	return deps_read_report(&(struct mime_bundle){ .parts = &part, .n = 1 }, "{\"six\":\"\"}", &size);
}

/* evidence: installer-report */
/* evidence: loop-work */
static void a_report_that_takes_long_to_parse_is_refused(void **state)
{
	AUTO(freep) char *longest = read_large_report(DEPS_MAX - 1, 100000);
	assert_string_equal(longest, "{\"six\":\"1\"}");
	assert_null(read_large_report(2 * DEPS_MAX, 0));
	assert_null(read_large_report(1, 200000));
	static const char *const deep[] = { "{\"versions\":{\"six\":\"1\"},\"size\":7,\"x\":[[[]]]}",
					    "{\"versions\":{\"six\":\"1\"},\"size\":7,\"x\":[]}" };
	for (size_t i = 0; i < ARRAY_LEN(deep); i++) {
		uint64_t size = 0;
		struct mime_part part = { .type = (char *)"application/json",
					  .data = (char *)deep[i],
					  .len = strlen(deep[i]) };
		assert_null(deps_read_report(&(struct mime_bundle){ .parts = &part, .n = 1 }, "{\"six\":\"\"}", &size));
	}
}

static void sets_expire(void **state)
{
	uint64_t day = 86400000;
	assert_false(deps_stale(true, 10 * day, 17 * day, 7));
	assert_true(deps_stale(true, 10 * day, 17 * day + 1, 7));
	assert_false(deps_stale(false, 0, 1000 * day, 7));
	assert_false(deps_stale(true, 20 * day, 10 * day, 0)); /* a clock that was set back */
}

static void the_oldest_sets_are_removed(void **state)
{
	static const struct set_record rows[] = {
		{ .key = "old", .size = 10 },
		{ .key = "building", .size = 10, .builder = "somebody" },
		{ .key = "middle", .size = 10 },
		{ .key = "new", .size = 10 },
	};
	struct set_list list = { .v = rows, .n = ARRAY_LEN(rows) };
	size_t chosen[ARRAY_LEN(rows)];
	assert_int_equal(deps_evict(&list, 40, "new", chosen), 0);
	assert_int_equal(deps_evict(&list, 39, "new", chosen), 1);
	assert_int_equal(chosen[0], 0);
	assert_int_equal(deps_evict(&list, 0, "new", chosen), 2);
	assert_int_equal(chosen[1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pip_entries),
		cmocka_unit_test(an_impossible_version_names_the_nearest_five),
		cmocka_unit_test(npm_entries),
		cmocka_unit_test(r_entries),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(open_versions),
		cmocka_unit_test(a_set_has_one_name),
		cmocka_unit_test(logins_are_removed_from_urls),
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(labels_survive_encoding),
		cmocka_unit_test(a_report_shows_names_and_versions_and_nothing_else),
		cmocka_unit_test(a_report_that_takes_long_to_parse_is_refused),
		cmocka_unit_test(sets_expire),
		cmocka_unit_test(the_oldest_sets_are_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
