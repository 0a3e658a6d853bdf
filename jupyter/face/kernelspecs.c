#include "jupyter/face/kernelspecs.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/strv.h"
#include "cli/exit.h"
#include "jupyter/face/language.h"
#include "manager/manager.h"

#define FOLDER_PREFIX "husk-"
#define FILE_NAME "kernel.json"
#define PROGRAM "husk-jupyter-face"
#define IMAGE_CHECK "image "

/* --- folders ----------------------------------------------------------------------------------------------------- */

/* The folder that jupyter_core uses. */
static char *kernels_folder(const char *prefix)
{
	const char *own = getenv("JUPYTER_DATA_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	if (prefix)
		return xasprintf("%s/share/jupyter/kernels", prefix);
	if (own && *own)
		return xasprintf("%s/kernels", own);
#ifdef __APPLE__
	return xasprintf("%s/Library/Jupyter/kernels", home ? home : "");
#endif
	if (data && *data)
		return xasprintf("%s/jupyter/kernels", data);
	return xasprintf("%s/.local/share/jupyter/kernels", home ? home : "");
}

/* --- languages --------------------------------------------------------------------------------------------------- */

struct survey {
	struct loop *loop;
	struct strv images;   /* names of the languages whose image exists */
	char *trouble, *step; /* the engine's error, if it failed */
};

static void on_check(void *ctx, const struct check *check)
{
	struct survey *s = ctx;
	bool image = strncmp(check->name, IMAGE_CHECK, strlen(IMAGE_CHECK)) == 0;
	if (image && check->status == CHECK_OK)
		strv_add(&s->images, check->name + strlen(IMAGE_CHECK));
	if (check->status != CHECK_FAIL || s->trouble)
		return;
	s->trouble = xasprintf("%s: %s", check->name, check->detail);
	s->step = check->fix ? xstrdup(check->fix) : NULL;
}

static void on_done(void *ctx)
{
	struct survey *s = ctx;
	loop_stop(s->loop, 0);
}

static void find_images(struct survey *s, const char *env_file)
{
	s->loop = loop_new();
	struct doctor *doctor =
		doctor_new(s->loop, &(struct doctor_request){
					    .env_file = env_file, .on_check = on_check, .on_done = on_done, .ctx = s });
	loop_run(s->loop);
	doctor_free(doctor);
	loop_free(s->loop);
}

static void survey_release(struct survey *s)
{
	strv_release(&s->images);
	free(s->trouble);
	free(s->step);
}

/* "Husk Python". If an earlier language has the same title, the language's own name is added. */
static char *display_name(const struct runtime *list, size_t at)
{
	AUTO(freep) char *title = language_title(&list[at]);
	for (size_t i = 0; i < at; i++) {
		AUTO(freep) char *other = language_title(&list[i]);
		if (streq(title, other))
			return xasprintf("Husk %s (%s)", title, list[at].name);
	}
	return xasprintf("Husk %s", title);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

static json_t *make_spec(const struct runtime *runtime, const char *title, const char *program, const char *env_file,
			 bool alone)
{
	json_t *argv = json_pack("[s]", program);
	if (env_file) {
		json_array_append_new(argv, json_string("--env-file"));
		json_array_append_new(argv, json_string(env_file));
	}
	if (alone)
		json_array_append_new(argv, json_string("--alone"));
	const char *const words[] = { "--runtime", runtime->name, "--connection-file", "{connection_file}" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		json_array_append_new(argv, json_string(words[i]));
	return json_pack("{s:o, s:s, s:s, s:s, s:{s:b}}", "argv", argv, "display_name", title, "language",
			 language_name(runtime), "interrupt_mode", "message", "metadata", "debugger", 0);
}

/* With --prefix, other users may have to read the files. */
static int write_spec(const char *folder, json_t *spec)
{
	AUTO(freep) char *file = xasprintf("%s/" FILE_NAME, folder), *fresh = xasprintf("%s.new", file);
	int r = dirs_make_public(folder);
	if (r < 0)
		return r;
	if (json_dump_file(spec, fresh, JSON_INDENT(1)) < 0 || chmod(fresh, 0644) < 0 || rename(fresh, file) < 0)
		return -errno;
	return 0;
}

static int install_one(const char *kernels, const struct runtime *list, size_t at, const char *program,
		       const char *env_file, bool alone)
{
	AUTO(freep) char *folder = xasprintf("%s/" FOLDER_PREFIX "%s", kernels, list[at].name);
	AUTO(freep) char *title = display_name(list, at);
	json_auto_t *spec = make_spec(&list[at], title, program, env_file, alone);
	int r = spec ? write_spec(folder, spec) : -EINVAL;
	if (r < 0) {
		log_error("cannot write '%s': %s", folder, strerror(-r));
		return -1;
	}
	printf("%-20s %s\n", title, folder);
	return 0;
}

int kernelspecs_install(const struct kernelspecs_request *request)
{
	AUTO(survey_release) struct survey survey = { 0 };
	AUTO(freep) char *kernels = kernels_folder(request->prefix), *program = realpath("/proc/self/exe", NULL);
	AUTO(freep) char *env_file = request->env_file ? realpath(request->env_file, NULL) : NULL;
	size_t n, installed = 0;
	const struct runtime *list = runtime_list(&n);
	if (!program || (request->env_file && !env_file)) {
		log_error("cannot find '%s': %s", program ? request->env_file : PROGRAM, strerror(errno));
		return EXIT_SYSTEM;
	}
	find_images(&survey, request->env_file);
	for (size_t i = 0; i < n; i++) {
		if (strv_find(&survey.images, list[i].name) == SIZE_MAX)
			continue;
		if (install_one(kernels, list, i, program, env_file, request->alone) < 0)
			return EXIT_SYSTEM;
		installed++;
	}
	if (installed)
		return EXIT_DONE;
	log_error("cannot install kernels for Jupyter, because no runtime has an image: %s",
		  survey.trouble ? survey.trouble : "none was built");
	log_error("%s", survey.step ? survey.step : "Run `husk setup`, then `husk doctor`.");
	return EXIT_SYSTEM;
}

/* --- removing ---------------------------------------------------------------------------------------------------- */

static bool is_ours(const char *file)
{
	json_auto_t *spec = json_load_file(file, 0, NULL);
	const char *program = json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
	const char *slash = program ? strrchr(program, '/') : NULL;
	return slash && streq(slash + 1, PROGRAM);
}

int kernelspecs_uninstall(const struct kernelspecs_request *request)
{
	AUTO(freep) char *kernels = kernels_folder(request->prefix);
	DIR *d = opendir(kernels);
	struct dirent *entry;
	int code = EXIT_DONE;
	while (d && (entry = readdir(d))) {
		AUTO(freep) char *folder = xasprintf("%s/%s", kernels, entry->d_name);
		AUTO(freep) char *file = xasprintf("%s/" FILE_NAME, folder);
		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 || !is_ours(file))
			continue;
		if (unlink(file) < 0 || rmdir(folder) < 0) {
			log_error("cannot remove '%s': %s", folder, strerror(errno));
			code = EXIT_SYSTEM;
		} else {
			printf("removed %s\n", folder);
		}
	}
	if (d)
		closedir(d);
	return code;
}
