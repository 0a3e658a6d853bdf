/* One step after the other on the loop: create a session, copy files, run the program, save pictures and exports,
 * end. Every failure leads to the last step, which waits until the store has recorded the end. */
#include "cli/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dirs.h"
#include "base/log.h"
#include "cli/exit.h"
#include "cli/fresh.h"
#include "cli/private-stdio.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/requirements.h"
#include "manager/manager.h"

#define PROGRAM_MAX (8u << 20)
/* Folder in the session where programs save their pictures, which are copied to this machine. */
#define PICTURES "/home/sandbox/.husk/pictures"
#define WORKSPACE "/workspace"
/* After this many signals husk hangs up, which ends the program. */
#define INTERRUPTS_MAX 3
/* Time for the store to finish writing. */
#define SETTLE_MS 5000
/* Time for the session to be removed. */
#define END_MS 10000

struct run_verb {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	struct conversation *conversation;
	struct op *op;
	struct timer *deadline; /* for the program, then for the end */
	struct buf text;	/* of the program */
	struct program *program;
	struct fresh fresh;
	char *folder; /* the folder that is copied too; NULL = none */
	char *name;   /* the program's name in /workspace */
	char *stem;   /* of pictures */
	char *session;
	unsigned signals;
	bool timed_out, ending;
	int code;
};

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void on_settled(void *ctx)
{
	struct run_verb *r = ctx;
	loop_stop(r->loop, r->code);
}

/* Waits until the store knows how the session ended. */
static void on_gone(void *ctx, const struct fail *f UNUSED)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	manager_settle(r->manager, SETTLE_MS, on_settled, r);
}

static void on_deadline(void *ctx)
{
	struct run_verb *r = ctx;
	if (r->ending) {
		loop_stop(r->loop, r->code);
		return;
	}
	/* The program gets SIGTERM first. If it still runs a second later, hanging up ends it. */
	if (r->timed_out)
		program_signal(r->program, SIGHUP);
	else
		program_signal(r->program, SIGTERM);
	r->timed_out = true;
	timer_start(r->deadline, 1000, 0);
}

static void end(struct run_verb *r, int code)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (r->ending)
		return;
	r->ending = true;
	r->code = code;
	timer_start(r->deadline, END_MS, 0);
	struct stop_request request = { .session_id = r->session, .on_done = on_gone, .ctx = r };
	r->program = program_free(r->program);
	r->op = r->session ? manager_stop(r->conversation, &request, &f) : NULL;
	if (!r->op)
		manager_settle(r->manager, SETTLE_MS, on_settled, r);
}

/* The program gets the signal, as it would in the foreground of a terminal. Without a program, husk ends without
 * waiting for the session. */
static void on_signal(void *ctx, int signo)
{
	struct run_verb *r = ctx;
	if (r->ending) {
		loop_stop(r->loop, r->code);
		return;
	}
	if (r->program && ++r->signals < INTERRUPTS_MAX) {
		program_signal(r->program, signo);
		return;
	}
	if (r->op)
		op_cancel(take_ptr(r->op));
	end(r, EXIT_SIGNALLED + signo);
}

/* Waits for the operation of the next step, or ends with the reason why the step could not start. */
static void began(struct run_verb *r, struct op *op, const struct fail *f)
{
	r->op = op;
	if (!op)
		end(r, report_fail(f));
}

/* --- exports and pictures ------------------------------------------------------------------------------------------ */

/* Copies an export into the working directory, under its own name. */
static bool bring(const struct copy_result *result)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv notices = { 0 };
	if (!result->success) {
		report_fail(&result->failure);
		return false;
	}
	const char *name = result->export.name;
	if (strchr(name, '/') || streq(name, "..") || export_bring(&result->export, name, &notices, &f) < 0) {
		log_error("cannot copy '%s' here: %s", name, f.message ? f.message : "it is not a file name");
		return false;
	}
	for (size_t i = 0; i < notices.n; i++)
		log_warning("%s", notices.v[i]);
	fprintf(stderr, "export: %s%s\n", name, result->export.directory ? "/" : "");
	return true;
}

static void on_exported(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct run_verb *r = ctx;
	bool all = !f;
	r->op = NULL;
	if (f)
		report_fail(f);
	for (size_t i = 0; i < n; i++)
		all &= bring(&results[i]);
	end(r, all || r->code ? r->code : EXIT_NO);
}

static void bring_exports(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct strv *wanted = &r->options->exports;
	if (!wanted->n) {
		end(r, r->code);
		return;
	}
	struct copy_request request = { .session_id = r->session,
					.exports = (const char *const *)wanted->v,
					.n = wanted->n,
					.on_done = on_exported,
					.ctx = r };
	began(r, manager_copy(r->conversation, &request, &f), &f);
}

static int is_picture(const struct dirent *d)
{
	return *d->d_name != '.';
}

/* Saves the pictures as STEM-1.png and so on. Sorted by name, they are in the order in which they were made. */
static void save_pictures(struct run_verb *r, const struct export_info *export)
{
	char folder[] = "/tmp/husk-pictures-XXXXXX";
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv notices = { 0 };
	struct dirent **found = NULL;
	if (!mkdtemp(folder))
		return;
	int n = export_bring(export, folder, &notices, &f) < 0 ? 0 : scandir(folder, &found, is_picture, alphasort);
	for (int i = 0; i < n; i++) {
		AUTO(freep) char *from = xasprintf("%s/%s", folder, found[i]->d_name);
		const char *dot = strrchr(found[i]->d_name, '.');
		AUTO(freep) char *to = xasprintf("%s-%d%s", r->stem, i + 1, dot ? dot : "");
		struct export_info file = { .host_path = from };
		if (export_bring(&file, to, &notices, &f) == 0)
			fprintf(stderr, "picture: %s\n", to);
		else
			log_error("cannot save a picture: %s", f.message);
		unlink(from);
		free(found[i]);
	}
	free(found);
	rmdir(folder);
}

static void on_pictures(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	if (!f && n == 1 && results[0].success)
		save_pictures(r, &results[0].export);
	bring_exports(r);
}

static void on_pictures_found(void *ctx, const struct file_info *info UNUSED, const struct fail *missing)
{
	static const char *const place = PICTURES;
	struct run_verb *r = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct copy_request request = {
		.session_id = r->session, .exports = &place, .n = 1, .on_done = on_pictures, .ctx = r
	};
	r->op = NULL;
	if (missing)
		bring_exports(r);
	else
		began(r, manager_copy(r->conversation, &request, &f), &f);
}

/* Most programs save no pictures. The search for them is not recorded, while an export that fails would be. */
static void bring_pictures(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct stat_file_request request = {
		.session_id = r->session, .path = PICTURES, .on_done = on_pictures_found, .ctx = r
	};
	if (!r->fresh.request.runtime->program_env[0])
		bring_exports(r); /* programs in this language save no pictures */
	else
		began(r, manager_stat_file(r->conversation, &request, &f), &f);
}

/* --- the program --------------------------------------------------------------------------------------------------- */

static int code_of(const struct run_verb *r, const struct terminal_end *end)
{
	if (r->timed_out) {
		log_error("the program was stopped after %llu s, the time limit of --timeout",
			  (unsigned long long)r->options->timeout);
		return EXIT_TIME;
	}
	if (end->oom)
		log_error("the program ran out of memory\n--memory SIZE gives its session more.");
	else if (end->detail)
		log_error("%s", end->detail);
	return end->exit_code;
}

static void on_ran(void *ctx, const struct terminal_end *how, const struct fail *f)
{
	struct run_verb *r = ctx;
	timer_stop(r->deadline);
	r->code = how ? code_of(r, how) : f ? report_fail(f) : EXIT_SIGNALLED + SIGPIPE;
	bool lost = f != NULL;
	r->program = program_free(r->program);
	if (lost || !how)
		end(r, r->code);
	else
		bring_pictures(r);
}

static void take_command(const struct run_verb *r, struct strv *command)
{
	const char *const *words = r->fresh.request.runtime->program;
	for (size_t i = 0; words[i]; i++)
		strv_add(command, streq(words[i], "{}") ? r->name : words[i]);
	for (size_t i = 1; r->options->arguments[0] && r->options->arguments[i]; i++)
		strv_add(command, r->options->arguments[i]);
}

/* The runtime's own environment, and the folder where its programs save their pictures. Variables of --env take
 * precedence. */
static struct env_var *take_env(const struct run_verb *r, struct strv *text, size_t *ret_n)
{
	const char *const *given = r->fresh.request.runtime->program_env;
	const struct fresh *fresh = &r->fresh;
	size_t n = 0;
	strv_add_all(text, "HUSK_PICTURES", PICTURES, NULL);
	for (size_t i = 0; given[i]; i++) {
		const char *equals = strchr(given[i], '=');
		AUTO(freep) char *name = xstrndup(given[i], (size_t)(equals - given[i]));
		strv_add_all(text, name, equals + 1, NULL);
	}
	struct env_var *env = xcalloc(text->n / 2, sizeof(*env));
	for (size_t i = 0; i + 1 < text->n; i += 2) {
		bool taken = false;
		for (size_t k = 0; k < fresh->request.n_env; k++)
			taken |= streq(fresh->env[k].name, text->v[i]);
		if (!taken)
			env[n++] = (struct env_var){ text->v[i], text->v[i + 1] };
	}
	*ret_n = n;
	return env;
}

static void run_program(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv command = { 0 }, env_text = { 0 };
	size_t n_env;
	AUTO(freep) struct env_var *env = take_env(r, &env_text, &n_env);
	take_command(r, &command);
	r->program = program_start(&(struct program_spec){ .loop = r->loop,
							   .conversation = r->conversation,
							   .session_id = r->session,
							   .command = &command,
							   .cwd = WORKSPACE,
							   .env = env,
							   .n_env = n_env,
							   .no_input = streq(r->options->program, "-"),
							   .on_end = on_ran,
							   .ctx = r },
				   &f);
	if (!r->program)
		end(r, report_fail(&f));
	else if (r->options->timeout)
		timer_start(r->deadline, r->options->timeout * 1000, 0);
}

/* --- the session and its files ------------------------------------------------------------------------------------- */

static void on_imported(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	if (f) {
		end(r, report_fail(f));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct fail *why = &results[i].failure;
		if (!results[i].success && cause_of(why) == CAUSE_FOLDER_TOO_LARGE) {
			log_warning("only the program is copied: %s\n--file PATH copies what it needs.", why->message);
		} else if (!results[i].success) {
			report_fail(why);
			end(r, EXIT_NO);
			return;
		}
	}
	run_program(r);
}

/* The program is copied separately and last, because .gitignore may exclude it from the folder. */
static void bring_files(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct strv *files = &r->options->files;
	AUTO(freep) struct import_item *items = xcalloc(files->n + 2, sizeof(*items));
	AUTO(strv_release) struct strv paths = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < files->n; i++) {
		AUTO(freep) char *path = realpath(files->v[i], NULL);
		strv_add(&paths, path ? path : files->v[i]);
	}
	if (r->folder)
		items[n++] = (struct import_item){
			.source = r->folder, .own = true, .project = true, .destination = WORKSPACE
		};
	for (size_t i = 0; i < files->n; i++)
		items[n++] = (struct import_item){ .source = paths.v[i], .own = true };
	items[n++] = (struct import_item){ .content = buf_str(&r->text),
					   .content_len = r->text.len,
					   .destination = r->name };
	struct copy_request request = {
		.session_id = r->session, .imports = items, .n = n, .on_done = on_imported, .ctx = r
	};
	began(r, manager_copy(r->conversation, &request, &f), &f);
}

static void on_created(void *ctx, const struct create_result *result, const struct fail *f)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	if (f) {
		end(r, report_fail(f));
		return;
	}
	r->session = xstrdup(result->session->id);
	if (result->note)
		log_warning("%s", result->note);
	bring_files(r);
}

static void create(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	r->fresh.request.on_done = on_created;
	r->fresh.request.ctx = r;
	began(r, manager_create(r->conversation, &r->fresh.request, &f), &f);
}

/* --- checks before a session is created ---------------------------------------------------------------------------- */

static int read_text(const char *path, struct buf *text)
{
	bool input = streq(path, "-");
	AUTO(closep) int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	text->max = PROGRAM_MAX;
	for (ssize_t n = 1; n > 0;) {
		uint8_t *at = fd < 0 ? NULL : buf_reserve(text, 65536);
		n = at ? read(fd, at, 65536) : -1;
		if (n < 0) {
			log_error("cannot read '%s': %s", path,
				  fd < 0 || at ? strerror(errno) : "it is larger than 8 MiB");
			return -1;
		}
		text->len += (size_t)n;
	}
	return 0;
}

static int find_folder(struct run_verb *r)
{
	const char *path = r->options->program, *slash = strrchr(path, '/');
	AUTO(freep) char *given = slash ? xstrndup(path, MAX((size_t)(slash - path), (size_t)1)) : xstrdup(".");
	AUTO(freep) char *folder = realpath(given, NULL);
	if (r->options->alone || streq(path, "-"))
		return 0;
	if (!folder) {
		log_error("cannot open the folder of '%s': %s", path, strerror(errno));
		return -1;
	}
	if (dirs_is_root_or_home(folder))
		log_warning(
			"only the program is copied: '%s' is a home or root directory\n--file PATH copies what it needs.",
			folder);
	else
		r->folder = take_ptr(folder);
	return 0;
}

/* The version of Python in the runtime's own image, from the runtime's title. NULL if another image is used. */
static char *find_python(struct run_verb *r, const struct runtime *runtime)
{
	const char *version = runtime->title + strcspn(runtime->title, "0123456789");
	AUTO(freep) char *number = xstrndup(version, strspn(version, "0123456789."));
	char setting[RUNTIME_SETTING_MAX];
	runtime_image_setting(runtime, setting);
	return !*number || r->options->image || config_lookup(&r->config, setting) ? NULL : take_ptr(number);
}

static int check_script(struct run_verb *r, const char *python, struct strv *ret, struct fail *f)
{
	const char *path = r->options->program, *text = buf_str(&r->text);
	if (python && requirements_check_python(text, r->text.len, python, f) < 0)
		return -1;
	if (requirements_of_script(text, r->text.len, python, ret, f) < 0)
		return fail_wrap(f, "%s", streq(path, "-") ? "standard input" : path);
	return 0;
}

/* The packages that are listed in the program, in the file of --requirements, or in package.json beside the program. */
static int find_requirements(struct run_verb *r, const struct runtime *runtime, struct strv *ret, struct fail *f)
{
	const char *kind = runtime && runtime->requirements ? runtime->requirements : "";
	const char *path = r->options->requirements;
	bool package = streq(kind, "package.json"), script = streq(kind, "pep723");
	AUTO(freep) char *beside = r->folder && package ? xasprintf("%s/package.json", r->folder) : NULL;
	AUTO(freep) char *python = script ? find_python(r, runtime) : NULL;
	AUTO(buf_release) struct buf text = { 0 };
	if (path && !*kind)
		return fail_set(f, FAIL_INVALID, "--requirements is not for %s",
				runtime ? runtime->title : "this language");
	if (script && check_script(r, python, ret, f) < 0)
		return -1;
	if (!path && beside && access(beside, R_OK) == 0)
		path = beside;
	if (!path)
		return 0;
	if (read_text(path, &text) < 0)
		return fail_set(f, FAIL_INVALID, "cannot read the requirements");
	if (package)
		return requirements_of_package(buf_str(&text), text.len, ret, f);
	return requirements_of_file(buf_str(&text), text.len, python, ret, f) < 0 ? fail_wrap(f, "%s", path) : 0;
}

/* The language, from --language or from the ending of the file's name; NULL = the first one. */
static const char *language_of(const struct options *o)
{
	const char *dot = strrchr(o->program, '.');
	if (o->language || streq(o->program, "-"))
		return o->language;
	return dot && !strchr(dot, '/') ? dot + 1 : o->program;
}

/* Checks that the files of --file can be read. */
static int check_files(struct run_verb *r)
{
	const struct strv *files = &r->options->files;
	for (size_t i = 0; i < files->n; i++) {
		if (access(files->v[i], R_OK) < 0) {
			log_error("cannot read '%s': %s", files->v[i], strerror(errno));
			return -1;
		}
	}
	return 0;
}

/* Pictures are saved beside the program: plot.py makes plot-1.png. */
static char *stem_of(const char *program)
{
	const char *dot = strrchr(program, '.'), *slash = strrchr(program, '/');
	if (streq(program, "-"))
		return xstrdup("husk-run");
	return dot && dot > program && (!slash || dot > slash + 1) ? xstrndup(program, (size_t)(dot - program)) :
								     xstrdup(program);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static int go(struct run_verb *r)
{
	uint64_t random[2] = { 0 };
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return EXIT_SYSTEM;
	AUTO(freep) char *id =
		xasprintf("run-%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
	r->loop = loop_new();
	r->manager = manager_new(r->loop, &r->config);
	manager_leave_nothing(r->manager);
	r->conversation = conversation_open(r->manager, &(struct conversation_spec){ .id = id });
	r->deadline = timer_new(r->loop, on_deadline, r);
	struct signals *signals = signals_new(r->loop, on_signal, r);
	create(r);
	int code = r->ending && !r->op ? r->code : loop_run(r->loop);
	program_free(r->program);
	signals_free(signals);
	timer_free(r->deadline);
	manager_free(r->manager);
	loop_free(r->loop);
	return code;
}

/* The program's name in /workspace: its own, or stdin with the language's extension if it comes from standard input. */
static char *name_of(const struct run_verb *r)
{
	const char *path = r->options->program, *slash = strrchr(path, '/');
	if (streq(path, "-"))
		return xasprintf("stdin%s", r->fresh.request.runtime->extension);
	return xstrdup(slash ? slash + 1 : path);
}

static int prepare(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv wanted = { 0 };
	const char *language = language_of(r->options);
	size_t n;
	if (language && !runtime_find(language))
		return fresh_take(&r->fresh, r->options, &r->config, language, /* more= */ NULL);
	if (read_text(r->options->program, &r->text) < 0 || check_files(r) < 0 || find_folder(r) < 0)
		return EXIT_USAGE;
	if (find_requirements(r, language ? runtime_find(language) : runtime_list(&n), &wanted, &f) < 0)
		return report_refusal(&f, r->options->verb);
	int code = fresh_take(&r->fresh, r->options, &r->config, language, &wanted);
	if (code != EXIT_DONE)
		return code;
	if (!r->fresh.request.runtime->program) {
		log_error("cannot run a program in %s: this language only runs cells, in husk repl",
			  r->fresh.request.runtime->title);
		return EXIT_USAGE;
	}
	r->name = name_of(r);
	r->stem = stem_of(r->options->program);
	return EXIT_DONE;
}

int run_run(const struct options *options)
{
	struct run_verb r = { .options = options };
	AUTO(fail_release) struct fail f = { 0 };
	int code = EXIT_USAGE;
	if (stdio_fill_gaps() < 0)
		code = EXIT_SYSTEM;
	else if (settings_load(&r.config, options->env_file, &f) < 0)
		code = report_refusal(&f, options->verb);
	else if ((code = prepare(&r)) == EXIT_DONE)
		code = go(&r);
	buf_release(&r.text);
	fresh_release(&r.fresh);
	free(r.folder);
	free(r.name);
	free(r.stem);
	free(r.session);
	config_release(&r.config);
	return code;
}
