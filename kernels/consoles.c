#include "kernels/consoles.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "kernels/clock.h"
#include "kernels/entry.h"
#include "kernels/pty.h"
#include "kernels/spawn.h"

/* The shell and a program. */
#define PIDS_NEEDED 2
/* What a terminal may still hold when its shell has ended; whoever goes on writing is not listened to. */
#define LAST_BYTES_MAX (256u << 10)
/* For a shell to say goodbye to its jobs. */
#define HANG_UP_MS 1000
#define USUAL_TERM "xterm-256color"

struct console {
	struct list node;
	struct consoles *all;
	uint32_t number;
	int master; /* -1 = hung up */
	int slave;  /* held open: what the terminal holds can be read after the shell has ended */
	struct watch watch;
	bool readable;
	pid_t pid; /* 0 = reaped */
	int status;
	bool orphan;
	bool interrupted;
	uint32_t credit;     /* what the manager still takes */
	struct buf keys;     /* typed, and not taken by the terminal yet */
	uint32_t taken;	     /* and not credited yet */
	uint32_t last_bytes; /* that came since the shell has ended */
	uint64_t out_bytes, started_ms;
	const char *why; /* it was killed */
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
	if (c->why && signalled && WTERMSIG(c->status) == SIGKILL)
		json_object_set_new(end, "detail", json_string(c->why));
	send_end(c->all, c->number, end);
}

/* The terminal's other end notices: whoever leads its session, or is in its foreground, gets SIGHUP. */
static void close_terminal(struct console *c)
{
	watch_stop(&c->watch);
	closep(&c->master);
	closep(&c->slave);
	buf_release(&c->keys);
	c->readable = false;
}

static void finish(struct console *c)
{
	close_terminal(c);
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
		kill(c->pid, SIGKILL);
}

static void hang_up(struct console *c)
{
	if (c->master < 0)
		return;
	/* First, so that a shell hears of it before it reads the end of its input, and tells its jobs. */
	if (c->pid)
		kill(c->pid, SIGHUP);
	close_terminal(c);
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
		c->readable = true; /* to be read to its end */
		if (c->master < 0)
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
	while (c->keys.len) {
		ssize_t n = write(c->master, c->keys.data, c->keys.len);
		if (n <= 0)
			break;
		buf_consume(&c->keys, (size_t)n);
		c->taken += (uint32_t)n;
	}
	give_credit(c);
	if (!c->keys.len)
		buf_release(&c->keys);
}

static void watch_for_more(struct console *c)
{
	c->watch.events = (short)((c->readable ? 0 : POLLIN) | (c->keys.len ? POLLOUT : 0));
}

static void on_ready(struct watch *w, short revents)
{
	struct console *c = container_of(w, struct console, watch);
	if (revents & POLLOUT)
		type_keys(c);
	if (revents & ~POLLOUT)
		c->readable = true;
	watch_for_more(c);
}

/* 1 if there may be more, 0 if there is nothing now. */
static int pass_on(struct console *c)
{
	static uint8_t data[CONSOLE_DATA_MAX];
	ssize_t n = read(c->master, data, MIN(sizeof(data), c->credit));
	if (n <= 0)
		return 0;
	c->credit -= (uint32_t)n;
	c->out_bytes += (uint64_t)n;
	if (!c->pid)
		c->last_bytes += (uint32_t)n;
	(void)sender_raw(c->all->sender, FRAME_CONSOLE_DATA, c->number, data, (size_t)n);
	return 1;
}

/* True if it is to go on at once. */
static bool step(struct console *c)
{
	if (!c->readable || !c->credit)
		return false;
	/* One piece at a time, so that frames of calls get their turn behind each. */
	if (c->all->sender->queue.len)
		return true;
	c->readable = pass_on(c);
	if (!c->pid && (!c->readable || c->last_bytes >= LAST_BYTES_MAX)) {
		finish(c);
		return false;
	}
	watch_for_more(c);
	return c->readable;
}

bool consoles_step(struct consoles *all)
{
	bool more = false;
	list_for_each(c, &all->list, struct console, node) {
		struct list *node = &c->node;
		if (!step(c))
			continue;
		more = true;
		/* They take turns. */
		list_remove(node);
		list_append(&all->list, node);
		break;
	}
	return more;
}

/* ---- the start */

struct wanted {
	struct strv argv;
	unsigned short rows, cols;
	const char *term; /* borrowed */
};

static void wanted_release(struct wanted *w)
{
	strv_release(&w->argv);
}

static bool is_size(const json_t *value, unsigned short *ret)
{
	json_int_t n = json_integer_value(value);
	if (n < 1 || n > CONSOLE_SIDE_MAX)
		return false;
	*ret = (unsigned short)n;
	return true;
}

/* What a shell asks of a program is the program's to look up: it also says why it cannot be started. */
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

/* Whether programs in here know such a terminal. */
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

static bool read_wanted(struct wanted *w, const json_t *fields)
{
	const char *term = json_string_value(json_object_get(fields, "term"));
	w->term = term && is_term(term) && is_described(term) ? term : USUAL_TERM;
	return is_size(json_object_get(fields, "rows"), &w->rows) &&
	       is_size(json_object_get(fields, "cols"), &w->cols) &&
	       take_command(w, json_object_get(fields, "command"));
}

static pid_t spawn(struct console *c, struct wanted *w)
{
	AUTO(strv_release) struct strv env = { 0 };
	const struct strv *parts[] = { &c->all->state->env, c->all->more_env };
	AUTO(freep) char *term = xasprintf("TERM=%s", w->term);
	for (size_t k = 0; k < ARRAY_LEN(parts); k++)
		for (size_t i = 0; i < parts[k]->n; i++)
			strv_set_env(&env, parts[k]->v[i]);
	strv_set_env(&env, term);
	return spawn_process(&(struct spawn_spec){
		.argv = strv_argv(&w->argv),
		.env = strv_argv(&env),
		.cwd = c->all->state->cwd,
		.tty_fd = c->slave,
	});
}

/* 0, or -errno and there is none. */
static int open_console(struct consoles *all, uint32_t number, struct wanted *w)
{
	AUTO(freep) struct console *c = new0(struct console);
	int r = pty_pair(&c->master, &c->slave, w->rows, w->cols);
	if (r < 0)
		return r;
	c->all = all;
	c->number = number;
	c->credit = CONSOLE_OUT_WINDOW;
	c->keys.max = CONSOLE_KEYS_WINDOW;
	c->started_ms = clock_now_ms();
	all->on_open(all);
	c->pid = limits_pids_left(all->limits, PIDS_NEEDED) ? spawn(c, w) : -EAGAIN;
	if (c->pid < 0) {
		r = c->pid;
		closep(&c->master);
		closep(&c->slave);
		return r;
	}
	watch_start(all->poller, &c->watch, c->master, POLLIN, on_ready);
	list_append(&all->list, &c->node);
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
			xasprintf("The process limit of the session (%llu) is reached: end processes, or stop it.",
				  (unsigned long long)all->limits->pids_limit) :
			xasprintf("The terminal could not be opened: %s.", strerror(-r));
	refuse(all, number, detail);
}

static int on_begin(struct consoles *all, const struct frame *f)
{
	AUTO(wanted_release) struct wanted wanted = { 0 };
	json_auto_t *fields = json_loadb((const char *)f->payload, f->header.length, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(fields))
		return -EPROTO;
	if (all->refuses)
		refuse(all, f->header.call, "This container only installs packages.");
	else if (list_length(&all->list) >= CONSOLES_MAX)
		refuse(all, f->header.call,
		       "There are as many terminals in this session as there may be: close one first.");
	else if (!read_wanted(&wanted, fields))
		refuse(all, f->header.call,
		       "This is no terminal that can be opened: its size or its command is wrong.");
	else
		begin(all, f->header.call, &wanted);
	return 0;
}

/* ---- frames */

static int on_size(const struct console *c, const struct frame *f)
{
	struct winsize size = { 0 };
	json_auto_t *fields = json_loadb((const char *)f->payload, f->header.length, JSON_REJECT_DUPLICATES, NULL);
	if (!is_size(json_object_get(fields, "rows"), &size.ws_row) ||
	    !is_size(json_object_get(fields, "cols"), &size.ws_col))
		return -EPROTO;
	/* Tells whoever is in the foreground too. */
	if (c && c->master >= 0)
		(void)ioctl(c->master, TIOCSWINSZ, &size);
	return 0;
}

static int on_keys(struct console *c, const struct frame *f)
{
	if (c->master < 0)
		return 0;
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

bool consoles_frame(struct consoles *all, const struct frame *f, int *ret)
{
	struct console *c = find(all, f->header.call);
	*ret = 0;
	switch (f->header.type) {
	case FRAME_CONSOLE:
		*ret = on_begin(all, f);
		return true;
	case FRAME_CONSOLE_SIZE:
		*ret = on_size(c, f);
		return true;
	case FRAME_CONSOLE_DATA:
		*ret = c ? on_keys(c, f) : 0;
		return true;
	case FRAME_CREDIT:
		if (!c)
			return false; /* of a file call */
		*ret = on_credit(c, f);
		return true;
	default:
		return false;
	}
}
