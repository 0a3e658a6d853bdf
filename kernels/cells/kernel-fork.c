/* Copies of a kernel, and how one of them takes the kernel's place. */
#include "kernels/cells/kernel-private.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

/* The descriptors go through the socket of HUSK_TAKEN_FD, since the kernel reads its link without room for any. They
 * are sent before the message that makes the kernel expect them. */
static int send_fds(int fd, const int fds[KERNEL_FORK_FDS])
{
	char byte = 0;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * KERNEL_FORK_FDS)] = { 0 };
	struct iovec io = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int) * KERNEL_FORK_FDS) };
	memcpy(CMSG_DATA(c), fds, sizeof(int) * KERNEL_FORK_FDS);
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int kernel_fork(struct kernel *k, const int fds[KERNEL_FORK_FDS])
{
	if (k->state != KERNEL_IDLE || k->fork_id || !k->forks)
		return -EBUSY;
	int r = send_fds(k->taken_fd, fds);
	if (r < 0)
		return r;
	k->fork_id = link_make_id();
	json_auto_t *message = json_pack("{s:s, s:I}", "op", "fork", "id", k->fork_id);
	return link_send(&k->link, message);
}

int kernel_forked(struct kernel *k, const struct link_message *m)
{
	if (!k->fork_id || m->id != k->fork_id)
		return -1;
	k->fork_id = 0;
	k->setup->on_forked(k, m->cannot);
	return 0;
}

void kernel_hold(struct kernel *k)
{
	query_make_way(&k->query);
	k->state = KERNEL_WAKING;
}

static void replace_process(struct kernel *k, const struct kernel_process *p)
{
	timeout_stop(&k->timer);
	query_lost(&k->query);
	link_close(&k->link);
	if (k->pid) {
		pipes_drain(k->pipes);
		procs_kill_session(k->pid);
	}
	closep(&k->taken_fd);
	pipes_leave(k->pipes);
	k->pipes = p->pipes;
	k->pid = p->pid;
	k->taken_fd = p->taken_fd;
	link_open(&k->link, k->setup->poller, p->link_fd);
	k->kill_reason = NULL;
	k->killed = false;
	k->fork_id = 0;
	k->ready_ms = clock_now_ms();
	k->oom_kills = limits_oom_kills(k->setup->limits);
}

void kernel_begin(struct kernel *k, const struct kernel_process *p, const struct kernel *main)
{
	replace_process(k, p);
	k->cell.pipes = k->pipes;
	memcpy(k->language_version, main->language_version, sizeof(k->language_version));
	k->lists_variables = main->lists_variables;
	k->takes_queries = main->takes_queries;
	k->forks = main->forks;
	k->state = KERNEL_IDLE;
	kernel_tell_idle(k);
}

void kernel_adopt(struct kernel *k, const struct kernel_process *p, struct past *next)
{
	bool died = !k->pid;
	/* A cell that died has its output in the old pipes until it is ended. */
	struct pipes *old = pipes_share(k->pipes);
	replace_process(k, p);
	kernel_lose_variables(k);
	json_decref(take_ptr(k->past.lost));
	k->state = KERNEL_IDLE;
	if (k->cell.run) {
		cell_end_dead(&k->cell, &k->death, next);
		past_release(next);
	} else {
		AUTO(freep) char *how = died ? death_describe(&k->death) : NULL;
		AUTO(freep) char *after = next->note;
		next->note = how ? xasprintf("Before this run the kernel %s. %s", how, after) : take_ptr(after);
		past_release(&k->past);
		k->past = *next;
		*next = (struct past){ 0 };
	}
	k->cell.pipes = k->pipes;
	pipes_leave(old);
	kernel_send_event(k, "kernel_ready", "language_version", k->language_version);
	kernel_tell_idle(k);
}
