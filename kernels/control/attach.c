#include "kernels/control/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernels/protocol.h"
#include "kernels/system/creds.h"

#define COPY_BYTES (128u << 10)
#define DIALS_MAX 200
#define DIAL_PAUSE_MS 10

/* One direction: bytes that were read and not yet written. */
struct flow {
	int from;
	int to;
	size_t start;
	size_t end;
	uint64_t total;
	uint8_t data[COPY_BYTES];
};

static int refuse(const char *why)
{
	dprintf(STDERR_FILENO, "husk-client attach: %s\n", why);
	return 1;
}

/* Engines report a container as running a moment before its PID 1 listens. There is no event to wait for, so this
 * retries. */
static int dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Must be set before PID 1 can send its credentials. Has no effect where they are not needed. */
	if (fd < 0 || creds_expect(fd) < 0)
		return -1;
	memcpy(sa.sun_path + 1, CONTROL_SOCKET, strlen(CONTROL_SOCKET));
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(CONTROL_SOCKET));
	for (int i = 0; connect(fd, (struct sockaddr *)&sa, len) < 0; i++) {
		if (errno != ECONNREFUSED || i == DIALS_MAX)
			return -1;
		(void)poll(NULL, 0, DIAL_PAUSE_MS);
	}
	return take_fd(fd);
}

/* Another process could take the socket name of a dead PID 1 and must not be mistaken for it. In a pod, the processes
 * of PID 1's namespace have no pid here (0), and those that could outlive PID 1 are in our namespace and have one. */
static bool is_pid_one(int fd, bool beside)
{
	struct ucred peer;
	int r = creds_of_peer(fd, &peer);
	bool by_message = r == -ENOTSUP;
	if (by_message)
		r = creds_receive(fd, &peer);
	if (r < 0 || peer.pid != (beside ? 0 : 1) || peer.uid == 0 || peer.uid == CONTROLLER_UID)
		return false;
	return !by_message || creds_send(fd) == 0;
}

/* False if the direction has ended. */
static bool fill(struct flow *f)
{
	ssize_t n = read(f->from, f->data, sizeof(f->data));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->start = 0;
	f->end = (size_t)n;
	f->total += (size_t)n;
	return n > 0;
}

static bool drain(struct flow *f)
{
	ssize_t n = write(f->to, f->data + f->start, f->end - f->start);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->start += (size_t)n;
	return true;
}

/* Reads when the buffer is empty and writes when it is not; most pieces pass in one step. */
static bool step(struct flow *f)
{
	if (f->start == f->end && !fill(f))
		return false;
	return f->start == f->end || drain(f);
}

static void relay(struct flow *up, struct flow *down)
{
	struct flow *flows[] = { up, down };
	for (;;) {
		struct pollfd fds[2];
		for (int i = 0; i < 2; i++) {
			bool full = flows[i]->start < flows[i]->end;
			fds[i].fd = full ? flows[i]->to : flows[i]->from;
			fds[i].events = full ? POLLOUT : POLLIN;
		}
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++)
			if (fds[i].revents && !step(flows[i]))
				return;
	}
}

int attach_run(bool beside)
{
	static struct flow up = { .from = STDIN_FILENO }, down = { .to = STDOUT_FILENO };
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	if (geteuid() != CONTROLLER_UID)
		return refuse("refused: only the manager's user (65531) may control the session");
	AUTO(closep) int fd = dial();
	if (fd < 0)
		return refuse("PID 1 is not listening: this is not a Husk container, or it is ending");
	if (!is_pid_one(fd, beside))
		return refuse("refused: the listener is not PID 1");
	up.to = down.from = fd;
	/* Writes must not block, or one full direction would stop the other. */
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	relay(&up, &down);
	return down.total ? 0 : refuse("PID 1 closed the stream with no reply");
}
