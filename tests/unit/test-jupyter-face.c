/* jupyter/face: languages and errors as Jupyter gets them, and the command line. */
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "jupyter/connection.h"
#include "jupyter/face/language.h"
#include "jupyter/face/options.h"
#include "jupyter/face/place.h"
#include "jupyter/face/trouble.h"
#include "tests/unit/unit.h"

static const char *text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void assert_language(const char *title, const char *extension, const char *shown, const char *name,
			    const char *version)
{
	const struct runtime runtime = { .name = "new", .title = title, .extension = extension };
	AUTO(freep) char *got = language_title(&runtime);
	json_auto_t *info = language_info(&runtime);
	assert_string_equal(got, shown);
	assert_string_equal(text(info, "name"), name);
	assert_string_equal(text(info, "version"), version);
	assert_string_equal(text(info, "file_extension"), extension);
}

static void languages_are_known_by_their_files(void **state)
{
	assert_language("Python 3.13 (IPython)", ".py", "Python", "python", "3.13");
	assert_language("Node.js 22", ".js", "Node.js", "javascript", "22");
	assert_language("R 4.5", ".R", "R", "R", "4.5");
	assert_language("Bash (bash_kernel)", ".sh", "Bash", "bash", "");
	assert_language("GNU Octave 9.2 (octave_kernel)", ".m", "GNU Octave", "octave", "9.2");
	assert_language("Brand New 1.0", ".new", "Brand New", "new", "1.0");
	assert_string_equal(language_name(&(struct runtime){ .name = "bash", .title = "bash", .extension = ".txt" }),
			    "bash");
}

static char *joined(const json_t *error)
{
	struct buf all = { 0 };
	size_t i;
	json_t *line;
	json_array_foreach(json_object_get(error, "traceback"), i, line)
		buf_printf(&all, "%s|", json_string_value(line));
	return buf_steal_str(&all);
}

static void assert_trouble(json_t *error, const char *name, const char *value, const char *lines)
{
	AUTO(freep) char *got = joined(error);
	assert_string_equal(text(error, "ename"), name);
	assert_string_equal(text(error, "evalue"), value);
	assert_string_equal(got, lines);
	json_decref(error);
}

static void errors_are_worded_once_and_completely(void **state)
{
	char type[] = "ValueError", message[] = "no", traceback[] = "Traceback\nValueError: no",
	     detail[] = "killed for memory", lost[] = "x (int)";
	assert_trouble(trouble_of_result(&(struct run_result){ .ending = ENDING_ERROR,
							       .error_type = type,
							       .error_message = message,
							       .error_traceback = traceback }),
		       "ValueError", "no", "Traceback\nValueError: no|");
	assert_trouble(trouble_of_result(&(struct run_result){ .ending = ENDING_OOM, .detail = detail, .lost = lost }),
		       "OutOfMemory", "killed for memory",
		       "OutOfMemory: killed for memory|husk: lost with the interpreter: x (int)|");
	assert_trouble(
		trouble_of_result(&(struct run_result){
			.ending = ENDING_TIMEOUT, .error_type = type, .error_message = message, .detail = detail }),
		"ValueError", "no", "ValueError: no|husk: killed for memory|");
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_ENGINE, "the engine is away");
	fail_hint(&f, "Nothing ran.");
	assert_trouble(trouble_of_fail(&f), "HuskError", "the engine is away",
		       "HuskError: the engine is away|Nothing ran.|");
}

static int parse(struct face_options *o, const char *line, struct fail *f)
{
	char *argv[16] = { NULL }, *at = NULL;
	static char copy[256];
	int argc = 0;
	snprintf(copy, sizeof(copy), "husk-jupyter-face %s", line);
	for (char *word = strtok_r(copy, " ", &at); word; word = strtok_r(NULL, " ", &at))
		argv[argc++] = word;
	return face_options_parse(o, argc, argv, f);
}

static void options_that_conflict_are_rejected(void **state)
{
	static const char *const good[] = { "--session x",
					    "--session x --tcp",
					    "--env-file e --session x",
					    "--runtime r --connection-file f",
					    "--install",
					    "--uninstall --prefix p",
					    "--help",
					    "--version" };
	static const char *const bad[] = { "",
					   "--session",
					   "--session x --runtime r",
					   "--runtime r",
					   "--runtime r --connection-file f --tcp",
					   "--install --session x",
					   "--session x --prefix p",
					   "--session x more",
					   "--what" };
	struct face_options o;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		assert_int_equal(parse(&o, good[i], &f), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		assert_int_equal(parse(&o, bad[i], &f), -1);
		assert_int_equal(f.kind, FAIL_INVALID);
	}
}

static void make_old(const char *folder)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	assert_int_equal(utimensat(AT_FDCWD, folder, long_ago, 0), 0);
}

static void files_of_a_killed_face_are_removed(void **state)
{
	char folder[] = "/tmp/husk-place-XXXXXX";
	struct sender_id id = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct connection used AUTO(connection_release) = { 0 }, left AUTO(connection_release) = { 0 };
	assert_non_null(mkdtemp(folder));
	AUTO(freep) char *place = place_find(folder, /* tcp= */ false);
	assert_int_equal(sender_id_make(&id), 0);
	assert_int_equal(connection_make(&used, place, /* tcp= */ false, &id, "x", &f), 0);
	assert_int_equal(connection_make(&left, place, /* tcp= */ false, &id, "x", &f), 0);
	AUTO(closep) int held = place_hold(used.file);
	assert_true(held >= 0);
	place_sweep(place);
	assert_int_equal(access(left.file, F_OK), 0); /* its lock may be about to be taken */
	make_old(used.folder);
	make_old(left.folder);
	place_sweep(place);
	assert_int_equal(access(used.file, F_OK), 0);
	assert_int_equal(access(left.folder, F_OK), -1);
	closep(&held);
	place_sweep(place);
	assert_int_equal(access(used.folder, F_OK), -1);
	assert_int_equal(rmdir(place) | rmdir(folder), 0);
	/* The name of this folder makes socket paths too long. */
	char deep[200];
	memset(deep, 'x', sizeof(deep));
	memcpy(deep, "/tmp/", 5);
	deep[sizeof(deep) - 1] = '\0';
	unsetenv("XDG_RUNTIME_DIR");
	AUTO(freep) char *other = place_find(deep, /* tcp= */ false);
	assert_string_equal(other, "/tmp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(languages_are_known_by_their_files),
		cmocka_unit_test(errors_are_worded_once_and_completely),
		cmocka_unit_test(options_that_conflict_are_rejected),
		cmocka_unit_test(files_of_a_killed_face_are_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
