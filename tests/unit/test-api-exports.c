/* Routes of exports: pages, content, ranges, signed links, and tenants that do not see each other. */
#include "base/alloc.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

static const char *text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));
	return text ? text : "";
}

static char *content_path(const char *id)
{
	return xasprintf("/v1/exports/%s/content", id);
}

static void exports_are_listed_in_pages(void **state)
{
	AUTO(freep) char *a = api_add_export("t", "a.txt", "a"), *c = NULL;
	AUTO(freep) char *other = api_add_export("other", "b.txt", "b");
	c = api_add_export("t", "c.txt", "c");
	AUTO(reply_release) struct reply first = api_call("GET", "/v1/exports?limit=1", NULL, NULL);
	const json_t *one = json_array_get(json_object_get(first.json, "exports"), 0);
	assert_int_equal(first.status, 200);
	assert_int_equal(json_array_size(json_object_get(first.json, "exports")), 1);
	AUTO(freep) char *page = xasprintf("/v1/exports?limit=5&after=%s", text_of(first.json, "next"));
	AUTO(reply_release) struct reply second = api_call("GET", page, NULL, NULL);
	const json_t *two = json_array_get(json_object_get(second.json, "exports"), 0);
	assert_int_equal(json_array_size(json_object_get(second.json, "exports")), 1);
	assert_null(json_object_get(second.json, "next"));
	assert_string_not_equal(text_of(one, "id"), text_of(two, "id"));
	assert_true(*text_of(one, "host_path"));
	AUTO(reply_release) struct reply bad = api_call("GET", "/v1/exports?after=nonsense", NULL, NULL);
	assert_int_equal(bad.status, 400);
	free(take_ptr(c));
}

static void the_content_has_its_hash_as_etag(void **state)
{
	AUTO(freep) char *id = api_add_export("t", "a b.txt", "0123456789");
	AUTO(freep) char *path = content_path(id);
	AUTO(reply_release) struct reply r = api_call("GET", path, NULL, NULL);
	AUTO(freep) char *etag = reply_field(&r, "ETag");
	AUTO(freep) char *name = reply_field(&r, "Content-Disposition");
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "0123456789");
	assert_string_equal(name, "attachment; filename*=UTF-8''a%20b.txt");
	AUTO(freep) char *condition = xasprintf("If-None-Match: \"x\", %s\r\n", etag);
	AUTO(reply_release) struct reply same = api_call("GET", path, condition, NULL);
	assert_int_equal(same.status, 304);
	assert_string_equal(same.body, "");
	AUTO(reply_release) struct reply head = api_call("HEAD", path, NULL, NULL);
	AUTO(freep) char *length = reply_field(&head, "Content-Length");
	assert_int_equal(head.status, 200);
	assert_string_equal(head.body, "");
	assert_string_equal(length, "10");
}

static void ranges_are_answered(void **state)
{
	static const struct {
		const char *range;
		int status;
		const char *body, *content_range;
	} cases[] = {
		{ "bytes=2-4", 206, "234", "bytes 2-4/10" },  { "bytes=7-", 206, "789", "bytes 7-9/10" },
		{ "bytes=-2", 206, "89", "bytes 8-9/10" },    { "bytes=10-", 416, NULL, "bytes */10" },
		{ "bytes=0-1,4-5", 200, "0123456789", NULL },
	};
	AUTO(freep) char *id = api_add_export("t", "a.txt", "0123456789");
	AUTO(freep) char *path = content_path(id);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *field = xasprintf("Range: %s\r\n", cases[i].range);
		AUTO(reply_release) struct reply r = api_call("GET", path, field, NULL);
		AUTO(freep) char *range = reply_field(&r, "Content-Range");
		assert_int_equal(r.status, cases[i].status);
		if (cases[i].body)
			assert_string_equal(r.body, cases[i].body);
		assert_true(!range == !cases[i].content_range);
		if (range)
			assert_string_equal(range, cases[i].content_range);
	}
}

/* Several pieces, and a client that reads slowly: FAKE_UNTIL reads 4 KiB at a time. */
static void long_content_arrives_whole(void **state)
{
	size_t n = 3u << 20;
	AUTO(freep) char *content = xcalloc(1, n + 1);
	for (size_t i = 0; i < n; i++)
		content[i] = (char)('a' + i % 23);
	AUTO(freep) char *id = api_add_export("t", "long.txt", content);
	AUTO(freep) char *path = content_path(id);
	AUTO(reply_release) struct reply r = api_call("GET", path, NULL, NULL);
	assert_string_equal(r.body, content);
}

static void a_client_that_leaves_ends_its_download(void **state)
{
	size_t n = 8u << 20;
	AUTO(freep) char *content = xcalloc(1, n + 1);
	memset(content, 'x', n);
	AUTO(freep) char *id = api_add_export("t", "long.txt", content);
	AUTO(freep) char *request = xasprintf("GET /v1/exports/%s/content HTTP/1.1\r\nHost: husk\r\n\r\n", id);
	AUTO(buf_release) struct buf got = { 0 };
	int fd = api_connect();
	api_send(fd, request);
	api_read_until(fd, &got, "200 OK");
	close(fd);
	AUTO(reply_release) struct reply r = api_call("GET", "/healthz", NULL, NULL);
	assert_int_equal(r.status, 200);
}

/* --- links and tenants --------------------------------------------------------------------------------------------- */

static void links_work_without_a_key_until_they_are_changed(void **state)
{
	AUTO(freep) char *key = api_key("k", "acme", SCOPES_DEFAULT);
	AUTO(freep) char *id = api_add_export("@acme/one", "a.txt", "secret");
	AUTO(freep) char *other = api_add_export("@acme/one", "b.txt", "other");
	AUTO(freep) char *path = xasprintf("/v1/exports/%s", id);
	AUTO(reply_release) struct reply shown = api_call_remote("GET", path, key, NULL);
	const char *link = text_of(shown.json, "download_url");
	assert_int_equal(shown.status, 200);
	assert_null(json_object_get(shown.json, "host_path"));
	assert_string_equal(text_of(shown.json, "conversation"), "one");
	assert_memory_equal(link, "http://127.0.0.1:", 17);
	const char *target = strstr(link, "/v1/");
	AUTO(reply_release) struct reply r = api_call_remote("GET", target, NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "secret");
	/* Another path, a later end, a bad signature, no signature. */
	AUTO(freep) char *foreign = xasprintf("/v1/exports/%s/content%s", other, strchr(target, '?'));
	AUTO(freep) char *later = xstrdup(target), *bad = NULL, *bare = content_path(id);
	strstr(later, "expires=")[8] = '9';
	bad = xstrdup(target);
	bad[strlen(bad) - 1] ^= 1;
	const char *const refused[] = { foreign, later, bad };
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		AUTO(reply_release) struct reply no = api_call_remote("GET", refused[i], NULL, NULL);
		assert_int_equal(no.status, 403);
	}
	AUTO(reply_release) struct reply none = api_call_remote("GET", bare, NULL, NULL);
	assert_int_equal(none.status, 401);
	free(take_ptr(bad));
	free(take_ptr(bare));
}

static void an_expired_link_says_so(void **state)
{
	char signature[MANAGER_SIGNATURE_SIZE];
	AUTO(freep) char *id = api_add_export("t", "a.txt", "x");
	AUTO(freep) char *path = xasprintf("/v1/exports/%s", id);
	AUTO(reply_release) struct reply prepared = api_call("GET", path, NULL, NULL);
	AUTO(freep) char *text = xasprintf("/v1/exports/%s/content?expires=1000", id);
	manager_sign(manager, text, signature);
	AUTO(freep) char *target = xasprintf("%s&signature=%s", text, signature);
	AUTO(reply_release) struct reply r = api_call_remote("GET", target, NULL, NULL);
	assert_int_equal(r.status, 403);
	assert_non_null(strstr(text_of(r.json, "detail"), "expired"));
}

static void another_tenants_export_does_not_exist(void **state)
{
	AUTO(freep) char *key = api_key("k", "acme", SCOPES_DEFAULT);
	AUTO(freep) char *id = api_add_export("@other/one", "a.txt", "secret");
	static const struct {
		const char *method, *rest;
	} cases[] = { { "GET", "" }, { "GET", "/content" }, { "DELETE", "" } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *mine = xasprintf("/v1/exports/%s%s", id, cases[i].rest);
		AUTO(freep) char *none = xasprintf("/v1/exports/aaaaaaaaaaaaaaaaaaaaaaaaaa%s", cases[i].rest);
		AUTO(reply_release) struct reply foreign = api_call_remote(cases[i].method, mine, key, NULL);
		AUTO(reply_release) struct reply absent = api_call_remote(cases[i].method, none, key, NULL);
		assert_int_equal(foreign.status, 404);
		assert_int_equal(absent.status, 404);
		assert_string_equal(text_of(foreign.json, "type"), text_of(absent.json, "type"));
	}
	AUTO(freep) char *path = xasprintf("/v1/exports/%s", id);
	AUTO(reply_release) struct reply still = api_call("GET", path, NULL, NULL);
	assert_int_equal(still.status, 404); /* the unix socket is the tenant `local` */
}

#define FORM "Content-Type: multipart/form-data; boundary=XX\r\n"
#define PART(file) "--XX\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" file "\"\r\n\r\ntext\r\n"

static void bad_forms_are_refused(void **state)
{
	static const struct {
		const char *fields, *body;
		int status;
	} cases[] = {
		{ NULL, "{}", 415 },
		{ FORM, "", 400 },
		{ FORM, "--XX--\r\n", 400 },
		{ FORM, PART("a"), 400 },
		{ FORM, PART("..") "--XX--\r\n", 400 },
		{ FORM, PART("a\xff") "--XX--\r\n", 400 },
		{ FORM, "--XX\r\nContent-Disposition: form-data; name=\"files\"\r\n\r\ntext\r\n--XX--\r\n", 400 },
		{ FORM, PART("a") PART("dir/b") "--XX--\r\n", 200 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r =
			api_call("POST", "/threads/t/files/upload", cases[i].fields, cases[i].body);
		if (r.status != cases[i].status)
			fail_msg("%zu: %d %s", i, r.status, r.body);
	}
	AUTO(reply_release) struct reply foreign =
		api_call("POST", "/threads/@other%2Ft/files/upload", FORM, PART("a") "--XX--\r\n");
	assert_int_equal(foreign.status, 400);
	AUTO(reply_release) struct reply listed = api_call("GET", "/v1/exports", "Husk-Conversation: t\r\n", NULL);
	assert_int_equal(json_array_size(json_object_get(listed.json, "exports")), 2);
}

static void a_form_above_the_limit_is_refused(void **state)
{
	b.config.exports_max_size_per_conversation = 3;
	AUTO(reply_release) struct reply r = api_call("POST", "/threads/t/files/upload", FORM, PART("a") "--XX--\r\n");
	assert_int_equal(r.status, 429);
}

static void a_deleted_export_is_gone(void **state)
{
	AUTO(freep) char *id = api_add_export("t", "a.txt", "x");
	AUTO(freep) char *path = xasprintf("/v1/exports/%s", id);
	AUTO(reply_release) struct reply r = api_call("DELETE", path, NULL, NULL);
	AUTO(reply_release) struct reply gone = api_call("GET", path, NULL, NULL);
	AUTO(reply_release) struct reply again = api_call("DELETE", path, NULL, NULL);
	assert_int_equal(r.status, 204);
	assert_int_equal(gone.status, 404);
	assert_int_equal(again.status, 404);
}

/* --- copies -------------------------------------------------------------------------------------------------------- */

static void bad_imports_are_refused(void **state)
{
	static const struct {
		const char *body;
		int status;
	} cases[] = {
		{ "{}", 400 },
		{ "{\"files\": []}", 400 },
		{ "{\"files\": [{\"destination\": \"a\"}]}", 400 },
		{ "{\"files\": [{\"content\": \"x\", \"source\": \"/etc/passwd\"}]}", 400 },
		{ "{\"files\": [{\"session\": \"x\"}]}", 400 },
		{ "{\"files\": [{\"content\": \"x\", \"encoding\": \"rot13\"}]}", 400 },
		{ "{\"files\": [{\"source\": \"/etc/passwd\"}]}", 403 },
		{ "{\"files\": [{\"source\": \"/etc/passwd\", \"own\": true}]}", 403 },
	};
	AUTO(freep) char *key = api_key("k", TENANT_LOCAL, SCOPES_DEFAULT);
	AUTO(freep) char *id = api_create();
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s/imports", id);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r = api_call_remote("POST", path, key, cases[i].body);
		assert_int_equal(r.status, cases[i].status);
		assert_true(*text_of(r.json, "detail"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exports_are_listed_in_pages),
		TEST(the_content_has_its_hash_as_etag),
		TEST(ranges_are_answered),
		TEST(long_content_arrives_whole),
		TEST(a_client_that_leaves_ends_its_download),
		TEST(links_work_without_a_key_until_they_are_changed),
		TEST(an_expired_link_says_so),
		TEST(another_tenants_export_does_not_exist),
		TEST(bad_forms_are_refused),
		TEST(a_form_above_the_limit_is_refused),
		TEST(a_deleted_export_is_gone),
		TEST(bad_imports_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
