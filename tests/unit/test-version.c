/* mcp/version: the revision of a request. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "mcp/rpc.h"
#include "mcp/version.h"

static void negotiates_legacy_only(void **state)
{
	assert_string_equal(revision_negotiate("2025-11-25")->name, "2025-11-25");
	assert_string_equal(revision_negotiate("2025-06-18")->name, "2025-06-18");
	assert_string_equal(revision_negotiate("2025-03-26")->name, "2025-03-26");
	assert_string_equal(revision_negotiate("2024-11-05")->name, "2024-11-05");
	assert_string_equal(revision_negotiate("2026-07-28")->name, "2025-11-25");
	assert_string_equal(revision_negotiate("1900-01-01")->name, "2025-11-25");
	assert_string_equal(revision_negotiate(NULL)->name, "2025-11-25");
	assert_true(revision_find("2025-03-26")->batches);
	assert_false(revision_find("2025-06-18")->batches);
	assert_null(revision_find("2025-03-27"));
}

#define VERSION "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
#define LEVEL "\"io.modelcontextprotocol/logLevel\":"

/* "legacy", a revision's name, or the code of the error. */
static void expect(const char *params, const char *want)
{
	json_auto_t *p = params ? json_loads(params, JSON_ALLOW_NUL, NULL) : NULL;
	struct meta_verdict v = revision_of_request(p);
	AUTO(freep) char *got = v.legacy   ? xstrdup("legacy") :
				v.revision ? xstrdup(v.revision->name) :
					     xasprintf("%d", v.code);
	assert_string_equal(got, want);
	assert_int_equal(v.code == RPC_UNSUPPORTED_VERSION, v.data != NULL);
	json_decref(v.data);
}

static void reads_meta(void **state)
{
	expect(NULL, "legacy");
	expect("{}", "legacy");
	expect("{\"_meta\":null}", "legacy");
	expect("{\"_meta\":{\"progressToken\":1}}", "legacy");
	expect("{\"_meta\":[]}", "-32602");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}}}", "2026-07-28");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "\"debug\"}}", "2026-07-28");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "{}," LEVEL "\"loud\"}}", "-32602");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\"}}", "-32602");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\"," CAPABILITIES "[]}}", "-32602");
	expect("{\"_meta\":{" VERSION "7," CAPABILITIES "{}}}", "-32602");
	expect("{\"_meta\":{" VERSION "\"2026-07-28\\u0000\"," CAPABILITIES "{}}}", "-32602");
	expect("{\"_meta\":{" VERSION "\"1900-01-01\"," CAPABILITIES "{}}}", "-32022");
	expect("{\"_meta\":{" VERSION "\"1900-01-01\"}}", "-32022");
	expect("{\"_meta\":{" VERSION "\"2025-11-25\"," CAPABILITIES "{}}}", "-32022");
}

static void an_unsupported_version_names_both_versions(void **state)
{
	json_auto_t *p = json_loads("{\"_meta\":{" VERSION "\"1900-01-01\"}}", 0, NULL);
	struct meta_verdict v = revision_of_request(p);
	AUTO(freep) char *data = json_dumps(v.data, JSON_COMPACT);
	assert_string_equal(data, "{\"supported\":[\"2026-07-28\"],\"requested\":\"1900-01-01\"}");
	json_decref(v.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(negotiates_legacy_only),
		cmocka_unit_test(reads_meta),
		cmocka_unit_test(an_unsupported_version_names_both_versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
