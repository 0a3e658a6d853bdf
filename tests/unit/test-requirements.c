/* Packages that programs and files require. */
#include "cli/requirements.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

typedef int (*reader)(const char *text, size_t n, const char *python, struct strv *ret, struct fail *f);

/* want: "name version, name version", or "error: …" with a part of the message. */
static void expect(reader read, const char *text, const char *want)
{
	AUTO(strv_release) struct strv found = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	char got[512] = "";
	int r = read(text, strlen(text), "3.13", &found, &f);
	for (size_t i = 0, at = 0; i < found.n; i++)
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%s", !i ? "" : i % 2 ? " " : ", ", found.v[i]);
	if (r < 0 && strncmp(want, "error: ", 7) == 0 && strstr(f.message, want + 7))
		return;
	if (r < 0)
		snprintf(got, sizeof(got), "error: %s", f.message);
	assert_string_equal(got, want);
}

static int check_python(const char *requires, size_t n UNUSED, const char *python, struct strv *ret UNUSED,
			struct fail *f)
{
	AUTO(freep) char *text = xasprintf("# /// script\n# requires-python = %s\n# ///\n", requires);
	return requirements_check_python(text, strlen(text), python, f);
}

static void versions_of_python(void **state)
{
	static const char *const met[] = { "\">=3.11\"",   "\">= 3.10, < 4\"", "\"==3.13.*\"", "\"~=3.11\"",
					   "\">=3.13.2\"", "\"<3.13.99\"",     "\"!=3.12.*\"", "\"==3.*\"",
					   "\">=3\"",	   "\"!=3.13.1\"" };
	static const char *const unmet[] = { "\">=3.14\"",	"\"<3.13\"",	"\"==3.12.*\"", "\"~=3.12.1\"",
					     "\">=3.8,<3.12\"", "\"!=3.13.*\"", "\">=4\"" };
	for (size_t i = 0; i < ARRAY_LEN(met); i++)
		expect(check_python, met[i], "");
	for (size_t i = 0; i < ARRAY_LEN(unmet); i++)
		expect(check_python, unmet[i], "error: and the image has 3.13");
	expect(check_python, "3", "error: not a string");
	expect(check_python, "\"new\"", "error: cannot read");
}

static void scripts(void **state)
{
	expect(requirements_of_script, "print(1)\n", "");
	expect(requirements_of_script,
	       "#!/usr/bin/env python\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n"
	       "#   \"requests<3\", # why\n#   'rich',\n#\n#   \"pandas[excel] >= 2, < 3\",\n#   \"numpy==1.26.4\"\n# ]\n# ///\nimport x\n",
	       "requests <3, rich , pandas[excel] >=2,<3, numpy 1.26.4");
	expect(requirements_of_script, "# /// script\r\n# dependencies = [\"a\"]\r\n# ///\r\n", "a ");
	expect(requirements_of_script, "# /// script\n# dependencies = []\n# ///\n", "");
	expect(requirements_of_script, "# /// script\n# [tool.x]\n# dependencies = [\"a\"]\n# ///\n", "");
	expect(requirements_of_script, "# /// other\n# dependencies = [\"a\"]\n# ///\n", "");
	expect(requirements_of_script, "# /// script\n# dependencies = [\"a\"]\nimport x\n", "");
	expect(requirements_of_script, "# /// script\n# dependencies = \"a\"\n# ///\n", "error: not a list");
	expect(requirements_of_script, "# /// script\n# dependencies = [\"a\n# ]\n# ///\n", "error: list of strings");
	expect(requirements_of_script, "# /// script\n# dependencies = [\"a\"\n# ///\n", "error: not closed");
	expect(requirements_of_script, "# /// script\n# dependencies = [\"a @ https://x\"]\n# ///\n", "error: URL");
}

static void files(void **state)
{
	expect(requirements_of_file, "# all\nrequests>=2 # http\n\n  flask == 3.0 \nx[a,b]~=1.0\n",
	       "requests >=2, flask 3.0, x[a,b] ~=1.0");
	expect(requirements_of_file, "-r other.txt\n", "error: options");
	expect(requirements_of_file, "a==1 --hash=sha256:x\n", "error: options");
	expect(requirements_of_file, "./local\n", "error: name");
	expect(requirements_of_file, "a @ https://x/a.whl\n", "error: URL");
	expect(requirements_of_file, "https://x/a.whl\n", "error: URL");
	expect(requirements_of_file, "git+https://x/a.git\n", "error: URL");
	expect(requirements_of_file, "a[b\n", "error: bracket");
	expect(requirements_of_file, "a[b;c]\n", "error: names of extras");
}

static int read_package(const char *text, size_t n, const char *python UNUSED, struct strv *ret, struct fail *f)
{
	return requirements_of_package(text, n, ret, f);
}

static void packages(void **state)
{
	expect(read_package, "{\"dependencies\": {\"lodash\": \"^4\", \"@a/b\": \"*\"}}", "lodash ^4, @a/b ");
	expect(read_package, "{\"name\": \"x\", \"devDependencies\": {\"y\": \"1\"}}", "");
	expect(read_package, "{", "error: line");
	expect(read_package, "[]", "error: object");
	expect(read_package, "{\"dependencies\": {\"a\": 1}}", "error: version of 'a'");
}

/* Lines whose marker is false are left out; a marker that cannot be read is an error with its line. */
static void markers(void **state)
{
	expect(requirements_of_file,
	       "a; python_version < '3'\nb[x]>=1 ; sys_platform == \"linux\" # why\nc;os_name=='nt'\n", "b[x] >=1");
	expect(requirements_of_script,
	       "# /// script\n# dependencies = [\n#   'a; python_version >= \"3.9\" and sys_platform == \"linux\"',\n"
	       "#   \"b; sys_platform == 'win32'\",\n#   \"c==1 ; platform_system == \\\"Linux\\\"\",\n# ]\n# ///\n",
	       "a , c 1");
	expect(requirements_of_file, "a\n\nb; python_version <> '3'\n",
	       "error: line 3: cannot read the marker 'python_version <> '3'': a variable or a quoted string is expected at '> '3''");
	expect(requirements_of_file, "a; \n", "error: line 1: cannot read the marker");
	expect(requirements_of_script,
	       "#!x\n# /// script\n# dependencies = [\n#   'a',\n#   'b; what == \"1\"',\n# ]\n# ///\n",
	       "error: line 5: cannot read the marker");
	expect(requirements_of_file, "a\nb; python_full_version == '3.13.4'\n",
	       "error: line 2: the marker 'python_full_version == '3.13.4'' depends on python_full_version, which is unknown");
	AUTO(strv_release) struct strv none = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(requirements_add("a; python_version > '3'", NULL, &none, &f), -1);
	assert_non_null(strstr(f.message, "depends on python_version, which is unknown"));
	assert_int_equal(requirements_add("a; sys_platform == 'win32' and python_version > '3'", NULL, &none, &f), 0);
	assert_int_equal(none.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scripts), cmocka_unit_test(versions_of_python), cmocka_unit_test(files),
		cmocka_unit_test(markers), cmocka_unit_test(packages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
