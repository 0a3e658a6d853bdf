#include "kernels/cells/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"
#include "base/proc.h"
#include "base/utf8.h"
#include "kernels/system/clock.h"
#include "kernels/system/creds.h"
#include "kernels/system/procs.h"

#define TEXT_MAX 4096

static void fail(struct checkpoint *c)
{
	timeout_stop(&c->limit);
	watch_stop(&c->watch);
	link_close(&c->link);
	c->on_failed(c);
}

/* A copy that hangs sleeps. On a busy machine one may wait for a processor, or the kernel may still be loading itself. */
static bool may_come(const struct checkpoint *c)
{
	struct proc_stat st;
	if (!c->pid)
		return c->kernel->fork_id != 0;
	return proc_stat(c->pid, &st) == 0 && (st.state == 'R' || st.state == 'D');
}

static void on_limit(struct timeout *t)
{
	struct checkpoint *c = container_of(t, struct checkpoint, limit);
	if (c->waits++ < CHECKPOINT_WAITS_MAX && may_come(c))
		timeout_start(c->kernel->setup->poller, t, CHECKPOINT_PATIENCE_MS, on_limit);
	else
		fail(c);
}

static void limit(struct checkpoint *c)
{
	c->waits = 0;
	timeout_start(c->kernel->setup->poller, &c->limit, CHECKPOINT_PATIENCE_MS, on_limit);
}

/* ---- messages */

static void take_lost(struct checkpoint *c, const json_t *lost)
{
	size_t i;
	json_t *text;
	c->lost = json_array();
	json_array_foreach(lost, i, text) {
		const char *s = json_string_value(text);
		if (s && *s && json_array_size(c->lost) < CHECKPOINT_LOST_MAX)
			json_array_append_new(c->lost, json_stringn(s, utf8_head(s, json_string_length(text),
										 CHECKPOINT_LOST_CHARS)));
	}
}

static void on_message(struct link *l, const struct link_message *m)
{
	struct checkpoint *c = container_of(l, struct checkpoint, link);
	if (c->state == CHECKPOINT_COMING && m->op == LINK_HELLO && m->version == LINK_VERSION) {
		timeout_stop(&c->limit);
		take_lost(c, json_object_get(m->tree, "lost"));
		c->state = CHECKPOINT_KEPT;
		c->on_ready(c);
	} else if (c->state == CHECKPOINT_WAKING && m->op == LINK_WOKEN && m->id == c->wake_id) {
		timeout_stop(&c->limit);
		c->on_woken(c);
	} else {
		fail(c);
	}
}

static void on_dropped(struct link *l)
{
	fail(container_of(l, struct checkpoint, link));
}

static void on_gone(struct link *l, bool broken, const char *why)
{
	fail(container_of(l, struct checkpoint, link));
}

/* ---- the process */

static uint64_t now_ticks(void)
{
	return clock_boot_ms() * (uint64_t)sysconf(_SC_CLK_TCK) / 1000;
}

/* The parent of a copy is PID 1, or for a moment still the child of the kernel that has forked it. That child may end
 * between two looks. */
static bool descends(pid_t pid, pid_t kernel)
{
	struct proc_stat st, parent;
	for (int i = 0; i < 2; i++)
		if (proc_stat(pid, &st) == 0 &&
		    (st.parent == getpid() || (proc_stat(st.parent, &parent) == 0 && parent.parent == kernel)))
			return true;
	return false;
}

static bool is_copy(const struct checkpoint *c, const struct ucred *peer)
{
	const struct kernel *k = c->kernel;
	struct proc_stat st;
	return peer->uid == getuid() && peer->pid > 1 && peer->pid != k->pid && proc_stat(peer->pid, &st) == 0 &&
	       st.session == peer->pid && st.start + 1 >= c->asked_ticks &&
	       descends(peer->pid, k->pid ? k->pid : getpid()) && !k->setup->is_known(k, st.session);
}

/* The first byte carries the credentials. */
static void on_first_byte(struct watch *w, short revents)
{
	struct checkpoint *c = container_of(w, struct checkpoint, watch);
	struct ucred peer;
	int r = creds_receive(c->link.fd, &peer);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0 && c->kernel->fork_id) {
		watch_stop(w); /* the kernel is about to say why there is no copy */
		c->closed = true;
		return;
	}
	if (r < 0 || !is_copy(c, &peer)) {
		fail(c);
		return;
	}
	c->pid = peer.pid;
	watch_stop(w);
	(void)setsockopt(c->link.fd, SOL_SOCKET, SO_PASSCRED, &(int){ 0 }, sizeof(int));
	link_open(&c->link, c->kernel->setup->poller, c->link.fd);
}

static int make_pair(int *ret_ours, int *ret_theirs)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int ask(struct checkpoint *c)
{
	struct kernel *k = c->kernel;
	AUTO(closep) int link = -1;
	AUTO(closep) int taken = -1;
	int r = make_pair(&c->link.fd, &link);
	if (r == 0)
		r = make_pair(&c->taken_fd, &taken);
	if (r == 0)
		r = creds_expect(c->link.fd);
	AUTO(closep) int out = pipes_writer(c->pipes, RUN_STDOUT);
	AUTO(closep) int err = pipes_writer(c->pipes, RUN_STDERR);
	if (r < 0 || out < 0 || err < 0)
		return r < 0 ? r : out < 0 ? out : err;
	return kernel_fork(k, (int[KERNEL_FORK_FDS]){ link, out, err, taken });
}

int checkpoint_take(struct checkpoint **ret, struct kernel *k, struct pipes *pipes)
{
	struct checkpoint *c = new0(struct checkpoint);
	list_init(&c->node);
	c->kernel = k;
	c->pipes = pipes_share(pipes);
	c->taken_fd = -1;
	c->link = (struct link){ .fd = -1, .on_message = on_message, .on_dropped = on_dropped, .on_gone = on_gone };
	c->made_ms = clock_now_ms();
	c->worked_us = k->worked_us;
	c->asked_ticks = now_ticks();
	clock_gettime(CLOCK_REALTIME_COARSE, &c->made_at);
	int r = ask(c);
	if (r < 0) {
		closep(&c->link.fd);
		closep(&c->taken_fd);
		pipes_leave(c->pipes);
		free(c);
		return r;
	}
	watch_start(k->setup->poller, &c->watch, c->link.fd, POLLIN, on_first_byte);
	limit(c);
	*ret = c;
	return 0;
}

void checkpoint_forked(struct checkpoint *c)
{
	if (c->closed)
		fail(c);
	else
		limit(c);
}

void checkpoint_wake(struct checkpoint *c)
{
	c->state = CHECKPOINT_WAKING;
	c->wake_id = link_make_id();
	json_auto_t *message = json_pack("{s:s, s:I}", "op", "wake", "id", c->wake_id);
	limit(c);
	(void)link_send(&c->link, message);
}

struct kernel_process checkpoint_give(struct checkpoint *c)
{
	struct kernel_process p = { .pid = c->pid,
				    .link_fd = fcntl(c->link.fd, F_DUPFD_CLOEXEC, 0),
				    .taken_fd = take_fd(c->taken_fd),
				    .pipes = take_ptr(c->pipes) };
	c->pid = 0;
	link_close(&c->link);
	return p;
}

uint64_t checkpoint_private_bytes(pid_t pid)
{
	char path[64], text[TEXT_MAX];
	unsigned long long kb = 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	AUTO(closep) int fd = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[MAX(n, 0)] = '\0';
	const char *at = strstr(text, "\nPrivate_Dirty:");
	return at && sscanf(at, "\nPrivate_Dirty: %llu", &kb) == 1 ? (uint64_t)kb << 10 : 0;
}

void checkpoint_measure(struct checkpoint *c)
{
	uint64_t bytes = checkpoint_private_bytes(c->pid);
	c->bytes = bytes ? bytes : c->bytes;
}

struct checkpoint *checkpoint_free(struct checkpoint *c)
{
	if (!c)
		return NULL;
	list_remove(&c->node);
	timeout_stop(&c->limit);
	watch_stop(&c->watch);
	link_close(&c->link);
	closep(&c->taken_fd);
	if (c->pid)
		procs_kill_session(c->pid);
	pipes_leave(c->pipes);
	json_decref(c->lost);
	free(c->name);
	free(c);
	return NULL;
}
