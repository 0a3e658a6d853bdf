#include "kernels/commands/consoles.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/commands/pty.h"
#include "kernels/entry.h"
#include "kernels/guard/spawn.h"
#include "kernels/system/clock.h"

/* Processes that a console needs: the shell and one program. */
#define PIDS_NEEDED 2
/* How much output is still read from a terminal after its shell has ended. Background processes may write more, which
 * is dropped. */
#define LAST_BYTES_MAX (256u << 10)
/* Time for a shell to hang up its jobs. */
#define HANG_UP_MS 1000
#define USUAL_TERM "xterm-256color"

/* An output of a console's program: its terminal, or one of two pipes. */
struct output {
	struct console *console;
	enum frame_type frame;
	int fd; /* -1 = closed */
	struct watch watch;
	bool watched;
	bool readable;
};

struct console {
	struct list node;
	struct consoles *all;
	uint32_t number;
	bool is_open;	    /* not hung up */
	bool has_pipes;	    /* instead of a terminal */
	struct output out;  /* the terminal's master, or a pipe */
	struct output err;  /* a pipe; closed for a terminal */
	int in;		    /* the same master, or a pipe; -1 = the program no longer reads */
	struct watch input; /* watches a pipe while the program does not read its input */
	bool input_watched;
	bool input_ends; /* after the bytes in `keys` */
	int slave;	 /* held open, so that the terminal's content can be read after the shell has ended */
	pid_t pid;	 /* 0 = reaped */
	int status;
	bool orphan;
	bool interrupted;
	uint32_t credit;     /* bytes that the manager still accepts */
	struct buf keys;     /* typed, and not yet accepted by the terminal */
	uint32_t taken;	     /* bytes passed to the program and not yet credited */
	uint32_t last_bytes; /* output since the shell ended */
	uint64_t out_bytes, started_ms;
	uint64_t oom_kills; /* the container's count at the start */
	const char *why;    /* why it was killed */
	struct timeout patience;
};

void consoles_init(struct consoles *all)
{
	list_init(&all->list);
}

static struct console *find(struct consoles *all, uint32_t number)
{
	list_for_each(c, &all->list, struct console, node)
		if (c->number == number && !c->orphan)
			return c;
	return NULL;
}

/* ---- the end */

static void send_end(struct consoles *all, uint32_t number, json_t *end)
{
	(void)sender_json(all->sender, FRAME_END, number, end);
	json_decref(end);
}

static void refuse(struct consoles *all, uint32_t number, const char *detail)
{
	send_end(all, number, json_pack("{s:s, s:i, s:s}", "ending", "refused", "duration_ms", 0, "detail", detail));
}

static void tell_end(struct console *c)
{
	bool signalled = WIFSIGNALED(c->status);
	int code = signalled ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
	json_t *end = json_pack("{s:s, s:i, s:I, s:I}", "ending",
				c->interrupted ? "interrupted" :
				code	       ? "error" :
						 "ok",
				"exit_code", code, "duration_ms", (json_int_t)(clock_now_ms() - c->started_ms),
				"stdout_bytes", (json_int_t)c->out_bytes);
	if (signalled)
		json_object_set_new(end, "signal", json_integer(WTERMSIG(c->status)));
	if (code == 128 + SIGKILL && limits_oom_kills(c->all->limits) > c->oom_kills)
		json_object_set_new(end, "oom", json_true());
	if (c->why && signalled && WTERMSIG(c->status) == SIGKILL)
		json_object_set_new(end, "detail", json_string(c->why));
	send_end(c->all, c->number, end);
}

/* When a terminal's master is closed, the Linux kernel sends SIGHUP to the leader of the terminal's session and to its
 * foreground group. */
static void close_output(struct output *o)
{
	watch_stop(&o->watch);
	closep(&o->fd);
	o->readable = o->watched = false;
}

static void close_input(struct console *c)
{
	watch_stop(&c->input);
	c->input_watched = false;
	if (c->has_pipes)
		closep(&c->in);
	c->in = -1;
	buf_release(&c->keys);
}

static void close_all(struct console *c)
{
	c->is_open = false;
	close_input(c);
	close_output(&c->out);
	close_output(&c->err);
	closep(&c->slave);
}

static void finish(struct console *c)
{
	close_all(c);
	timeout_stop(&c->patience);
	if (!c->orphan)
		tell_end(c);
	list_remove(&c->node);
	free(c);
}

static void on_patience(struct timeout *t)
{
	struct console *c = container_of(t, struct console, patience);
	if (c->pid)
		kill(c->has_pipes ? -c->pid : c->pid, SIGKILL);
}

static void hang_up(struct console *c)
{
	if (!c->is_open)
		return;
	/* SIGHUP comes first, so that a shell can pass it to its jobs before it reads the end of its input. For a
	 * program without a terminal the signal goes to its whole group, since no shell passes it on. */
	if (c->pid)
		kill(c->has_pipes ? -c->pid : c->pid, SIGHUP);
	close_all(c);
	if (!c->pid) {
		finish(c);
		return;
	}
	c->interrupted = true;
	timeout_start(c->all->poller, &c->patience, HANG_UP_MS, on_patience);
}

bool consoles_interrupt(struct consoles *all, uint32_t call)
{
	struct console *c = find(all, call);
	if (c)
		hang_up(c);
	return c != NULL;
}

void consoles_orphan(struct consoles *all)
{
	list_for_each(c, &all->list, struct console, node) {
		c->orphan = true;
		hang_up(c);
	}
}

bool consoles_own(const struct consoles *all, pid_t session)
{
	list_for_each(c, &all->list, struct console, node)
		if (c->pid == session)
			return true;
	return false;
}

void consoles_reaped(struct consoles *all, pid_t pid, int status)
{
	list_for_each(c, &all->list, struct console, node) {
		if (c->pid != pid)
			continue;
		c->pid = 0;
		c->status = status;
		/* Both outputs are now read to the end. */
		c->out.readable = c->out.fd >= 0;
		c->err.readable = c->err.fd >= 0;
		if (!c->out.readable && !c->err.readable)
			finish(c);
		return;
	}
}

void consoles_explain(struct consoles *all, const char *why)
{
	list_for_each(c, &all->list, struct console, node)
		c->why = why;
}

/* ---- bytes */

static void give_credit(struct console *c)
{
	uint8_t payload[4];
	if (!c->taken || (c->keys.len && c->taken < CONSOLE_KEYS_WINDOW / 4))
		return;
	entry_put_number(payload, 4, c->taken);
	c->taken = 0;
	(void)sender_raw(c->all->sender, FRAME_CREDIT, c->number, payload, sizeof(payload));
}

static void type_keys(struct console *c)
{
	ssize_t n = 0;
	while (c->keys.len && c->in >= 0 && (n = write(c->in, c->keys.data, c->keys.len)) > 0) {
		buf_consume(&c->keys, (size_t)n);
		c->taken += (uint32_t)n;
	}
	/* Input for a closed console counts as read, so that its sender is not blocked. */
	if (c->has_pipes && (c->in < 0 || (n < 0 && errno == EPIPE))) {
		c->taken += (uint32_t)c->keys.len;
		close_input(c);
	}
	give_credit(c);
	if (c->keys.len)
		return;
	buf_release(&c->keys);
	if (c->input_ends)
		close_input(c);
}

static void on_ready(struct watch *w, short revents);
static void on_input_ready(struct watch *w, short revents);

static void watch_fd(struct console *c, struct watch *w, int fd, short events, bool *watched)
{
	void (*fn)(struct watch *, short) = w == &c->input ? on_input_ready : on_ready;
	bool wanted = fd >= 0 && events;
	if (wanted && !*watched)
		watch_start(c->all->poller, w, fd, events, fn);
	else if (!wanted)
		watch_stop(w);
	w->events = events;
	*watched = wanted;
}

/* A pipe whose other end is closed is always ready, so a descriptor is not watched for an event that is already
 * known. */
static void watch_for_more(struct console *c)
{
	bool typing = c->keys.len && c->in >= 0;
	short keys = typing && !c->has_pipes ? POLLOUT : 0;
	watch_fd(c, &c->out.watch, c->out.fd, (short)((c->out.readable ? 0 : POLLIN) | keys), &c->out.watched);
	watch_fd(c, &c->err.watch, c->err.fd, c->err.readable ? 0 : POLLIN, &c->err.watched);
	watch_fd(c, &c->input, c->has_pipes ? c->in : -1, typing ? POLLOUT : 0, &c->input_watched);
}

static void on_input_ready(struct watch *w, short revents UNUSED)
{
	struct console *c = container_of(w, struct console, input);
	type_keys(c);
	watch_for_more(c);
}

static void on_ready(struct watch *w, short revents)
{
	struct output *o = container_of(w, struct output, watch);
	struct console *c = o->console;
	if (revents & POLLOUT)
		type_keys(c);
	if (revents & ~POLLOUT)
		o->readable = true;
	watch_for_more(c);
}

/* 1 if there may be more, 0 if there is nothing now. */
static int pass_on(struct console *c, struct output *o)
{
	static uint8_t data[CONSOLE_DATA_MAX];
	ssize_t n = read(o->fd, data, MIN(sizeof(data), c->credit));
	if (n == 0 && c->has_pipes)
		close_output(o);
	if (n <= 0)
		return 0;
	c->credit -= (uint32_t)n;
	c->out_bytes += (uint64_t)n;
	if (!c->pid)
		c->last_bytes += (uint32_t)n;
	(void)sender_raw(c->all->sender, o->frame, c->number, data, (size_t)n);
	return 1;
}

/* True if there is more to do at once. */
static bool step(struct console *c)
{
	struct output *o = c->err.readable ? &c->err : &c->out;
	if (!o->readable || !c->credit)
		return false;
	/* One piece at a time, so that frames of runs can follow each piece. */
	if (c->all->sender->queue.len)
		return true;
	o->readable = pass_on(c, o);
	bool more = c->out.readable || c->err.readable;
	if (!c->pid && (!more || c->last_bytes >= LAST_BYTES_MAX)) {
		finish(c);
		return false;
	}
	watch_for_more(c);
	return more;
}

bool consoles_step(struct consoles *all)
{
	bool more = false;
	list_for_each(c, &all->list, struct console, node) {
		struct list *node = &c->node;
		if (!step(c))
			continue;
		more = true;
		/* Consoles take turns. */
		list_remove(node);
		list_append(&all->list, node);
		break;
	}
	return more;
}

/* ---- the start */

struct wanted {
	struct strv argv, env;
	bool pipes;
	unsigned short rows, cols;
	const char *term; /* borrowed */
	char *cwd;	  /* NULL = directory of the last command */
};

static void wanted_release(struct wanted *w)
{
	strv_release(&w->argv);
	strv_release(&w->env);
	free(w->cwd);
}

static bool is_size(const json_t *value, unsigned short *ret)
{
	json_int_t n = json_integer_value(value);
	if (n < 1 || n > CONSOLE_SIDE_MAX)
		return false;
	*ret = (unsigned short)n;
	return true;
}

/* The program is started through bash, which searches PATH and reports why a program cannot be started. */
static bool take_command(struct wanted *w, const json_t *command)
{
	if (!command) {
		strv_add(&w->argv, SHELL_PATH);
		return true;
	}
	size_t n = json_array_size(command);
	if (!n || n > CONSOLE_ARGS_MAX)
		return false;
	strv_add_all(&w->argv, SHELL_PATH, "-c", "exec \"$@\"", "bash", NULL);
	for (size_t i = 0; i < n; i++) {
		const json_t *word = json_array_get(command, i);
		const char *text = json_string_value(word);
		if (!text || strlen(text) != json_string_length(word))
			return false;
		strv_add(&w->argv, text);
	}
	return true;
}

static bool is_term(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.+", name[i]))
			return false;
	return n > 0 && n <= CONSOLE_TERM_MAX && *name != '.';
}

/* True if the image has a terminfo entry for this terminal type. */
static bool is_described(const char *name)
{
	static const char *const folders[] = { "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo",
					       "/usr/lib/terminfo" };
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		AUTO(freep) char *path = xasprintf("%s/%c/%s", folders[i], *name, name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static bool take_env(struct wanted *w, json_t *env)
{
	const char *name;
	json_t *value;
	json_object_foreach(env, name, value) {
		const char *text = json_string_value(value);
		if (!text || !*name || strchr(name, '='))
			return false;
		strv_addf(&w->env, "%s=%s", name, text);
	}
	return true;
}

static bool read_wanted(struct wanted *w, const json_t *fields, const char *last_cwd)
{
	const char *cwd = json_string_value(json_object_get(fields, "cwd"));
	const char *term = json_string_value(json_object_get(fields, "term"));
	w->term = term && is_term(term) && is_described(term) ? term : USUAL_TERM;
	w->cwd = cwd ? spawn_path(cwd, last_cwd) : NULL;
	w->pipes = json_is_true(json_object_get(fields, "pipes"));
	if (!take_env(w, json_object_get(fields, "env")))
		return false;
	if (w->pipes)
		return json_object_get(fields, "command") && take_command(w, json_object_get(fields, "command"));
	return is_size(json_object_get(fields, "rows"), &w->rows) &&
	       is_size(json_object_get(fields, "cols"), &w->cols) &&
	       take_command(w, json_object_get(fields, "command"));
}

/* The program's ends of its three pipes; all -1 if it has a terminal. */
struct ends {
	int in, out, err;
};

static void ends_close(struct ends *e)
{
	closep(&e->in);
	closep(&e->out);
	closep(&e->err);
}

/* A list of folders that ends in ':' is put before the session's value of that variable. */
static void add_env(struct strv *env, const char *variable)
{
	size_t n = strlen(variable), name = strcspn(variable, "=") + 1;
	if (!n || variable[n - 1] != ':') {
		strv_set_env(env, variable);
		return;
	}
	const char *there = "";
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], variable, name) == 0)
			there = env->v[i] + name;
	AUTO(freep) char *joined = xasprintf("%.*s%s", (int)(*there ? n : n - 1), variable, there);
	strv_set_env(env, joined);
}

static pid_t spawn(struct console *c, struct wanted *w, const struct ends *ends)
{
	AUTO(strv_release) struct strv env = { 0 };
	const struct strv *parts[] = { &c->all->state->env, c->all->more_env };
	AUTO(freep) char *term = xasprintf("TERM=%s", w->term);
	for (size_t k = 0; k < ARRAY_LEN(parts); k++)
		for (size_t i = 0; i < parts[k]->n; i++)
			strv_set_env(&env, parts[k]->v[i]);
	if (!w->pipes)
		strv_set_env(&env, term);
	for (size_t i = 0; i < w->env.n; i++)
		add_env(&env, w->env.v[i]);
	return spawn_process(&(struct spawn_spec){
		.argv = strv_argv(&w->argv),
		.env = strv_argv(&env),
		.cwd = w->cwd ? w->cwd : c->all->state->cwd,
		.in_fd = w->pipes ? ends->in : 0,
		.out_fd = ends->out,
		.err_fd = ends->err,
		.tty_fd = w->pipes ? 0 : c->slave,
	});
}

/* `ours`, PID 1's end, is set to non-blocking; the program decides about its own end. */
static int open_pipe(int *ret_read, int *ret_write, int *ours)
{
	int both[2];
	if (pipe2(both, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = both[0];
	*ret_write = both[1];
	return fcntl(*ours, F_SETFL, fcntl(*ours, F_GETFL) | O_NONBLOCK) < 0 ? -errno : 0;
}

static int open_ends(struct console *c, const struct wanted *w, struct ends *ends)
{
	int r;
	if (!w->pipes) {
		r = pty_pair(&c->out.fd, &c->slave, w->rows, w->cols);
		c->in = c->out.fd;
		return r;
	}
	c->has_pipes = true;
	r = open_pipe(&ends->in, &c->in, &c->in);
	if (r == 0)
		r = open_pipe(&c->out.fd, &ends->out, &c->out.fd);
	return r < 0 ? r : open_pipe(&c->err.fd, &ends->err, &c->err.fd);
}

static void listen_to(struct consoles *all, struct console *c)
{
	c->is_open = true;
	watch_for_more(c);
	list_append(&all->list, &c->node);
}

/* 0, or -errno and no console is open. */
static int open_console(struct consoles *all, uint32_t number, struct wanted *w)
{
	AUTO(freep) struct console *c = new0(struct console);
	AUTO(ends_close) struct ends ends = { -1, -1, -1 };
	c->all = all;
	c->number = number;
	c->out = (struct output){ .console = c, .frame = FRAME_CONSOLE_DATA, .fd = -1 };
	c->err = (struct output){ .console = c, .frame = FRAME_CONSOLE_ERR, .fd = -1 };
	c->in = c->slave = -1;
	c->credit = CONSOLE_OUT_WINDOW;
	c->keys.max = CONSOLE_KEYS_WINDOW;
	c->started_ms = clock_now_ms();
	c->oom_kills = limits_oom_kills(all->limits);
	int r = open_ends(c, w, &ends);
	if (r == 0) {
		all->on_open(all);
		c->pid = limits_pids_left(all->limits, PIDS_NEEDED) ? spawn(c, w, &ends) : -EAGAIN;
		r = MIN(c->pid, 0);
	}
	if (r < 0) {
		close_all(c);
		return r;
	}
	listen_to(all, c);
	(void)take_ptr(c);
	return 0;
}

static void begin(struct consoles *all, uint32_t number, struct wanted *w)
{
	int r = open_console(all, number, w);
	if (r == 0)
		return;
	AUTO(freep) char *detail =
		r == -EAGAIN ?
			xasprintf(
				"The process limit of the session (%llu) is reached: end processes, or stop the session.",
				(unsigned long long)all->limits->pids_limit) :
			xasprintf("The terminal could not be opened: %s.", strerror(-r));
	refuse(all, number, detail);
}

static void refuse_cwd(struct consoles *all, uint32_t number, const char *cwd)
{
	AUTO(freep) char *detail = xasprintf("The directory '%s' does not exist or cannot be entered.", cwd);
	send_end(all, number,
		 json_pack("{s:s, s:i, s:s, s:s}", "ending", "refused", "duration_ms", 0, "detail", detail, "cause",
			   "no_directory"));
}

static int on_begin(struct consoles *all, const struct frame *f)
{
	AUTO(wanted_release) struct wanted wanted = { 0 };
	json_auto_t *fields = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	if (!json_is_object(fields))
		return -EPROTO;
	if (all->refuses)
		refuse(all, f->header.call, "This container only installs packages.");
	else if (list_length(&all->list) >= CONSOLES_MAX)
		refuse(all, f->header.call, "The session's terminal limit is reached: close one first.");
	else if (!read_wanted(&wanted, fields, all->state->cwd))
		refuse(all, f->header.call, "The terminal cannot be opened: its size or command is invalid.");
	else if (wanted.cwd && !spawn_can_enter(wanted.cwd))
		refuse_cwd(all, f->header.call, wanted.cwd);
	else
		begin(all, f->header.call, &wanted);
	return 0;
}

/* ---- frames */

static int on_size(const struct console *c, const struct frame *f)
{
	struct winsize size = { 0 };
	json_auto_t *fields = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	if (!is_size(json_object_get(fields, "rows"), &size.ws_row) ||
	    !is_size(json_object_get(fields, "cols"), &size.ws_col))
		return -EPROTO;
	/* The Linux kernel also sends SIGWINCH to the foreground group. */
	if (c && c->is_open && !c->has_pipes)
		(void)ioctl(c->out.fd, TIOCSWINSZ, &size);
	return 0;
}

static int on_keys(struct console *c, const struct frame *f)
{
	if (!c->is_open)
		return 0;
	c->input_ends |= c->has_pipes && !f->header.length;
	if (c->keys.len + c->taken + f->header.length > CONSOLE_KEYS_WINDOW)
		return -EPROTO;
	c->keys.max = CONSOLE_KEYS_WINDOW;
	(void)buf_add(&c->keys, f->payload, f->header.length);
	type_keys(c);
	watch_for_more(c);
	return 0;
}

static int on_credit(struct console *c, const struct frame *f)
{
	if (f->header.length != 4)
		return -EPROTO;
	uint64_t more = entry_get_number(f->payload, 4);
	if (more > CONSOLE_OUT_WINDOW - c->credit)
		return -EPROTO;
	c->credit += (uint32_t)more;
	return 0;
}

/* Sends the signal to the program and to all processes in its group. */
static int on_signal(const struct console *c, const struct frame *f)
{
	static const int known[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };
	for (size_t i = 0; f->header.length == 1 && i < ARRAY_LEN(known); i++) {
		if (f->payload[0] != known[i])
			continue;
		if (c && c->pid)
			kill(-c->pid, known[i]);
		return 0;
	}
	return -EPROTO;
}

bool consoles_have(struct consoles *all, uint32_t call)
{
	return find(all, call) != NULL;
}

int consoles_frame(struct consoles *all, const struct frame *f)
{
	struct console *c = find(all, f->header.call);
	switch (f->header.type) {
	case FRAME_CONSOLE:
		return on_begin(all, f);
	case FRAME_CONSOLE_SIZE:
		return on_size(c, f);
	case FRAME_CONSOLE_SIGNAL:
		return on_signal(c, f);
	case FRAME_CONSOLE_DATA:
		return c ? on_keys(c, f) : 0;
	case FRAME_CREDIT:
		return c ? on_credit(c, f) : 0;
	default:
		return -EPROTO;
	}
}
