/* The tour: a client that starts the server as its child and performs the steps below. One request is open at a
 * time, and its answer decides whether the next step is taken. */
#include "cli/demo.h"

#include <fcntl.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/child.h"
#include "base/lines.h"
#include "base/strv.h"
#include "cli/demo-print.h"
#include "cli/exit.h"

/* Long enough for an engine that starts on demand. A hanging engine times out. */
#define STEP_MS 120000
/* Time for the session to stop and the server to end. */
#define END_MS 10000
/* Version of the protocol, as clients send it. */
#define REVISION "2026-07-28"
#define META_PREFIX "io.modelcontextprotocol/"
/* Where the server puts the fields of a run. */
#define RUN_FIELDS "dev.husk/result"
#define SET_UP "Set up the engine and the images with `husk setup`, then run `husk demo` again."
#define PICTURE "husk-demo.png"

struct step {
	const char *say;
	const char *tool; /* NULL: server/discover */
	const char *text; /* the cell or the command */
	bool draws;
};

static const struct step steps[] = {
	{ "Start the server and ask what it is", NULL, NULL },
	{ "Create a session: a hardened container with a Python interpreter", "create_session", NULL },
	{ "Run a cell", "execute_code",
	  "import math\n"
	  "primes = [n for n in range(2, 100) if all(n % d for d in range(2, math.isqrt(n) + 1))]\n"
	  "len(primes)" },
	{ "Run another one: the variable is still there", "execute_code",
	  "print('the largest is', max(primes))\n"
	  "sum(primes)" },
	{ "Draw something: figures come back as pictures", "execute_code",
	  "import numpy as np, matplotlib.pyplot as plt\n"
	  "t = np.linspace(0, 12 * np.pi, 2000)\n"
	  "r = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5\n"
	  "plt.figure(figsize=(5, 5)); plt.plot(np.cos(t) * r, np.sin(t) * r, lw=0.8); plt.axis('off');",
	  .draws = true },
	{ "Use the shell of the same machine", "execute_terminal", "id -un; uname -sr; df -h /workspace | tail -1" },
	{ "Stop the session: the container is removed", "stop_session", NULL },
};

struct demo {
	struct loop *loop;
	struct child *server;
	struct line_splitter splitter;
	struct timer *deadline;
	size_t at;
	uint64_t sent_ms;
	uint64_t started_ms;
	char *session_id;
	char *picture; /* where it was saved */
	bool done;
	bool cleaning; /* waits for the answer to the last stop_session */
};

static void finish(struct demo *d, int code)
{
	d->done = true;
	loop_stop(d->loop, code);
}

/* next is NULL if `what` already contains the next step. */
static void give_up(struct demo *d, const char *what, const char *next)
{
	demo_print_failure(what, next);
	finish(d, EXIT_SYSTEM);
}

/* --- asking ---------------------------------------------------------------------------------------------- */

static json_t *arguments_of(const struct demo *d, const struct step *step)
{
	if (streq(step->tool, "create_session"))
		return json_pack("{s:s, s:b}", "language", "python", "network", 0);
	json_t *args = json_pack("{s:s}", "session_id", d->session_id);
	if (step->text)
		json_object_set_new(args, streq(step->tool, "execute_code") ? "code" : "command",
				    json_string(step->text));
	return args;
}

static json_t *request_of(const struct demo *d, const struct step *step)
{
	json_t *params = json_pack("{s:{s:s, s:{s:s, s:s}, s:{}}}", "_meta", META_PREFIX "protocolVersion", REVISION,
				   META_PREFIX "clientInfo", "name", "husk-demo", "version", HUSK_VERSION,
				   META_PREFIX "clientCapabilities");
	if (step->tool) {
		json_object_set_new(params, "name", json_string(step->tool));
		json_object_set_new(params, "arguments", arguments_of(d, step));
	}
	return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", (int)d->at, "method",
			 step->tool ? "tools/call" : "server/discover", "params", params);
}

static void send_step(struct demo *d)
{
	const struct step *step = &steps[d->at];
	json_auto_t *request = request_of(d, step);
	AUTO(freep) char *line = json_dumps(request, JSON_COMPACT);
	AUTO(freep) char *framed = xasprintf("%s\n", line);
	demo_print_step(d->at + 1, ARRAY_LEN(steps), step->say, step->tool, step->text);
	d->sent_ms = loop_now_ms();
	timer_start(d->deadline, STEP_MS, 0);
	/* If the server is gone, its on_done reports it. */
	(void)child_write(d->server, framed, strlen(framed));
}

/* --- reading --------------------------------------------------------------------------------------------- */

static void save_picture(struct demo *d, const char *base64)
{
	const char *dirs[] = { ".", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
	AUTO(buf_release) struct buf png = { 0 };
	if (base64_decode(base64, strlen(base64), &png) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(dirs) && !d->picture; i++) {
		if (!dirs[i] || !*dirs[i])
			continue;
		AUTO(freep) char *path = xasprintf("%s/" PICTURE, dirs[i]);
		/* In a shared folder, another user may have put a link at this name. */
		AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd >= 0 && write(fd, png.data, png.len) == (ssize_t)png.len) {
			d->picture = realpath(path, NULL);
			demo_print_picture(d->picture ? d->picture : path, png.len);
		}
	}
}

static const char *text_of(const json_t *block, const char *key)
{
	const char *s = json_string_value(json_object_get(block, key));
	return s ? s : "";
}

static void show_content(struct demo *d, const json_t *result)
{
	size_t i;
	json_t *block;
	json_array_foreach(json_object_get(result, "content"), i, block) {
		if (streq(text_of(block, "type"), "text"))
			demo_print_answer(text_of(block, "text"));
		else if (streq(text_of(block, "type"), "image") && !d->picture)
			save_picture(d, text_of(block, "data"));
	}
}

/* The fields of a tool's answer: its structured content or, for a run, the fields next to the text. */
static const json_t *fields_of(const json_t *result)
{
	const json_t *fields = json_object_get(result, "structuredContent");
	return fields ? fields : json_object_get(json_object_get(result, "_meta"), RUN_FIELDS);
}

/* If a run fails, its output is shown and the tour ends. */
static bool accept_run(struct demo *d, const struct step *step, const json_t *result)
{
	show_content(d, result);
	if (!json_is_true(json_object_get(fields_of(result), "success")))
		give_up(d, "the run failed", SET_UP);
	else if (step->draws && !d->picture)
		give_up(d, "no picture came back, or it could not be saved", SET_UP);
	return !d->done;
}

/* True if the tour continues. */
static bool accept(struct demo *d, const struct step *step, const json_t *message)
{
	const json_t *result = json_object_get(message, "result");
	const char *text = text_of(json_array_get(json_object_get(result, "content"), 0), "text");
	if (!result) {
		give_up(d, text_of(json_object_get(message, "error"), "message"), SET_UP);
		return false;
	}
	if (json_is_true(json_object_get(result, "isError"))) {
		give_up(d, text, json_is_string(json_object_get(fields_of(result), "hint")) ? NULL : SET_UP);
		return false;
	}
	demo_print_time(loop_now_ms() - d->sent_ms);
	if (!step->tool) {
		const json_t *info = json_object_get(json_object_get(result, "_meta"), META_PREFIX "serverInfo");
		AUTO(freep) char *line =
			xasprintf("%s %s, MCP " REVISION, text_of(info, "name"), text_of(info, "version"));
		demo_print_answer(line);
	} else if (streq(step->tool, "create_session")) {
		d->session_id = xstrdup(text_of(fields_of(result), "session_id"));
		AUTO(freep) char *line = xasprintf("session %s", d->session_id);
		demo_print_answer(line);
	} else if (streq(step->tool, "stop_session")) {
		demo_print_answer("stopped");
	} else {
		return accept_run(d, step, result);
	}
	return true;
}

static void on_message(struct demo *d, const json_t *message)
{
	const json_t *id = json_object_get(message, "id");
	if (!json_is_integer(id) || json_integer_value(id) != (json_int_t)d->at)
		return;
	timer_stop(d->deadline);
	if (!accept(d, &steps[d->at], message))
		return;
	if (++d->at < ARRAY_LEN(steps))
		send_step(d);
	else
		finish(d, EXIT_DONE);
}

static void on_stdout(void *ctx, const void *data, size_t n)
{
	struct demo *d = ctx;
	const char *line;
	size_t len;
	line_splitter_feed(&d->splitter, data, n);
	while ((!d->done || d->cleaning) &&
	       line_splitter_next(&d->splitter, /* at_end= */ false, &line, &len) == LINE_READY) {
		json_auto_t *message = json_loadb(line, len, 0, NULL);
		if (!d->cleaning)
			on_message(d, message);
		else if (json_integer_value(json_object_get(message, "id")) == (json_int_t)ARRAY_LEN(steps))
			child_close_stdin(d->server);
	}
}

static void on_server_done(void *ctx, const struct child_result *r)
{
	struct demo *d = ctx;
	d->server = child_free(d->server);
	if (d->done) {
		loop_stop(d->loop, 0);
		return;
	}
	AUTO(freep) char *what = xasprintf("the server ended with status %d: %s", r->exit_status, r->err);
	give_up(d, what, SET_UP);
}

static void on_deadline(void *ctx)
{
	struct demo *d = ctx;
	if (d->done)
		loop_stop(d->loop, 0);
	else
		give_up(d, "no answer within two minutes", "Does the container engine work? Try `docker ps`.");
}

/* --- life ------------------------------------------------------------------------------------------------ */

static int start_server(struct demo *d, const char *self, const char *env_file, struct fail *f)
{
	struct strv argv = { 0 };
	strv_add_all(&argv, self, "mcp", NULL);
	if (env_file)
		strv_add_all(&argv, "--env-file", env_file, NULL);
	int r = child_start(d->loop,
			    &(struct child_spec){ .argv = strv_argv(&argv),
						  .stdin_pipe = true,
						  .on_stdout = on_stdout,
						  .on_done = on_server_done,
						  .ctx = d },
			    &d->server, f);
	strv_release(&argv);
	return r;
}

static void on_signal(void *ctx, int signo)
{
	finish(ctx, EXIT_SYSTEM);
}

/* When its input ends, the server ends and leaves its sessions to the next server. A tour that is interrupted
 * therefore stops its session first. */
static void let_server_end(struct demo *d)
{
	d->done = true;
	if (!d->server)
		return;
	if (d->session_id && d->at < ARRAY_LEN(steps)) {
		d->cleaning = true;
		d->at = ARRAY_LEN(steps);
		json_auto_t *request = request_of(d, &steps[ARRAY_LEN(steps) - 1]);
		AUTO(freep) char *line = json_dumps(request, JSON_COMPACT);
		AUTO(freep) char *framed = xasprintf("%s\n", line);
		(void)child_write(d->server, framed, strlen(framed));
	} else {
		child_close_stdin(d->server);
	}
	timer_start(d->deadline, END_MS, 0);
	loop_run(d->loop);
	d->server = child_free(d->server);
}

int demo_run(const struct options *options)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *self = realpath("/proc/self/exe", NULL);
	struct demo d = { .loop = loop_new(), .splitter = { .max = 16u << 20 } };
	int code = EXIT_SYSTEM;
	d.started_ms = loop_now_ms();
	d.deadline = timer_new(d.loop, on_deadline, &d);
	struct signals *signals = signals_new(d.loop, on_signal, &d);
	demo_print_title();
	if (!self)
		demo_print_failure("cannot find the program husk", SET_UP);
	else if (start_server(&d, self, options->env_file, &f) < 0)
		demo_print_failure(f.message, f.hint);
	else {
		send_step(&d);
		code = loop_run(d.loop);
	}
	if (code == EXIT_DONE)
		demo_print_end(loop_now_ms() - d.started_ms, self);
	let_server_end(&d);
	signals_free(signals);
	timer_free(d.deadline);
	line_splitter_release(&d.splitter);
	free(d.session_id);
	free(d.picture);
	loop_free(d.loop);
	return code;
}
