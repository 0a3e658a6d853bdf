#include "kernels/jupyter/adapter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "kernels/jupyter/channels.h"
#include "kernels/jupyter/outputs.h"
#include "kernels/jupyter/process.h"
#include "kernels/jupyter/prompt.h"
#include "kernels/jupyter/queries.h"
#include "kernels/jupyter/raw.h"
#include "kernels/jupyter/spec.h"
#include "kernels/jupyter/uplink.h"
#include "kernels/system/clock.h"

#define START_STEP_MS 100
/* A kernel that answers but publishes nothing for this long is accepted. */
#define SILENT_START_MS 1000
#define SAY_WHAT_IS_MISSING_MS 45000 /* PID 1 waits 60 s */
/* If only the reply or only the idle status of a cell has arrived, the adapter checks after this time whether the other
 * one is lost: a publisher with a full queue may have dropped it. */
#define HALF_END_MS 1000
/* A kernel that misses this many heartbeats in a row is killed. This is longer than it takes to wake a process on a
 * machine that is short of memory. */
#define BEATS_MISSED_MAX 12
/* How long messages of a dead kernel may still be in transit. */
#define LAST_WORDS_MS 500
#define LAST_WORDS_QUIET_MS 50
#define SHUTDOWN_MS 1000
#define MESSAGES_A_TURN 1000
#define COMPLAINTS_MAX 5
#define EXIT_LOST 70
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

enum state { STATE_STARTING, STATE_IDLE, STATE_BUSY, STATE_CLOSING };

struct adapter {
	const struct adapter_options *options;
	struct spec spec;
	struct sender_id id;
	struct connection connection;
	struct channels *channels;
	struct uplink uplink;
	struct outputs outputs;
	struct queries queries;
	struct prompt prompt;
	struct raw raw;
	int signals;
	pid_t kernel;
	enum state state;
	uint64_t since_ms; /* start of the state */

	struct {
		uint64_t requested_ms, replied_ms; /* 0 = not yet */
		bool published, beats, said;
		char language_version[64];
	} start;
	struct {
		uint64_t half_ms; /* start of the wait for the missing half; 0 = no half is missing */
		bool sent, replied, idle;
		char request[MESSAGE_ID_LEN + 1];
	} probe;
	struct {
		uint64_t due_ms, sent_ms;
		uint64_t busy_ms;      /* when the kernel began the running cell; 0 = it has not begun one */
		uint64_t answered_ms;  /* first answer to a ping since then; 0 = none */
		bool known_from_cells; /* the kernel has answered a ping during a cell, so it always should */
	} beat;
	unsigned complaints;
	int written_fd; /* last stream that the running cell wrote to; 0 = none */
};

static void set_state(struct adapter *a, enum state state)
{
	a->state = state;
	a->since_ms = clock_now_ms();
}

/* ---- output */

/* stdout, stderr and the link are three ways to PID 1: before output changes from one to another, the adapter waits
 * until PID 1 has read the first. */
static void keep_order(struct adapter *a, int fd)
{
	if (a->outputs.running && a->written_fd && a->written_fd != fd) {
		json_auto_t *sync = json_pack("{s:s, s:I}", "op", "sync", "id", a->outputs.call);
		(void)uplink_send(&a->uplink, sync);
	}
	a->written_fd = fd;
	uplink_settle(&a->uplink);
}

static void write_out(struct outputs *o, int fd, const void *data, size_t n)
{
	const char *at = data;
	keep_order(container_of(o, struct adapter, outputs), fd);
	while (n) {
		ssize_t written = write(fd, at, n);
		if (written < 0 && errno == EAGAIN) { /* a kernel may have made the shared pipe non-blocking */
			struct pollfd p = { .fd = fd, .events = POLLOUT };
			(void)poll(&p, 1, -1);
			continue;
		}
		if (written < 0 && errno != EINTR)
			return;
		at += MAX(written, 0);
		n -= (size_t)MAX(written, 0);
	}
}

static bool send_up(struct outputs *o, const json_t *message)
{
	struct adapter *a = container_of(o, struct adapter, outputs);
	/* A closed link is noticed when it is read. */
	return uplink_send(&a->uplink, message) != -EMSGSIZE;
}

static bool request_answer(struct queries *q, const char *type, const json_t *content, char ret_id[MESSAGE_ID_LEN + 1])
{
	struct adapter *a = container_of(q, struct adapter, queries);
	return channels_send(a->channels, CHANNEL_SHELL, type, /* parent= */ NULL, content, ret_id) == 0;
}

static void send_answer(struct queries *q, const json_t *message)
{
	(void)uplink_send(&container_of(q, struct adapter, queries)->uplink, message);
}

static void complain(struct adapter *a, const char *channel, const char *why)
{
	if (a->complaints++ < COMPLAINTS_MAX)
		outputs_note(&a->outputs, "a message of the kernel on its %s channel %s and was dropped", channel, why);
}

/* ---- the end */

static void remove_files(struct adapter *a)
{
	a->channels = channels_free(a->channels);
	connection_release(&a->connection);
}

static _Noreturn void end_lost(struct adapter *a, const char *why)
{
	outputs_flush(&a->outputs);
	outputs_note(&a->outputs, "%s", why);
	kill(-a->kernel, SIGKILL);
	remove_files(a);
	_exit(EXIT_LOST);
}

/* PID 1 has closed the link or asks the adapter to exit. */
static void start_closing(struct adapter *a)
{
	char id[MESSAGE_ID_LEN + 1];
	json_auto_t *content = json_pack("{s:b}", "restart", 0);
	if (a->state == STATE_CLOSING)
		return;
	set_state(a, STATE_CLOSING);
	(void)channels_send(a->channels, CHANNEL_CONTROL, "shutdown_request", /* parent= */ NULL, content, id);
}

/* ---- start */

static void request_kernel_info(struct adapter *a, char ret_id[MESSAGE_ID_LEN + 1])
{
	json_auto_t *content = json_object();
	(void)channels_send(a->channels, CHANNEL_SHELL, "kernel_info_request", /* parent= */ NULL, content, ret_id);
}

static void become_ready(struct adapter *a)
{
	struct fail f AUTO(fail_release) = { 0 };
	if (uplink_hello(&a->uplink, a->start.language_version, &f) < 0)
		end_lost(a, f.message);
	set_state(a, STATE_IDLE);
	a->beat.due_ms = clock_now_ms() + a->options->beat_ms;
}

/* Ready when the kernel has answered, has published on iopub, and answers heartbeats. The kernel learns of the iopub
 * subscription some time later. Everything that it publishes before that is lost, so the request is repeated. */
static void check_start(struct adapter *a)
{
	uint64_t now = clock_now_ms();
	char id[MESSAGE_ID_LEN + 1];
	a->start.beats |= channels_pong(a->channels);
	bool heard = a->start.published || (a->start.replied_ms && now - a->start.replied_ms > SILENT_START_MS);
	if (a->start.replied_ms && heard && a->start.beats) {
		become_ready(a);
		return;
	}
	if (a->start.replied_ms && !heard && now - a->start.requested_ms >= START_STEP_MS) {
		a->start.requested_ms = now;
		request_kernel_info(a, id);
	}
	if (!a->start.said && now - a->since_ms > SAY_WHAT_IS_MISSING_MS) {
		a->start.said = true;
		outputs_note(&a->outputs, "the kernel is running, but has sent no %s yet",
			     a->start.replied_ms ? "heartbeat" : "answer to kernel_info_request");
	}
}

static void on_kernel_info(struct adapter *a, const struct message *m)
{
	const json_t *info = json_object_get(m->content, "language_info");
	const char *version = json_string_value(json_object_get(info, "version"));
	if (a->start.replied_ms)
		return;
	a->start.replied_ms = clock_now_ms();
	snprintf(a->start.language_version, sizeof(a->start.language_version), "%s", version ? version : "");
}

/* ---- a cell */

/* Setting a variable takes code in the kernel's language, which the adapter does not know. */
static void refuse_env(struct adapter *a, json_int_t call)
{
	outputs_begin(&a->outputs, call, /* request= */ "");
	json_auto_t *error =
		json_pack("{s:s, s:I, s:s, s:s}", "op", "error", "id", a->outputs.call, "type", "Unsupported",
			  "message",
			  "Environment variables for one cell cannot be set in this language. Nothing was run.");
	(void)send_up(&a->outputs, error);
	outputs_finish(&a->outputs);
}

/* Removes a byte order mark, which is not code in any language, and turns CRLF into LF, since some languages do not
 * accept CRLF. A new reference. */
static json_t *plain_source(json_t *code)
{
	AUTO(buf_release) struct buf plain = { 0 };
	const char *at = json_string_value(code), *end = at + json_string_length(code), *cr;
	bool marked = strncmp(at, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0;
	if (!marked && !memmem(at, (size_t)(end - at), "\r\n", 2))
		return json_incref(code);
	at += marked ? strlen(BYTE_ORDER_MARK) : 0;
	while ((cr = memmem(at, (size_t)(end - at), "\r\n", 2))) {
		(void)buf_add(&plain, at, (size_t)(cr - at));
		at = cr + 1;
	}
	(void)buf_add(&plain, at, (size_t)(end - at));
	return json_stringn(buf_str(&plain), plain.len);
}

static void start_cell(struct adapter *a, const json_t *message)
{
	char request[MESSAGE_ID_LEN + 1];
	const json_t *id = json_object_get(message, "id");
	json_t *code = json_object_get(message, "code");
	bool interactive = json_is_true(json_object_get(message, "interactive"));
	queries_leave(&a->queries);
	if (a->state != STATE_IDLE || !json_is_integer(id) || !json_is_string(code))
		end_lost(a, "PID 1 sent something that cannot be run now");
	if (json_object_size(json_object_get(message, "env"))) {
		refuse_env(a, json_integer_value(id));
		return;
	}
	/* The adapter sends one cell at a time: the kernel has no queue to clear after an error. */
	json_auto_t *content =
		json_pack("{s:o, s:b, s:b, s:{}, s:b, s:b}", "code", plain_source(code), "silent", 0, "store_history",
			  1, "user_expressions", "allow_stdin", interactive, "stop_on_error", 0);
	if (!content ||
	    channels_send(a->channels, CHANNEL_SHELL, "execute_request", /* parent= */ NULL, content, request) < 0)
		end_lost(a, "the cell could not be sent to the kernel");
	set_state(a, STATE_BUSY);
	memset(&a->probe, 0, sizeof(a->probe));
	a->written_fd = 0;
	a->beat.busy_ms = a->beat.answered_ms = 0;
	prompt_begin(&a->prompt, interactive);
	raw_forget(&a->raw);
	outputs_begin(&a->outputs, json_integer_value(id), request);
}

static void finish_cell(struct adapter *a)
{
	uplink_cork(&a->uplink);
	prompt_cancel(&a->prompt);
	outputs_finish(&a->outputs);
	uplink_uncork(&a->uplink);
	set_state(a, STATE_IDLE);
}

/* Messages of one channel keep their order: once a later request is answered, the earlier one never will be. */
static void check_end(struct adapter *a)
{
	struct outputs *o = &a->outputs;
	if (a->state != STATE_BUSY)
		return;
	if (outputs_complete(o)) {
		finish_cell(a);
		return;
	}
	if (!o->replied && !o->idle)
		return;
	uint64_t now = clock_now_ms();
	if (!a->probe.half_ms) {
		a->probe.half_ms = now;
	} else if (o->idle ? a->probe.replied : a->probe.idle) {
		outputs_note(o, o->idle ? "the kernel ended the cell without a reply" :
					  "the kernel published more output than could be read; some of it is lost");
		finish_cell(a);
	} else if (now - a->probe.half_ms >= HALF_END_MS) {
		a->probe.half_ms = now;
		a->probe.sent = true;
		request_kernel_info(a, a->probe.request);
	}
}

static void interrupt_kernel(struct adapter *a)
{
	char id[MESSAGE_ID_LEN + 1];
	json_auto_t *content = json_object();
	queries_leave(&a->queries);
	if (a->state != STATE_BUSY)
		return;
	/* Send waiting output now: a kernel that ignores the interrupt is killed, together with the adapter. */
	outputs_flush(&a->outputs);
	prompt_cancel(&a->prompt);
	a->outputs.interrupted = true;
	if (a->spec.interrupt_by_message)
		(void)channels_send(a->channels, CHANNEL_CONTROL, "interrupt_request", /* parent= */ NULL, content, id);
	else
		kill(-a->kernel, SIGINT);
}

/* ---- queries and prompts */

static void send_prompt(struct prompt *prompt, json_t *message)
{
	struct adapter *a = container_of(prompt, struct adapter, prompt);
	outputs_flush(&a->outputs);
	json_object_set_new(message, "id", json_integer(a->outputs.call));
	(void)uplink_send(&a->uplink, message);
}

static void send_reply(struct prompt *prompt, const json_t *to, const char *text, size_t n)
{
	struct adapter *a = container_of(prompt, struct adapter, prompt);
	char id[MESSAGE_ID_LEN + 1];
	json_auto_t *content = json_pack("{s:s%}", "value", text, n);
	if (content)
		(void)channels_send(a->channels, CHANNEL_STDIN, "input_reply", to, content, id);
}

static void interrupt_prompt(struct prompt *prompt)
{
	interrupt_kernel(container_of(prompt, struct adapter, prompt));
}

static void note_prompt(struct prompt *prompt, const char *text)
{
	outputs_note(&container_of(prompt, struct adapter, prompt)->outputs, "%s", text);
}

/* ---- messages of the kernel */

static bool is_status(const struct message *m, const char *state, const char *request)
{
	const char *said = json_string_value(json_object_get(m->content, "execution_state"));
	return streq(m->type, "status") && streq(m->parent_id, request) && said && streq(said, state);
}

static void on_iopub(void *ctx, const struct message *m)
{
	struct adapter *a = ctx;
	a->start.published = true;
	a->probe.idle |= a->probe.sent && is_status(m, "idle", a->probe.request);
	if (a->state == STATE_BUSY && !a->beat.busy_ms && is_status(m, "busy", a->outputs.request))
		a->beat.busy_ms = clock_now_ms();
	outputs_published(&a->outputs, m);
}

static void on_shell(void *ctx, const struct message *m)
{
	struct adapter *a = ctx;
	if (streq(m->type, "kernel_info_reply")) {
		on_kernel_info(a, m);
		a->probe.replied |= a->probe.sent && streq(m->parent_id, a->probe.request);
	} else if (!queries_replied(&a->queries, m)) {
		outputs_replied(&a->outputs, m);
	}
}

static void on_stdin(void *ctx, const struct message *m)
{
	struct adapter *a = ctx;
	if (a->state == STATE_BUSY)
		prompt_request(&a->prompt, m);
}

static void on_control(void *ctx, const struct message *m)
{
}

static void receive_all(struct adapter *a)
{
	static const struct {
		enum channel channel;
		const char *name;
		void (*on_message)(void *ctx, const struct message *m);
	} sources[] = {
		{ CHANNEL_IOPUB, "iopub", on_iopub },
		{ CHANNEL_STDIN, "stdin", on_stdin },
		{ CHANNEL_CONTROL, "control", on_control },
		{ CHANNEL_SHELL, "shell", on_shell },
	};
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		const char *why;
		int r = 1;
		for (int n = 0; r != 0 && n < MESSAGES_A_TURN; n++) {
			r = channels_receive(a->channels, sources[i].channel, sources[i].on_message, a, &why);
			if (r < 0)
				complain(a, sources[i].name, why);
		}
	}
	if (a->state == STATE_STARTING)
		check_start(a);
	check_end(a);
}

/* ---- heartbeats */

/* A ping was sent and answered while the kernel ran a cell, and one beat later the cell still ran. A kernel with
 * one thread, which answers only before or after a cell, cannot do that. */
static void learn_from_cell(struct adapter *a, uint64_t now)
{
	bool at_it = a->state == STATE_BUSY && a->beat.busy_ms && !a->outputs.idle;
	if (!at_it || a->beat.sent_ms <= a->beat.busy_ms)
		a->beat.answered_ms = 0;
	else if (!a->beat.answered_ms)
		a->beat.answered_ms = now;
	else
		a->beat.known_from_cells |= now - a->beat.answered_ms >= a->options->beat_ms;
}

/* A kernel with one thread sends no heartbeat while it runs a cell, and need not: the cell has a time limit. */
static void check_heartbeat(struct adapter *a, uint64_t now)
{
	if (a->state != STATE_IDLE && a->state != STATE_BUSY)
		return;
	if (channels_pong(a->channels)) {
		learn_from_cell(a, now);
		if (now >= a->beat.due_ms) {
			channels_ping(a->channels);
			a->beat.sent_ms = now;
			a->beat.due_ms = now + a->options->beat_ms;
		}
		return;
	}
	bool expected = a->state == STATE_IDLE || a->beat.known_from_cells;
	uint64_t waits_since = a->state == STATE_IDLE ? MAX(a->beat.sent_ms, a->since_ms) : a->beat.sent_ms;
	if (expected && now - waits_since > BEATS_MISSED_MAX * a->options->beat_ms)
		end_lost(a, "the kernel's heartbeat has stopped, so it was killed");
	if (now >= a->beat.due_ms)
		a->beat.due_ms = now + a->options->beat_ms;
}

/* ---- the loop */

static void take_last_words(struct adapter *a)
{
	uint64_t until = clock_now_ms() + LAST_WORDS_MS, quiet_since = clock_now_ms();
	while (clock_now_ms() < until && clock_now_ms() - quiet_since < LAST_WORDS_QUIET_MS) {
		unsigned ready;
		uint64_t before = clock_now_ms();
		(void)channels_wait(a->channels, NULL, 0, LAST_WORDS_QUIET_MS, &ready);
		if (clock_now_ms() - before < LAST_WORDS_QUIET_MS)
			quiet_since = clock_now_ms();
		receive_all(a);
	}
}

static void check_kernel(struct adapter *a)
{
	int status;
	if (waitpid(a->kernel, &status, WNOHANG) != a->kernel)
		return;
	take_last_words(a);
	remove_files(a);
	if (a->state == STATE_CLOSING)
		_exit(0);
	outputs_flush(&a->outputs);
	raw_read(&a->raw);
	if (status != 0)
		raw_show(&a->raw);
	process_end_like(status);
}

static void on_signal(struct adapter *a)
{
	struct signalfd_siginfo info;
	while (read(a->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			check_kernel(a);
		else if (info.ssi_signo == SIGINT)
			interrupt_kernel(a);
		else
			start_closing(a);
	}
}

static void on_uplink(struct adapter *a)
{
	json_t *message;
	int r = uplink_read(&a->uplink);
	while (r == 0 && (r = uplink_next(&a->uplink, &message)) > 0) {
		const char *op = json_string_value(json_object_get(message, "op"));
		if (op && streq(op, "execute"))
			start_cell(a, message);
		else if (op && streq(op, "input") && a->state == STATE_BUSY)
			prompt_answer(&a->prompt, message);
		else
			(void)queries_send(&a->queries, message, a->state == STATE_IDLE, clock_now_ms());
		json_decref(message);
		r = 0;
	}
	if (r < 0) {
		closep(&a->uplink.fd);
		start_closing(a);
	}
}

static long wait_ms(const struct adapter *a, uint64_t now)
{
	uint64_t at = a->beat.due_ms;
	if (a->state == STATE_STARTING)
		at = now + START_STEP_MS;
	else if (a->state == STATE_CLOSING)
		at = a->since_ms + SHUTDOWN_MS;
	else if (a->state == STATE_BUSY && a->probe.half_ms)
		at = MIN(at, a->probe.half_ms + HALF_END_MS);
	else if (a->queries.open)
		at = MIN(at, a->queries.due_ms);
	return at > now ? (long)(at - now) : 0;
}

static void turn(struct adapter *a)
{
	uint64_t now = clock_now_ms();
	long wait = wait_ms(a, now);
	unsigned ready;
	bool linked = a->state != STATE_STARTING;
	int fds[] = { a->signals, linked ? a->uplink.fd : -1, a->raw.read_fds[0], a->raw.read_fds[1] };
	(void)channels_wait(a->channels, fds, ARRAY_LEN(fds), wait, &ready);
	uint64_t woke = clock_now_ms();
	/* The adapter was stopped, and so was the kernel: the time limit for its heartbeat starts again. */
	if (woke - now > (uint64_t)wait + a->options->beat_ms)
		a->beat.sent_ms = woke;
	receive_all(a);
	if (ready & 1)
		on_signal(a);
	if (ready & 2)
		on_uplink(a);
	if (ready & 12)
		raw_read(&a->raw);
	queries_tick(&a->queries, woke);
	check_heartbeat(a, woke);
	if (a->state == STATE_CLOSING && woke - a->since_ms >= SHUTDOWN_MS)
		kill(-a->kernel, SIGKILL);
}

static int open_signals(struct fail *f)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	int fd = sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
	return fd >= 0 ? fd : fail_set(f, FAIL_INTERNAL, "cannot watch signals: %m");
}

/* The kernel is started before ZeroMQ, which starts threads. */
static int start(struct adapter *a, struct fail *f)
{
	struct strv command AUTO(strv_release) = { 0 };
	const char *name = strrchr(a->options->spec, '/');
	if (uplink_take(&a->uplink, f) < 0 || spec_load(&a->spec, a->options->spec, f) < 0)
		return -1;
	if (sender_id_make(&a->id) < 0)
		return fail_set(f, FAIL_INTERNAL, "there is no source of random numbers");
	if (connection_make(&a->connection, a->options->folder, a->options->tcp, &a->id,
			    name ? name + 1 : a->options->spec, f) < 0)
		return -1;
	a->signals = open_signals(f);
	if (a->signals < 0)
		return -1;
	if (!a->options->shows_raw && raw_open(&a->raw, f) < 0)
		return -1;
	spec_command(&a->spec, a->connection.file, &command);
	a->kernel = process_start(&command, &a->spec.env, a->raw.write_fds, f);
	raw_started(&a->raw);
	if (a->kernel < 0)
		return -1;
	return channels_open(&a->channels, &a->connection, &a->id, f);
}

int adapter_run(const struct adapter_options *options, struct fail *f)
{
	char id[MESSAGE_ID_LEN + 1];
	struct adapter *a = &(struct adapter){
		.options = options,
		.signals = -1,
		.uplink = { .fd = -1, .taken_fd = -1 },
		.raw = { .read_fds = { -1, -1 }, .write_fds = { -1, -1 } },
		.outputs = { .write = write_out, .send = send_up, .displays_values = options->displays_values },
		.prompt = { .send_up = send_prompt,
			    .reply = send_reply,
			    .interrupt = interrupt_prompt,
			    .note = note_prompt },
	};
	a->queries = (struct queries){ .request = request_answer, .answer = send_answer };
	outputs_init(&a->outputs);
	if (start(a, f) < 0) {
		remove_files(a);
		raw_release(&a->raw);
		spec_release(&a->spec);
		uplink_release(&a->uplink);
		outputs_release(&a->outputs);
		prompt_release(&a->prompt);
		return -1;
	}
	set_state(a, STATE_STARTING);
	a->start.requested_ms = clock_now_ms();
	request_kernel_info(a, id);
	channels_ping(a->channels);
	for (;;)
		turn(a);
}
