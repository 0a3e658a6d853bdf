/* manager/store: exports and the queue of jobs, on SQLite and on Postgres. */
#include "manager/store/store.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "tests/unit/store-rig.h"
#include "tests/unit/unit.h"

/* --- exports ----------------------------------------------------------------------------------------------------- */

static struct export_record export(const char *id, const char *path, uint64_t created)
{
	return (struct export_record){
		.id = id,
		.thread = "t1",
		.session = "s1",
		.path = path,
		.name = strrchr(path, '/') + 1,
		.size = 7,
		.stored = 8,
		.hash = "abcd",
		.mime = "text/csv",
		.mode = 0640,
		.mtime_ms = 1234567890123,
		.created = created,
	};
}

static void add_export(const char *id, const char *path, uint64_t created, bool directory)
{
	struct export_record e = export(id, path, created);
	e.directory = directory;
	ask_export_add(&b, &a, &e);
	assert_fine(&a);
}

static void an_export_survives_a_restart(void **state)
{
	add_export("e1", "/workspace/a.csv", 5, false);
	bench_restart(&b);
	ask_export_get(&b, &a, "t1", "e1");
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	const struct export_record *e = a.exports;
	assert_string_equal(e->id, "e1");
	assert_string_equal(e->thread, "t1");
	assert_string_equal(e->session, "s1");
	assert_string_equal(e->path, "/workspace/a.csv");
	assert_string_equal(e->name, "a.csv");
	assert_false(e->directory);
	assert_int_equal(e->size, 7);
	assert_int_equal(e->stored, 8);
	assert_string_equal(e->hash, "abcd");
	assert_string_equal(e->mime, "text/csv");
	assert_int_equal(e->mode, 0640);
	assert_int_equal(e->mtime_ms, 1234567890123);
	assert_int_equal(e->created, 5);
	ask_export_get(&b, &a, "t2", "e1"); /* another conversation's export is not visible */
	assert_fine(&a);
	assert_int_equal(a.n, 0);
	add_export("e1", "/workspace/a.csv", 5, false); /* recorded twice, kept once */
	ask_exports(&b, &a, "t1", 0, NULL, 10);
	assert_int_equal(a.n, 1);
}

static void expect_found(const char *path, const char *id)
{
	ask_export_find(&b, &a, "t1", "s1", path);
	assert_fine(&a);
	assert_int_equal(a.n, id ? 1 : 0);
	if (id)
		assert_string_equal(a.exports[0].id, id);
}

static void an_export_is_found_by_its_path(void **state)
{
	add_export("old", "/workspace/a", 1, false);
	add_export("new", "/workspace/a", 2, false);
	add_export("dir", "/workspace/d", 3, true);
	add_export("sub", "/workspace/d/e", 4, true);
	add_export("file", "/workspace/f", 5, false);
	expect_found("/workspace/a", "new");
	expect_found("/workspace/d", "dir");
	expect_found("/workspace/d/x", "dir");
	expect_found("/workspace/d/e/x", "sub");
	expect_found("/workspace/d/ex", "dir");
	expect_found("/workspace/dx", NULL);
	expect_found("/workspace/f/x", NULL); /* a file has nothing below it */
	expect_found("/workspace", NULL);
	ask_export_find(&b, &a, "t2", "s1", "/workspace/a");
	assert_int_equal(a.n, 0);
	ask_export_find(&b, &a, "t1", "s2", "/workspace/a");
	assert_int_equal(a.n, 0);
}

static void a_path_may_be_any_bytes(void **state)
{
	static const char *const paths[] = {
		"/workspace/100%",	    "/workspace/%41",
		"/workspace/\xff\xfe/\xc3", "/workspace/caf\xc3\xa9/\xe9",
		"/workspace/a\nb 'c'",	    "/workspace/\xf0\x9f\x8c\xbe%\x80",
	};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO(freep) char *id = xasprintf("e%zu", i), *below = xasprintf("%s/x", paths[i]);
		add_export(id, paths[i], i, true);
		expect_found(paths[i], id);
		assert_string_equal(a.exports[0].path, paths[i]);
		assert_string_equal(a.exports[0].name, strrchr(paths[i], '/') + 1);
		expect_found(below, id);
	}
	expect_found("/workspace/A", NULL);
}

static void exports_are_listed_by_pages(void **state)
{
	for (unsigned i = 0; i < 5; i++) {
		AUTO(freep) char *id = xasprintf("e%u", i);
		add_export(id, "/workspace/a", 10 + i / 2, false); /* two at the same time */
	}
	struct export_record foreign = export("f0", "/workspace/a", 11);
	foreign.thread = "t2";
	ask_export_add(&b, &a, &foreign);
	ask_exports(&b, &a, "t1", 0, NULL, 2);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.exports[0].id, "e4");
	assert_string_equal(a.exports[1].id, "e3");
	ask_exports(&b, &a, "t1", 11, "e3", 2);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.exports[0].id, "e2");
	assert_string_equal(a.exports[1].id, "e1");
	ask_exports(&b, &a, "t1", 10, "e1", 2);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.exports[0].id, "e0");
	ask_exports(&b, &a, NULL, 0, NULL, 100);
	assert_int_equal(a.n, 6);
}

/* --- jobs -------------------------------------------------------------------------------------------------------- */

static void count(void *ctx, const struct export_record *found, const struct fail *f)
{
	++*(int *)ctx;
}

/* Creates the file of content `hash`, which counts as 8 bytes, in a new folder. The caller owns the returned path. */
static char *keep_content(const char *hash)
{
	AUTO(freep) char *folder = xasprintf("%s/%s", b.dir, hash);
	char *content = xasprintf("%s/file", folder);
	(void)mkdir(folder, 0700);
	FILE *f = fopen(content, "we");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	return content;
}

static void claim(const char *thread, const char *id, const char *hash, enum fail_kind expected, const char *words)
{
	static const struct export_limits limits = { .conversation = 20, .total = 30 };
	struct export_record e = export(id, "/workspace/a.csv", 5);
	AUTO(freep) char *content = keep_content(hash);
	e.thread = thread;
	e.hash = hash;
	e.file = "file";
	ask_export_claim(&b, &a, &e, content, &limits);
	assert_int_equal(a.fail.kind, expected);
	if (!words)
		return;
	assert_non_null(strstr(a.fail.message, words));
	assert_non_null(strstr(a.fail.hint, "husk exports --delete"));
	assert_int_not_equal(access(content, F_OK), 0);
}

/* evidence: exports-limits */
static void bytes_of_exports_are_limited_and_counted_once(void **state)
{
	claim("t1", "e1", "h1", FAIL_NONE, NULL);
	claim("t1", "e2", "h2", FAIL_NONE, NULL);
	claim("t1", "e3", "h3", FAIL_LIMIT, "EXPORTS_MAX_SIZE_PER_CONVERSATION");
	/* Existing content takes no more space. */
	claim("t1", "e4", "h1", FAIL_NONE, NULL);
	claim("t2", "e5", "h2", FAIL_NONE, NULL);
	claim("t2", "e6", "h4", FAIL_NONE, NULL);
	claim("t3", "e7", "h5", FAIL_LIMIT, "all conversations");
	AUTO(freep) char *shared = xasprintf("%s/h2/file", b.dir);
	assert_int_equal(access(shared, F_OK), 0);
}

static void the_number_of_exports_is_limited(void **state)
{
	static const struct export_limits limits = { .conversation = 1000, .total = 1000, .count = 2 };
	static const char *const hashes[] = { "h1", "h1", "h2" };
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
		AUTO(freep) char *id = xasprintf("e%zu", i);
		AUTO(freep) char *content = keep_content(hashes[i]);
		struct export_record e = export(id, "/workspace/a.csv", 5);
		e.hash = hashes[i];
		e.file = "file";
		ask_export_claim(&b, &a, &e, content, &limits);
		assert_int_equal(a.fail.kind, i < 2 ? FAIL_NONE : FAIL_LIMIT);
		assert_true(i < 2 || strstr(a.fail.message, "EXPORTS_MAX_COUNT_PER_CONVERSATION"));
		assert_int_equal(access(content, F_OK) == 0, i < 2);
	}
}

static void an_export_without_its_content_is_not_recorded(void **state)
{
	struct export_record e = export("e1", "/workspace/a.csv", 5);
	ask_export_claim(&b, &a, &e, "/nowhere/file", NULL);
	assert_int_equal(a.fail.kind, FAIL_STORE);
	ask_export_get(&b, &a, NULL, "e1");
	assert_fine(&a);
	assert_int_equal(a.n, 0);
}

/* evidence: exports-limits */
static void deleted_exports_free_space(void **state)
{
	struct export_record e = export("e1", "/workspace/a.csv", 5);
	AUTO(freep) char *content = keep_content("h1");
	claim("t1", "e1", "h1", FAIL_NONE, NULL);
	claim("t1", "e2", "h2", FAIL_NONE, NULL);
	claim("t2", "e3", "h1", FAIL_NONE, NULL);
	e.hash = "h1";
	e.file = "file";
	ask_export_delete(&b, &a, &e, content);
	assert_fine(&a);
	/* The other conversation still has it. */
	assert_int_equal(access(content, F_OK), 0);
	claim("t1", "e4", "h4", FAIL_NONE, NULL);
	ask_exports(&b, &a, "t1", 0, NULL, 10);
	assert_fine(&a);
	assert_int_equal(a.n, 2);
	ask_export_get(&b, &a, "t1", "e1");
	assert_int_equal(a.n, 0);
	e.id = "e3";
	ask_export_delete(&b, &a, &e, content);
	assert_fine(&a);
	assert_int_not_equal(access(content, F_OK), 0);
}

static void a_cancelled_job_is_not_answered(void **state)
{
	int answers[3] = { 0 };
	struct store_job *first = store_export_get(b.store, "t1", "e1", count, &answers[0]); /* may already be
	                                                                                      * running */
	struct store_job *second = store_export_get(b.store, "t1", "e1", count, &answers[1]);
	store_export_get(b.store, "t1", "e1", count, &answers[2]);
	store_cancel(first);
	store_cancel(second);
	store_cancel(NULL);
	ask_exports(&b, &a, "t1", 0, NULL, 1);
	assert_fine(&a);
	assert_int_equal(answers[0], 0);
	assert_int_equal(answers[1], 0);
	assert_int_equal(answers[2], 1);
}

static void queued_jobs_are_dropped_with_the_store(void **state)
{
	int answers = 0;
	for (int i = 0; i < 10; i++)
		store_export_get(b.store, "t1", "e1", count, &answers);
	bench_restart(&b);
	ask_exports(&b, &a, "t1", 0, NULL, 1);
	assert_fine(&a);
	assert_int_equal(answers, 0);
}

static void too_many_jobs_are_rejected(void **state)
{
	int answers = 0;
	for (int i = 0; i < 2000; i++)
		store_export_get(b.store, "t1", "e1", count, &answers);
	ask_exports(&b, &a, "t1", 0, NULL, 1);
	assert_fails(&a, FAIL_STORE, "already waiting for the store");
	while (answers < 2000) {
		ask_exports(&b, &a, "t1", 0, NULL, 1);
		assert_true(answers <= 2000);
	}
	ask_exports(&b, &a, "t1", 0, NULL, 1);
	assert_fine(&a);
}

/* evidence: store-modes */
static void the_database_is_opened_by_the_first_job(void **state)
{
	struct stat st;
	assert_int_equal(stat(b.config.state_dir, &st), -1);
	ask_exports(&b, &a, NULL, 0, NULL, 1);
	assert_fine(&a);
	AUTO(freep) char *path = xasprintf("%s/husk.db", b.config.state_dir);
	if (bench_url) {
		assert_int_equal(stat(b.config.state_dir, &st), -1);
		return;
	}
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
}

static void invalid_utf8_is_rejected(void **state)
{
	struct export_record e = export("e1", "/workspace/a", 1);
	e.mime = "\xff";
	ask_export_add(&b, &a, &e);
	assert_fails(&a, FAIL_INTERNAL, "UTF-8");
	ask_exports(&b, &a, NULL, 0, NULL, 1);
	assert_fine(&a);
	assert_int_equal(a.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(an_export_survives_a_restart),
	TEST(an_export_is_found_by_its_path),
	TEST(a_path_may_be_any_bytes),
	TEST(exports_are_listed_by_pages),
	TEST(bytes_of_exports_are_limited_and_counted_once),
	TEST(the_number_of_exports_is_limited),
	TEST(an_export_without_its_content_is_not_recorded),
	TEST(deleted_exports_free_space),
	TEST(a_cancelled_job_is_not_answered),
	TEST(queued_jobs_are_dropped_with_the_store),
	TEST(too_many_jobs_are_rejected),
	TEST(the_database_is_opened_by_the_first_job),
	TEST(invalid_utf8_is_rejected),
};

int main(void)
{
	return cmocka_run_group_tests_name("exports on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("exports on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
