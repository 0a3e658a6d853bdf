#include "base/alloc.h"
#include "manager/engine/inspect.h"
#include "tests/unit/unit.h"

static void classify(struct fail *f, const char *text)
{
	assert_int_equal(inspect_error(f, "start the container", text, strlen(text)), -1);
}

static void test_errors_have_kind_and_next_step(void **state)
{
	static const struct {
		const char *text;
		enum fail_kind kind;
		const char *words;
	} cases[] = {
		{ "docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?\nSee 'docker run --help'.",
		  FAIL_ENGINE, "no Docker engine answers" },
		{ "permission denied while trying to connect to the Docker daemon socket", FAIL_ENGINE,
		  "refuses this user" },
		{ "docker: Error response from daemon: No such image: husk-python:abc.", FAIL_IMAGE,
		  "image is not there" },
		{ "Error response from daemon: No such container: husk-x", FAIL_DIED, "no longer exists" },
		{ "Error response from daemon: Container abc is not running", FAIL_DIED, "no longer exists" },
		{ "something nobody has seen", FAIL_ENGINE, "something nobody has seen" },
		{ "", FAIL_ENGINE, "without a word" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		classify(&f, cases[i].text);
		assert_int_equal(f.kind, cases[i].kind);
		assert_non_null(strstr(f.message, cases[i].words));
		assert_null(strstr(f.message, "See 'docker"));
		assert_true(f.kind == FAIL_DIED || f.hint);
	}
}

static void test_error_text_is_bounded_and_clean(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = xmalloc(100001);
	memset(text, 'x', 100000);
	text[100000] = '\0';
	memcpy(text, "\x1b[31m\xff\n", 7);
	classify(&f, text);
	assert_true(strlen(f.message) < 600);
	assert_null(strchr(f.message, '\x1b'));
	assert_null(strchr(f.message, '\n'));
}

static bool event(const char *line, struct event_text *text, struct engine_event *e)
{
	return inspect_event(line, strlen(line), text, e);
}

static void test_events(void **state)
{
	struct event_text text;
	struct engine_event e;
	assert_true(event(
		"{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"ID\":\"1\",\"Attributes\":{\"exitCode\":\"137\",\"name\":\"husk-a\"}}}",
		&text, &e));
	assert_int_equal(e.kind, EVENT_DIE);
	assert_int_equal(e.exit_code, 137);
	assert_string_equal(e.container, "husk-a");
	assert_true(event("{\"Action\":\"oom\",\"Actor\":{\"Attributes\":{\"name\":\"husk-a\"}}}", &text, &e));
	assert_int_equal(e.kind, EVENT_OOM);
	assert_false(event("{\"Action\":\"start\",\"Actor\":{\"Attributes\":{\"name\":\"husk-a\"}}}", &text, &e));
	assert_false(event("{\"Action\":\"die\",\"Actor\":{\"Attributes\":{}}}", &text, &e));
	assert_false(event("{\"Action\":7}", &text, &e));
	assert_false(event("garbage", &text, &e));
	assert_false(event("[]", &text, &e));
	assert_false(event("", &text, &e));
}

static void test_network_id_is_the_smallest(void **state)
{
	char id[65];
	const char *two = "b000000000000000000000000000000000000000000000000000000000000000\n"
			  "a000000000000000000000000000000000000000000000000000000000000000\n";
	assert_int_equal(inspect_network_id(two, id), 0);
	assert_int_equal(id[0], 'a');
	assert_int_equal(inspect_network_id("", id), -1);
	assert_int_equal(inspect_network_id("not an id\nZ000\n", id), -1);
}

static void test_reasons(void **state)
{
	AUTO(freep) char *oom = inspect_death_reason(true, 137);
	AUTO(freep) char *killed = inspect_death_reason(false, 137);
	AUTO(freep) char *other = inspect_death_reason(false, 3);
	assert_non_null(strstr(oom, "OOM-killed"));
	assert_non_null(strstr(killed, "SIGKILL"));
	assert_string_equal(other, "exited with status 3 (container status: exited)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_have_kind_and_next_step),
		cmocka_unit_test(test_error_text_is_bounded_and_clean),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_network_id_is_the_smallest),
		cmocka_unit_test(test_reasons),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
