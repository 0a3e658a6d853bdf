/* tools/pages: the pages in docs/ match the tables in the code. */
#include "tests/unit/unit.h"

#include "api/route.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "manager/manager.h"
#include "tools/pages/pages.h"

static char *read_page(const char *name)
{
	AUTO(freep) char *path = xasprintf("%s/docs/%s", getenv("HUSK_SOURCE_ROOT"), name);
	AUTO(buf_release) struct buf text = { 0 };
	FILE *file = fopen(path, "r");
	if (!file)
		fail_msg("cannot open '%s': make pages", path);
	for (size_t n = 1; n > 0; text.len += n) {
		uint8_t *at = buf_reserve(&text, 65536);
		n = fread(at, 1, 65536, file);
	}
	fclose(file);
	return buf_steal_str(&text);
}

static void the_pages_are_up_to_date(void **state)
{
	for (size_t i = 0; i < n_pages; i++) {
		AUTO(buf_release) struct buf wanted = { 0 };
		AUTO(freep) char *found = read_page(pages[i].name);
		pages_make(&pages[i], found, &wanted);
		if (!streq(found, buf_str(&wanted)))
			fail_msg("docs/%s is not what the tables in the code make: run make pages", pages[i].name);
	}
}

static void every_setting_has_a_row(void **state)
{
	AUTO(strv_release) struct strv names = { 0 };
	AUTO(freep) char *page = read_page("settings.md");
	config_names(&names);
	assert_true(names.n > 60);
	for (size_t i = 0; i < names.n; i++) {
		AUTO(freep) char *cell = xasprintf("\n| `%s` | ", names.v[i]);
		if (!strstr(page, cell))
			fail_msg("docs/settings.md has no row for %s", names.v[i]);
	}
}

static void check_text(void *ctx, const struct setting_text *s)
{
	assert_true(s->meaning && *s->meaning && s->meaning[strlen(s->meaning) - 1] == '.');
	assert_true(s->example && *s->example);
	assert_true((s->fallback != NULL) != (s->usual != NULL));
}

static void check_example(void *ctx, const struct setting_text *s)
{
	struct config c;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *pair = xasprintf("%s=%s", s->name, s->example);
	bool names_a_file = streq(s->name, "CONTAINER_CA_BUNDLE") || streq(s->name, "IMPORT_ALLOWED_DIRS");
	if (names_a_file)
		return;
	if (config_load_from(&c, &(struct config_source){ .values = (const char *const[]){ pair, NULL } }, &f) < 0)
		fail_msg("%s: %s", pair, f.message);
	config_release(&c);
}

static void every_example_is_a_valid_value(void **state)
{
	config_each_described(check_example, NULL);
}

static void every_setting_is_described(void **state)
{
	config_each_described(check_text, NULL);
}

static void every_described_route_is_on_the_page(void **state)
{
	AUTO(freep) char *page = read_page("http.md");
	const struct route *route;
	for (size_t i = 0; (route = route_nth(i)); i++) {
		AUTO(freep) char *heading = xasprintf("%s`\n", route->path);
		if (!(route->flags & ROUTE_HIDDEN) && !strstr(page, heading))
			fail_msg("docs/http.md lacks %s", route->path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_pages_are_up_to_date),
					    cmocka_unit_test(every_described_route_is_on_the_page),
					    cmocka_unit_test(every_setting_has_a_row),
					    cmocka_unit_test(every_setting_is_described),
					    cmocka_unit_test(every_example_is_a_valid_value) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
