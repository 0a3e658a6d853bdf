/* Copies one entry after the other, over a connection to the server of the session. This process opens the files
 * itself and passes the descriptors, so the rights of the person at the terminal apply, not those of the server. */
#include "cli/cp.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/log.h"
#include "cli/cp-names.h"
#include "cli/exit.h"
#include "cli/private-stdio.h"
#include "cli/report.h"

/* Time for the store to finish writing. */
#define END_MS 5000

struct cp {
	const struct options *options;
	struct config config;
	struct cp_names names;
	struct loop *loop;
	struct opening *opening;
	struct opened *opened;
	struct attach_call *call;
	struct timer *turn; /* starts the next entry from the loop */
	size_t at;
	bool shows; /* shows progress: stderr is a terminal */
	bool to_folder, ending;
	int code;
};

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void stop(void *ctx)
{
	struct cp *c = ctx;
	loop_stop(c->loop, c->code);
}

static void end(struct cp *c)
{
	if (c->ending)
		return;
	c->ending = true;
	timer_stop(c->turn);
	if (c->opening)
		attach_open_cancel(take_ptr(c->opening));
	if (c->call)
		attach_cancel(take_ptr(c->call));
	if (c->opened)
		opened_settle(c->opened, END_MS, stop, c);
	else
		stop(c);
}

static void on_signal(void *ctx, int signo)
{
	struct cp *c = ctx;
	c->code = EXIT_SIGNALLED + signo;
	if (c->ending)
		stop(c);
	else
		end(c);
}

/* --- output -------------------------------------------------------------------------------------------------------- */

static void clear_line(const struct cp *c)
{
	if (c->shows)
		fputs("\r\033[K", stderr);
}

static void on_progress(void *ctx, const char *line)
{
	struct cp *c = ctx;
	clear_line(c);
	if (c->names.n > 1)
		fprintf(stderr, "%zu/%zu ", c->at + 1, c->names.n);
	fprintf(stderr, "%.*s", (int)strcspn(line, "\n"), line);
	fflush(stderr);
}

/* The other entries are still tried. The first failure decides the exit code. */
static void complain(struct cp *c, const struct fail *f)
{
	clear_line(c);
	int code = report_fail(f);
	c->code = c->code ? c->code : code;
}

static void tell(struct cp *c, const char *to, const struct copy_result *result, const struct strv *more)
{
	clear_line(c);
	for (size_t i = 0; i < result->notices.n; i++)
		log_warning("%s", result->notices.v[i]);
	for (size_t i = 0; more && i < more->n; i++)
		log_warning("%s", more->v[i]);
	if (c->shows)
		fprintf(stderr, "%s -> %s%s%s (%.1f MB)\n", c->names.sources[c->at],
			c->names.in ? c->names.session : "", c->names.in ? ":" : "", to,
			(double)result->size / 1048576);
}

/* --- one entry ----------------------------------------------------------------------------------------------------- */

static const char *inside(const char *word)
{
	AUTO(freep) char *session = NULL;
	return cp_split(word, &session);
}

/* The path of the copy on this machine. Content ("out/.") goes into the destination itself; anything else goes
 * below the destination if that is a folder. */
static char *place_here(const struct cp *c, const char *name)
{
	const char *to = c->names.destination;
	if (!c->to_folder || cp_is_content(inside(c->names.sources[c->at])))
		return xstrdup(to);
	return xasprintf("%s/%s", to, name);
}

static void bring(struct cp *c, const struct copy_result *result)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv notices = { 0 };
	const char *name = result->export.name;
	if (!*name || strchr(name, '/') || streq(name, ".") || streq(name, "..")) {
		fail_set(&f, FAIL_INTERNAL, "cannot copy '%s': it is not a file name", name);
		complain(c, &f);
		return;
	}
	AUTO(freep) char *to = place_here(c, name);
	if (export_bring(&result->export, to, &notices, &f) < 0)
		complain(c, &f);
	else
		tell(c, to, result, &notices);
}

static void on_copied(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct cp *c = ctx;
	c->call = NULL;
	if (f) {
		/* The connection or the session was lost. */
		complain(c, f);
		end(c);
		return;
	}
	if (n && !results[0].success)
		complain(c, &results[0].failure);
	else if (n && c->names.in)
		tell(c, results[0].path, &results[0], NULL);
	else if (n)
		bring(c, &results[0]);
	c->at++;
	timer_start(c->turn, 0, 0);
}

/* The name of the source as it was written, or the real name of the folder for "." and "..". */
static char *name_of(const char *source, const char *path)
{
	AUTO(freep) char *base = cp_base(source);
	return *base && !streq(base, "..") && !streq(base, ".") ? take_ptr(base) : cp_base(path);
}

static int start_in(struct cp *c, struct copy_request *request, struct fail *f)
{
	const char *source = c->names.sources[c->at];
	AUTO(freep) char *path = realpath(source, NULL);
	if (!path)
		return fail_set(f, FAIL_INVALID, "cannot open '%s': %s", source, strerror(errno));
	AUTO(freep) char *base = name_of(source, path);
	bool may_be_folder;
	AUTO(freep) char *place =
		cp_place(c->names.destination, base, cp_is_content(source), c->names.n > 1, &may_be_folder);
	struct import_item item = {
		.source = path, .own = true, .destination = place, .into = may_be_folder ? base : NULL
	};
	request->imports = &item;
	c->call = attach_copy(opened_attach(c->opened), request, f);
	return c->call ? 0 : -1;
}

static int start_out(struct cp *c, struct copy_request *request, struct fail *f)
{
	const char *path = inside(c->names.sources[c->at]);
	const char *wanted = *path ? path : ".";
	request->exports = &wanted;
	c->call = attach_copy(opened_attach(c->opened), request, f);
	return c->call ? 0 : -1;
}

static void on_turn(void *ctx)
{
	struct cp *c = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (c->at == c->names.n) {
		end(c);
		return;
	}
	struct copy_request request = { .session_id = opened_session(c->opened),
					.n = 1,
					.on_progress = c->shows ? on_progress : NULL,
					.on_done = on_copied,
					.ctx = c };
	if ((c->names.in ? start_in(c, &request, &f) : start_out(c, &request, &f)) == 0)
		return;
	complain(c, &f);
	c->at++;
	timer_start(c->turn, 0, 0);
}

static void on_opened(void *ctx, struct opened *o, const struct fail *f)
{
	struct cp *c = ctx;
	c->opening = NULL;
	c->opened = o;
	if (f) {
		complain(c, f);
		end(c);
		return;
	}
	timer_start(c->turn, 0, 0);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

/* Checks a destination on this machine before anything is requested from the session. */
static int check_destination(struct cp *c, struct fail *f)
{
	struct stat st;
	const char *to = c->names.destination;
	size_t n = strlen(to);
	if (c->names.in)
		return 0;
	int r = stat(to, &st);
	c->to_folder = r == 0 && S_ISDIR(st.st_mode);
	if (!c->to_folder && (c->names.n > 1 || !n || to[n - 1] == '/'))
		return fail_set(f, FAIL_INVALID, "cannot copy to '%s': %s", to,
				r < 0 ? strerror(errno) : "it is not a folder");
	return 0;
}

static int go(struct cp *c)
{
	c->loop = loop_new();
	c->turn = timer_new(c->loop, on_turn, c);
	struct signals *signals = signals_new(c->loop, on_signal, c);
	c->opening = attach_open(&(struct open_request){ .loop = c->loop,
							 .config = &c->config,
							 .session_id = c->names.session,
							 .on_done = on_opened,
							 .ctx = c });
	int code = loop_run(c->loop);
	signals_free(signals);
	timer_free(c->turn);
	opened_free(c->opened);
	loop_free(c->loop);
	return code;
}

int cp_run(const struct options *options)
{
	struct cp c = { .options = options, .shows = isatty(STDERR_FILENO) };
	AUTO(fail_release) struct fail f = { 0 };
	int code;
	if (stdio_fill_gaps() < 0)
		code = EXIT_SYSTEM;
	else if (cp_names_take(options->arguments, &c.names, &f) < 0 || check_destination(&c, &f) < 0)
		code = report_refusal(&f, options->verb);
	else if (settings_load(&c.config, options->env_file, &f) < 0)
		code = report_refusal(&f, options->verb);
	else
		code = go(&c);
	free(c.names.session);
	config_release(&c.config);
	return code;
}
