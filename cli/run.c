/* One step after the other on the loop: a session, its files, its arguments, the program, its exports, the end. Whatever fails leads to the
 * end, which is waited for. */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "cli/exit.h"
#include "cli/fresh.h"
#include "cli/outcome.h"
#include "cli/pictures.h"
#include "cli/report.h"
#include "manager/manager.h"

#define PROGRAM_MAX (8u << 20)
#define TIMEOUT_MAX 300
/* For the session to go. */
#define END_MS 10000

struct run_verb {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	struct conversation *conversation;
	struct op *op;
	struct timer *deadline;
	struct buf program;
	struct fresh fresh;
	char *stem; /* of pictures */
	char *session;
	bool ending;
	int code;
};

static void run_program(struct run_verb *r);

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void on_gone(void *ctx, const struct fail *f UNUSED)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	loop_stop(r->loop, r->code);
}

static void on_end_deadline(void *ctx)
{
	struct run_verb *r = ctx;
	loop_stop(r->loop, r->code);
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
	r->op = r->session ? manager_stop(r->conversation, &request, &f) : NULL;
	if (!r->op)
		loop_stop(r->loop, code);
}

/* A second one does not wait for the session to go. */
static void on_signal(void *ctx, int signo)
{
	struct run_verb *r = ctx;
	if (r->ending) {
		loop_stop(r->loop, r->code);
		return;
	}
	if (r->op)
		op_cancel(take_ptr(r->op));
	end(r, EXIT_SIGNALLED + signo);
}

/* Starts the next step, or ends with the reason why it cannot be. */
static void began(struct run_verb *r, struct op *op, const struct fail *f)
{
	r->op = op;
	if (!op)
		end(r, report_fail(f));
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

static int copy_file(const char *from, const char *to)
{
	AUTO(closep) int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO(closep) int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct stat st;
	if (out < 0 || fstat(in, &st) < 0)
		return -errno;
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, (size_t)left, 0);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		left -= n;
	}
	return 0;
}

/* Into the working directory, under its own name; a directory as a tar archive. */
static bool bring(const struct copy_result *result)
{
	if (!result->success) {
		report_fail(&result->failure);
		return false;
	}
	AUTO(freep) char *name = xasprintf("%s%s", result->export.name, result->export.directory ? ".tar" : "");
	int e = strchr(name, '/') ? -EINVAL : copy_file(result->export.host_path, name);
	if (e < 0)
		log_error("cannot write '%s': %s", name, strerror(-e));
	else
		fprintf(stderr, "export: %s\n", name);
	return e == 0;
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

/* --- the program --------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx UNUSED, int stream, const char *text, size_t n)
{
	FILE *to = stream == 1 ? stdout : stderr;
	fwrite(text, 1, n, to);
	fflush(to);
}

/* Pictures are saved at the end. That they are asked for means that all of the text is shown, and once. */
static void on_display(void *ctx UNUSED, const struct shown_display *display UNUSED)
{
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct run_verb *r = ctx;
	unsigned number = 1;
	r->op = NULL;
	if (!result) {
		end(r, report_fail(f));
		return;
	}
	r->code = outcome_code(result);
	outcome_explain(result);
	pictures_save(result, r->stem, &number);
	bring_exports(r);
}

static void run_text(struct run_verb *r, const char *text, size_t n,
		     void (*on_done)(void *, const struct run_result *, const struct fail *))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_request request = { .kind = RUN_CODE,
				       .session_id = r->session,
				       .text = text,
				       .len = n,
				       .timeout_seconds = r->options->timeout ? r->options->timeout : TIMEOUT_MAX,
				       .on_output = on_output,
				       .on_display = on_display,
				       .on_done = on_done,
				       .ctx = r };
	began(r, manager_run(r->conversation, &request, &f), &f);
}

static void run_program(struct run_verb *r)
{
	run_text(r, buf_str(&r->program), r->program.len, on_ran);
}

static void on_arguments_set(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct run_verb *r = ctx;
	r->op = NULL;
	if (result && result->ending == ENDING_OK) {
		run_program(r);
		return;
	}
	if (result)
		log_error("the arguments could not be set: %s",
			  result->error_message ? result->error_message : ending_name(result->ending));
	end(r, f ? report_fail(f) : EXIT_SYSTEM);
}

/* The runtime's own code for it, with strings that every language of ours reads as JSON has them. */
static void set_arguments(struct run_verb *r)
{
	const char *const *argument = r->options->arguments;
	const char *template = r->fresh.request.runtime->arguments, *hole = template ? strstr(template, "{}") : NULL;
	AUTO(buf_release) struct buf code = { 0 };
	if (!hole) {
		run_program(r);
		return;
	}
	buf_add(&code, template, (size_t)(hole - template));
	for (size_t i = 0; argument[i]; i++) {
		json_auto_t *string = json_string(argument[i]);
		AUTO(freep) char *text = json_dumps(string, JSON_ENCODE_ANY);
		buf_printf(&code, "%s%s", i ? ", " : "", text);
	}
	buf_printf(&code, "%s", hole + 2);
	run_text(r, buf_str(&code), code.len, on_arguments_set);
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
		if (!results[i].success) {
			report_fail(&results[i].failure);
			end(r, EXIT_NO);
			return;
		}
	}
	set_arguments(r);
}

static void bring_files(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct strv *files = &r->options->files;
	if (!files->n) {
		set_arguments(r);
		return;
	}
	AUTO(freep) struct import_item *items = xcalloc(files->n, sizeof(*items));
	AUTO(strv_release) struct strv paths = { 0 };
	for (size_t i = 0; i < files->n; i++) {
		AUTO(freep) char *path = realpath(files->v[i], NULL);
		strv_add(&paths, path ? path : files->v[i]);
	}
	for (size_t i = 0; i < files->n; i++)
		items[i] = (struct import_item){ .source = paths.v[i], .own = true };
	struct copy_request request = {
		.session_id = r->session, .imports = items, .n = files->n, .on_done = on_imported, .ctx = r
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
	bring_files(r);
}

static void create(struct run_verb *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	r->fresh.request.on_done = on_created;
	r->fresh.request.ctx = r;
	began(r, manager_create(r->conversation, &r->fresh.request, &f), &f);
}

/* --- what is asked for --------------------------------------------------------------------------------------------- */

static int read_program(struct run_verb *r)
{
	const char *path = r->options->program;
	bool input = streq(path, "-");
	AUTO(closep) int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	r->program.max = PROGRAM_MAX;
	for (ssize_t n = 1; n > 0;) {
		uint8_t *at = fd < 0 ? NULL : buf_reserve(&r->program, 65536);
		n = at ? read(fd, at, 65536) : -1;
		if (n < 0) {
			log_error("cannot read '%s': %s", path,
				  fd < 0 || at ? strerror(errno) : "it is larger than 8 MiB");
			return -1;
		}
		r->program.len += (size_t)n;
	}
	return 0;
}

/* By --language, or by the ending of the file's name; NULL = the first one. */
static const char *language_of(const struct options *o)
{
	const char *dot = strrchr(o->program, '.');
	if (o->language || streq(o->program, "-"))
		return o->language;
	return dot && !strchr(dot, '/') ? dot + 1 : o->program;
}

/* Before a session is made for nothing. */
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

/* Beside the program: plot.py makes plot-1.png. */
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
	r->deadline = timer_new(r->loop, on_end_deadline, r);
	struct signals *signals = signals_new(r->loop, on_signal, r);
	create(r);
	int code = r->ending && !r->op ? r->code : loop_run(r->loop);
	signals_free(signals);
	timer_free(r->deadline);
	manager_free(r->manager);
	loop_free(r->loop);
	return code;
}

static int prepare(struct run_verb *r)
{
	int code = fresh_take(&r->fresh, r->options, &r->config, language_of(r->options));
	if (code != EXIT_DONE)
		return code;
	if (r->options->arguments[0] && r->options->arguments[1] && !r->fresh.request.runtime->arguments) {
		log_error("programs in %s take no arguments here", r->fresh.request.runtime->name);
		options_usage_line(stderr, r->options->verb);
		return EXIT_USAGE;
	}
	r->stem = stem_of(r->options->program);
	return read_program(r) < 0 || check_files(r) < 0 ? EXIT_NO : EXIT_DONE;
}

int run_run(const struct options *options)
{
	struct run_verb r = { .options = options };
	AUTO(fail_release) struct fail f = { 0 };
	int code = EXIT_USAGE;
	if (settings_load(&r.config, options->env_file, &f) < 0)
		code = report_refusal(&f, options->verb);
	else if ((code = prepare(&r)) == EXIT_DONE)
		code = go(&r);
	buf_release(&r.program);
	fresh_release(&r.fresh);
	free(r.stem);
	free(r.session);
	config_release(&r.config);
	return code;
}
