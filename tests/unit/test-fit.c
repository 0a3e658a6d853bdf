/* kernels/fit: a folder takes the place of the image, with interpreters that the test makes. */
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/fit/fit.h"

static char root[64];
static struct fit f;

static void put(const char *inside, const char *text, mode_t mode)
{
	AUTO(freep) char *path = xasprintf("%s%s", root, inside);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static char *get(const char *inside)
{
	AUTO(freep) char *path = xasprintf("%s%s", root, inside);
	char text[65536] = { 0 };
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return xstrdup(text);
}

#define MANIFEST                                                                                                       \
	"{\"name\": \"toy\", \"kernel\": [\"/usr/bin/toy\"], \"env\": {\"A\": \"1\"},"                                 \
	" \"installer\": {\"command\": [\"/usr/bin/toy\"], \"installed\": [\"/usr/bin/toy\"]},"                        \
	" \"fit\": {\"interpreter\": \"toy\", \"check\": [\"toy\", \"check\"], \"kernel\": [\"toy\", \"-k\"],"         \
	" \"installer\": [\"toy\", \"-i\"], \"installed\": [\"toy\"]}}"

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/husk-fit-XXXXXX");
	assert_non_null(mkdtemp(root));
	f = (struct fit){ .root = root,
			  .path = "relative:/missing:/opt/toys",
			  .manifest = json_loads(MANIFEST, 0, NULL) };
	assert_non_null(f.manifest);
	return 0;
}

static int teardown(void **state)
{
	fit_release(&f);
	return scratch_remove(root);
}

static void everything_missing_is_listed(void **state)
{
	fit_check(&f);
	assert_int_equal(f.lacks.n, 2);
	assert_string_equal(f.lacks.v[0], "/bin/bash");
	assert_string_equal(f.lacks.v[1], "toy on its PATH (relative:/missing:/opt/toys)");
}

/* The interpreter is started by its path inside the image, so this check uses the machine's own root, where the path
 * exists. */
static void ask(const char *script)
{
	put("/bin/bash", "", 0755);
	AUTO(freep) char *folder = xasprintf("%s/opt/toys", root);
	put("/opt/toys/toy", script, 0755);
	f.root = "";
	f.path = folder;
	fit_check(&f);
	f.root = root;
	f.path = "/opt/toys";
}

static void the_interpreter_lists_what_else_is_missing(void **state)
{
	ask("#!/bin/sh\necho lacks a thing\necho words\necho lacks 'another (b)'\necho lacks a thing\necho no-installer no pip\n");
	assert_int_equal(f.lacks.n, 2);
	assert_string_equal(f.lacks.v[0], "a thing");
	assert_string_equal(f.lacks.v[1], "another (b)");
	assert_string_equal(f.no_installer, "no pip");
}

static void an_interpreter_that_does_not_run_is_missing(void **state)
{
	ask("#!/bin/sh\necho first\necho 'libfoo.so: not found' >&2\nexit 127\n");
	assert_int_equal(f.lacks.n, 1);
	assert_non_null(strstr(f.lacks.v[0], "that runs as user 65532 (libfoo.so: not found)"));
}

static void users_are_added_once_and_others_are_kept(void **state)
{
	put("/etc/passwd", "root:x:0:0:root:/:/bin/sh\nannie:x:60710:100::/nowhere:/bin/sh", 0644);
	put("/etc/group", "root:x:0:\n", 0644);
	fit_accounts(&f);
	fit_accounts(&f);
	assert_int_equal(f.lacks.n, 0);
	AUTO(freep) char *users = get("/etc/passwd");
	AUTO(freep) char *groups = get("/etc/group");
	size_t lines = 0;
	for (const char *p = users; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 2 + 478 - 1 + 2);
	assert_non_null(strstr(
		users,
		"annie:x:60710:100::/nowhere:/bin/sh\nsandbox:x:65532:65532:Husk sandbox:/home/sandbox:/bin/bash\n"));
	assert_null(strstr(users, "sandbox:x:60710:"));
	assert_non_null(strstr(users, "husk:x:65531:65532:"));
	assert_string_equal(groups, "root:x:0:\nsandbox:x:65532:\n");
	AUTO(freep) char *home = xasprintf("%s/home", root);
	struct stat st;
	assert_int_equal(stat(home, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01777);
}

static void the_manifest_has_commands_and_environment_of_the_image(void **state)
{
	put("/opt/husk/runtime.json", MANIFEST, 0644);
	put("/opt/toys/toy", "#!/bin/sh\n", 0755);
	f.path = "/opt/toys:/usr/bin";
	fit_manifest(&f);
	AUTO(freep) char *text = get("/opt/husk/runtime.json");
	json_auto_t *o = json_loads(text, 0, NULL);
	const char *kernel = json_string_value(json_array_get(json_object_get(o, "kernel"), 0));
	const char *installer =
		json_string_value(json_array_get(json_object_get(json_object_get(o, "installer"), "command"), 0));
	const char *installed =
		json_string_value(json_array_get(json_object_get(json_object_get(o, "installer"), "installed"), 0));
	const char *path = json_string_value(json_object_get(json_object_get(o, "env"), "PATH"));
	assert_string_equal(kernel, "/opt/toys/toy");
	assert_string_equal(installer, "/opt/toys/toy");
	assert_string_equal(installed, "/opt/toys/toy");
	assert_string_equal(path, "/home/sandbox/.local/bin:/opt/husk/deps/bin:/opt/toys:/usr/bin");
}

static void without_an_installer_installs_fail_with_the_reason(void **state)
{
	put("/opt/husk/runtime.json", MANIFEST, 0644);
	f.no_installer = xstrdup("no pip");
	fit_manifest(&f);
	AUTO(freep) char *text = get("/opt/husk/runtime.json");
	assert_non_null(strstr(text, "\"/opt/husk/husk-fit\",\n      \"refuse\",\n      \"no pip\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_missing_is_listed),
		TEST(the_interpreter_lists_what_else_is_missing),
		TEST(an_interpreter_that_does_not_run_is_missing),
		TEST(users_are_added_once_and_others_are_kept),
		TEST(the_manifest_has_commands_and_environment_of_the_image),
		TEST(without_an_installer_installs_fail_with_the_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
