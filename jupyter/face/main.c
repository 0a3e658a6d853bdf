/* husk-jupyter-face: serves a session of Husk as a Jupyter kernel. A person starts it with `husk jupyter`, and Jupyter
 * starts it through the kernelspecs that `husk jupyter --install` wrote. See docs/jupyter.md. */
#include <errno.h>
#include <signal.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/tether.h"
#include "base/work.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "jupyter/face/face.h"
#include "jupyter/face/kernelspecs.h"
#include "jupyter/face/language.h"
#include "jupyter/face/options.h"
#include "jupyter/face/place.h"

/* Interval of the check that the session and the parent process still exist. */
#define WATCH_MS 2000
#define SETTLE_MS 50
#define WORKSPACE "/workspace"

struct program {
	struct face_options options;
	struct config config;
	struct loop *loop;
	const struct runtime *runtime;
	struct runtime stranger; /* a language that only the server knows */
	char *name;		 /* the name of that language */
	struct opening *opening;
	struct opened *opened;
	char *session;
	struct sender_id id;
	struct connection connection;
	int hold; /* lock on the connection file that we made; -1 = none */
	struct face *face;
	struct timer *watch;
	struct attach_call *check;
	char *folder; /* the notebook's folder, which is copied into a new session; NULL = none */
	pid_t parent;
	bool ending;
	int code;
};

/* --- shutdown ---------------------------------------------------------------------------------------------------- */

static void on_settled(void *ctx)
{
	struct program *p = ctx;
	loop_stop(p->loop, p->code);
}

static void end(struct program *p, int code)
{
	if (p->ending)
		return;
	p->ending = true;
	p->code = code;
	timer_stop(p->watch);
	attach_open_cancel(take_ptr(p->opening));
	if (p->opened)
		opened_settle(p->opened, SETTLE_MS, on_settled, p);
	else
		loop_stop(p->loop, code);
}

static void on_face_end(void *ctx, const char *why)
{
	struct program *p = ctx;
	if (why)
		log_error("the session has ended: %s", why);
	end(p, EXIT_DONE);
}

/* On SIGINT, a kernel that Jupyter started interrupts its cell. If a person started the program, it ends. */
static void on_signal(void *ctx, int signo)
{
	struct program *p = ctx;
	if (signo == SIGINT && p->options.runtime && p->face)
		face_interrupt(p->face);
	else
		end(p, EXIT_DONE);
}

/* --- the session ------------------------------------------------------------------------------------------------- */

static void on_reason(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct program *p = ctx;
	p->check = NULL;
	if (!details && f->kind != FAIL_BUSY && cause_of(f) != CAUSE_NO_SERVER)
		on_face_end(p, f->message);
}

static void on_found(void *ctx, const struct session_info *info, const struct fail *f)
{
	struct program *p = ctx;
	AUTO(fail_release) struct fail ignored = { 0 };
	p->check = NULL;
	if ((info && !streq(info->status, "dead")) || (f && cause_of(f) == CAUSE_NO_SERVER))
		return;
	p->check = attach_info(opened_attach(p->opened),
			       &(struct info_request){ .session_id = p->session, .on_done = on_reason, .ctx = p },
			       &ignored);
}

static void on_watch(void *ctx)
{
	struct program *p = ctx;
	AUTO(fail_release) struct fail ignored = { 0 };
	if (p->options.runtime && getppid() != p->parent) {
		end(p, EXIT_DONE);
		return;
	}
	if (p->opened && !p->check)
		p->check = attach_find(
			opened_attach(p->opened),
			&(struct attach_find_request){ .session_id = p->session, .on_done = on_found, .ctx = p },
			&ignored);
}

static void open_session(struct program *p);

/* The server of the session has ended. Unless Jupyter started this process, it opens the session again and may become
 * its server. */
static void on_lost(void *ctx, const struct fail *f)
{
	struct program *p = ctx;
	log_warning("%s", f->message);
	p->check = NULL;
	if (p->face)
		face_attach(p->face, NULL, NULL);
	p->opened = opened_free(p->opened);
	if (p->ending)
		loop_stop(p->loop, p->code);
	else if (p->options.runtime)
		end(p, EXIT_SYSTEM);
	else
		open_session(p);
}

/* --- start ------------------------------------------------------------------------------------------------------- */

static int make_connection(struct program *p, struct fail *f)
{
	if (p->options.connection_file)
		return connection_read(&p->connection, p->options.connection_file, &p->id, f);
	AUTO(freep) char *folder = place_find(p->config.state_dir, p->options.tcp);
	AUTO(freep) char *name = xasprintf("husk-%s", p->runtime->name);
	if (sender_id_make(&p->id) < 0)
		return fail_set(f, FAIL_INTERNAL, "there is no source of random numbers");
	place_sweep(folder);
	if (connection_make(&p->connection, folder, p->options.tcp, &p->id, name, f) < 0)
		return -1;
	p->hold = place_hold(p->connection.file);
	if (p->hold < 0)
		return fail_set(f, FAIL_INTERNAL, "cannot lock '%s': %s", p->connection.file, strerror(errno));
	return 0;
}

static void tell_person(const struct program *p)
{
	const char *file = p->connection.file;
	printf("Session %s (%s) is open to Jupyter, until Ctrl-C or until it ends.\n"
	       "\n"
	       "  connection file  %s\n"
	       "  in a terminal    jupyter console --existing %s\n"
	       "  in JupyterLab    jupyter lab --ServerApp.allow_external_kernels=True --ServerApp.external_connection_dir=%s\n",
	       p->session, p->runtime->title, file, file, p->connection.folder);
	fflush(stdout);
}

/* The server may be another version of Husk, with languages that this program knows by name only. */
static const struct runtime *runtime_of(struct program *p)
{
	const struct runtime *known = runtime_find(opened_runtime(p->opened));
	free(p->name);
	p->name = xstrdup(opened_runtime(p->opened));
	p->stranger = (struct runtime){ .name = p->name, .title = p->name, .extension = ".txt" };
	return known ? known : &p->stranger;
}

static int start_face(struct program *p, struct fail *f)
{
	if (p->opened)
		p->runtime = runtime_of(p);
	if (make_connection(p, f) < 0)
		return -1;
	if (face_open(&p->face,
		      &(struct face_spec){ .loop = p->loop,
					   .connection = &p->connection,
					   .id = &p->id,
					   .runtime = p->runtime,
					   .owns = p->options.runtime != NULL,
					   .on_end = on_face_end,
					   .ctx = p },
		      f) < 0)
		return -1;
	if (!p->options.connection_file)
		tell_person(p);
	timer_start(p->watch, WATCH_MS, WATCH_MS);
	return 0;
}

/* --- the notebook's folder --------------------------------------------------------------------------------------- */

static void serve(struct program *p)
{
	face_attach(p->face, opened_attach(p->opened), p->session);
}

static void tell_not_copied(struct program *p, const char *why)
{
	AUTO(freep) char *text = xasprintf("the folder '%s' was not copied into the session: %s. "
					   "`husk cp FILE... %.12s:` in a terminal copies what the notebook needs.",
					   p->folder, why, p->session);
	log_warning("%s", text);
	face_tell(p->face, text);
}

static void on_copied(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct program *p = ctx;
	const struct fail *why = f ? f : n && !results[0].success ? &results[0].failure : NULL;
	if (p->ending)
		return;
	if (why)
		tell_not_copied(p, why->message ? why->message : "it cannot be read");
	else
		fprintf(stderr,
			"husk: '%s' was copied to " WORKSPACE " of session %s; "
			"`husk cp %.12s:FILE... .` brings files back while the kernel runs\n",
			p->folder, p->session, p->session);
	for (size_t i = 0; !why && i < results[0].notices.n; i++)
		log_warning("%s", results[0].notices.v[i]);
	serve(p);
}

static void bring_folder(struct program *p)
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct import_item item = { .source = p->folder, .own = true, .project = true, .destination = WORKSPACE };
	const struct copy_request request = {
		.session_id = p->session, .imports = &item, .n = 1, .on_done = on_copied, .ctx = p
	};
	if (dirs_is_root_or_home(p->folder))
		fail_set(&f, FAIL_INVALID, "a whole home directory or disk is not copied");
	else if (attach_copy(opened_attach(p->opened), &request, &f))
		return;
	tell_not_copied(p, f.message);
	serve(p);
}

static void on_opened(void *ctx, struct opened *o, const struct fail *f)
{
	struct program *p = ctx;
	AUTO(fail_release) struct fail own = { 0 };
	p->opening = NULL;
	if (!o) {
		end(p, report_fail(f));
		return;
	}
	p->opened = o;
	free(p->session);
	p->session = xstrdup(opened_session(o));
	if (!p->face && start_face(p, &own) < 0) {
		end(p, report_fail(&own));
		return;
	}
	if (p->folder)
		bring_folder(p);
	else
		serve(p);
}

static void open_session(struct program *p)
{
	const struct create_request fresh = { .runtime = p->runtime, .network = p->config.network_enabled };
	p->opening = attach_open(&(struct open_request){ .loop = p->loop,
							 .config = &p->config,
							 .session_id = p->options.session,
							 .fresh = &fresh,
							 .on_done = on_opened,
							 .on_lost = on_lost,
							 .ctx = p });
}

static int find_runtime(struct program *p, struct fail *f)
{
	if (!p->options.runtime)
		return 0;
	p->runtime = runtime_find(p->options.runtime);
	return p->runtime ? 0 : fail_set(f, FAIL_INVALID, "there is no runtime '%s'", p->options.runtime);
}

static int run(struct program *p)
{
	AUTO(fail_release) struct fail f = { 0 };
	p->loop = loop_new();
	p->parent = getppid();
	p->watch = timer_new(p->loop, on_watch, p);
	struct signals *signals = signals_new(p->loop, on_signal, p);
	/* Jupyter's clients connect immediately, so the sockets are bound first. */
	bool ready = !p->options.runtime || start_face(p, &f) == 0;
	if (p->options.runtime && !p->options.alone)
		p->folder = realpath(".", NULL);
	if (ready)
		open_session(p);
	int code = ready ? loop_run(p->loop) : report_fail(&f);
	signals_free(signals);
	timer_free(p->watch);
	opened_free(p->opened);
	face_free(p->face);
	connection_release(&p->connection);
	closep(&p->hold);
	free(p->session);
	free(p->folder);
	free(p->name);
	loop_free(p->loop);
	return code;
}

static int face_main(int argc, char **argv)
{
	struct program p = { .hold = -1 };
	AUTO(fail_release) struct fail f = { 0 };
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	log_init();
	/* This program starts itself with `reap` when it exits. The verb is not for users, so the usage omits it. */
	if (argc > 5 && streq(argv[1], "reap") && streq(argv[4], "--"))
		return manager_reap(argv[2], argv[3], argv + 5);
	if (argc > 4 && streq(argv[1], "tether") && streq(argv[3], "--"))
		return tether_run(argv[2], argv + 4);
	if (face_options_parse(&p.options, argc, argv, &f) < 0 || find_runtime(&p, &f) < 0) {
		report_fail(&f);
		help_print_usage(stderr, &face_help, face_help.verbs);
		return EXIT_USAGE;
	}
	if (p.options.help)
		help_print_verb(stdout, &face_help, face_help.verbs);
	else if (p.options.version)
		puts("husk-jupyter-face " HUSK_VERSION);
	if (p.options.help || p.options.version)
		return EXIT_DONE;
	struct kernelspecs_request specs = { .env_file = p.options.env_file,
					     .prefix = p.options.prefix,
					     .alone = p.options.alone };
	if (p.options.install || p.options.uninstall)
		return p.options.install ? kernelspecs_install(&specs) : kernelspecs_uninstall(&specs);
	if (settings_load(&p.config, p.options.env_file, &f) < 0)
		return report_fail(&f);
	int code = run(&p);
	config_release(&p.config);
	return code;
}

int main(int argc, char **argv)
{
	int code = face_main(argc, argv);
	/* exit() would wait for a thread that is blocked on a disk or a database (base/work.h). */
	if (work_is_running()) {
		fflush(NULL);
		_exit(code);
	}
	return code;
}
