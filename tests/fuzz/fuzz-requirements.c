/* Requirements of programs: PEP 723 metadata, requirements.txt, package.json, and environment markers. */
#include "cli/requirements.h"

#include "base/alloc.h"
#include "cli/marker.h"
#include "tests/fuzz/fuzz.h"

/* Names and versions in pairs, or a failure with a message. */
static void check_found(int r, const struct strv *found, const struct fail *f)
{
	CHECK(r == 0 || (r == -1 && f->message));
	CHECK(found->n % 2 == 0);
	for (size_t i = 0; i < found->n; i += 2)
		CHECK(!strchr(found->v[i], ';') && !strchr(found->v[i + 1], ';'));
}

/* A marker in parentheses gives the same answer, unless it is then nested too deeply. */
static void check_marker(const char *text)
{
	AUTO(fail_release) struct fail f = { 0 }, g = { 0 };
	AUTO(freep) char *within = xasprintf("(%s)", text);
	int plain = marker_applies(text, "3.13", &f), enclosed = marker_applies(within, "3.13", &g);
	CHECK(plain == 1 || plain == 0 || (plain == -1 && f.message));
	CHECK(plain == enclosed || plain < 0 || enclosed < 0);
	CHECK(plain < 0 || enclosed >= 0 || strstr(g.message, "parentheses") || strlen(within) > 4096);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	const char *python = n % 3 ? "3.13" : NULL;
	for (int kind = 0; kind < 2; kind++) {
		AUTO(strv_release) struct strv found = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		int r = kind ? requirements_of_file(text, strlen(text), python, &found, &f) :
			       requirements_of_script(text, strlen(text), python, &found, &f);
		check_found(r, &found, &f);
	}
	AUTO(strv_release) struct strv packages = { 0 };
	AUTO(fail_release) struct fail f = { 0 }, g = { 0 };
	int r = requirements_of_package(text, strlen(text), &packages, &f);
	CHECK((r == 0 || f.message) && packages.n % 2 == 0);
	r = requirements_check_python(text, strlen(text), "3.13", &g);
	CHECK(r == 0 || g.message);
	check_marker(text);
	return 0;
}
