/* An installer's report, which any package can overwrite, and the labels of an image, which every user of the
 * engine can write (manager/deps/set). */
#include "base/alloc.h"
#include "manager/deps/set.h"
#include "manager/model/result.h"
#include "tests/fuzz/fuzz.h"

/* The requested packages. */
#define WANTED "{\"a\":\"\",\"six\":\"\",\"numpy\":\"\",\"@scope/name\":\"\"}"

static void check_versions(const char *text)
{
	const char *name;
	json_t *value;
	json_auto_t *versions = json_loads(text, 0, NULL);
	CHECK(json_is_object(versions));
	json_object_foreach(versions, name, value)
		CHECK(strlen(name) <= DEPS_NAME_MAX && json_is_string(value) &&
		      json_string_length(value) <= DEPS_VERSION_MAX);
}

static void check_report(char *text, size_t n)
{
	struct mime_part part = { .type = (char *)"application/json", .data = text, .len = n };
	const struct mime_bundle bundle = { .parts = &part, .n = 1 };
	uint64_t size;
	AUTO(freep) char *versions = deps_read_report(&bundle, WANTED, &size);
	if (!versions)
		return;
	check_versions(versions);
	/* The report can be read again from the labels of the image. */
	AUTO(strv_release) struct strv labels = { 0 };
	struct deps_content content = { .versions = versions, .size = size, .built = 5 }, again;
	deps_labels(&labels, "key", &content);
	CHECK(deps_read_labels(&again, &labels, "key", WANTED) == 0);
	CHECK(streq(again.versions, versions) && again.size == size && again.built == 5);
	free(again.versions);
}

/* The text has one label per line. */
static void check_labels(char *text)
{
	AUTO(strv_release) struct strv labels = { 0 };
	struct deps_content content;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		strv_add(&labels, line);
	if (deps_read_labels(&content, &labels, "key", WANTED) < 0)
		return;
	check_versions(content.versions);
	free(content.versions);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	AUTO(freep) char *plain = deps_without_login(text);
	AUTO(strv_release) struct strv secrets = { 0 };
	AUTO(buf_release) struct buf shown = { 0 };
	strv_add_all(&secrets, "secret", "s3cret:x", NULL);
	deps_scrub(&shown, text, strlen(text), &secrets);
	CHECK(!strstr(buf_str(&shown), "secret"));
	check_report(text, strlen(text));
	check_labels(text);
	return 0;
}
