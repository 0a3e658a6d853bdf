#include "kernels/control/dial.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernels/protocol.h"

#define AGAIN_MS 1000

/* A listener outside of our pid namespace shows pid 0, and no process inside can. */
static bool is_outside(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.pid == 0 && peer.uid != getuid();
}

static int dial_now(struct dial *d)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = LINE_FOLDER "/" LINE_SOCKET };
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ LINE_BUFFER }, sizeof(int));
	return is_outside(fd) ? controller_take(d->controller, take_fd(fd)) : -EPERM;
}

static void on_events(struct watch *w, short revents)
{
	struct dial *d = container_of(w, struct dial, watch);
	char events[4096];
	while (read(d->events, events, sizeof(events)) > 0)
		d->due = true;
}

/* Closing an inotify descriptor takes about 16 ms, in which the kernel waits for all its CPUs. */
static void unwatch_folder(struct dial *d)
{
	watch_stop(&d->watch);
	closep(&d->events);
	d->again_ms = 0;
	d->untried = true;
}

/* Servers rename their socket into place once it accepts connections. */
static int watch_folder(struct dial *d)
{
	AUTO(closep) int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0 || inotify_add_watch(fd, LINE_FOLDER, IN_MOVED_TO | IN_ONLYDIR) < 0)
		return -errno;
	d->events = take_fd(fd);
	watch_start(d->poller, &d->watch, d->events, POLLIN, on_events);
	return 0;
}

void dial_init(struct dial *d, struct poller *p, struct controller *c)
{
	*d = (struct dial){
		.poller = p, .controller = c, .enabled = access(LINE_FOLDER, F_OK) == 0, .events = -1, .untried = true
	};
}

void dial_turn(struct dial *d, uint64_t now_ms)
{
	if (!d->enabled)
		return;
	if (controller_present(d->controller)) {
		unwatch_folder(d);
		return;
	}
	/* PID 1 has already dialled, but the server has not sent its hello yet; or it is too early to retry. */
	if (controller_has_dialled(d->controller) || now_ms < d->again_ms)
		return;
	/* The server of a new container is already there, so nothing needs to be watched. */
	if (d->untried) {
		d->untried = false;
		if (dial_now(d) >= 0)
			return;
	}
	if (d->events < 0) {
		/* Without inotify, PID 1 retries after AGAIN_MS. */
		d->again_ms = watch_folder(d) < 0 ? now_ms + AGAIN_MS : 0;
		d->due = true;
	}
	if (!d->due)
		return;
	d->due = false;
	int r = dial_now(d);
	if (r == -EAGAIN || r == -EBUSY) {
		d->due = true;
		d->again_ms = now_ms + AGAIN_MS;
	}
}
