#include "kernels/control/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/defs.h"
#include "kernels/protocol.h"

/* Time for the other container to start. */
#define APPEAR_S 120
#define LOOK_MS 1000
#define LINE_MAX_BYTES 512

/* A line of the list ends with the name of its socket; an abstract name begins with "@". */
static bool is_control_socket(const char *line)
{
	static const char name[] = " @" CONTROL_SOCKET "\n";
	size_t n = strlen(line);
	return n >= sizeof(name) - 1 && streq(line + n - (sizeof(name) - 1), name);
}

/* 1 if PID 1's socket is there, 0 if not, -errno if that is unknown. The containers of a pod share their network, and
 * with it the names of abstract sockets. This reads the list of sockets, because a connection would take one of the
 * places that PID 1 has for controllers. */
static int look(void)
{
	char line[LINE_MAX_BYTES];
	FILE *list = fopen("/proc/self/net/unix", "re");
	if (!list)
		return -errno;
	int found = 0;
	while (!found && fgets(line, sizeof(line), list))
		found = is_control_socket(line);
	if (!found && ferror(list))
		found = -EIO;
	(void)fclose(list);
	return found;
}

/* The first process of a pid namespace gets only those signals that it handles. */
static void on_end(int signo UNUSED)
{
	_exit(0);
}

int wait_run(void)
{
	(void)signal(SIGTERM, on_end);
	(void)signal(SIGINT, on_end);
	(void)signal(SIGCHLD, SIG_IGN); /* orphans are reaped by the system */
	bool seen = false;
	/* There is no event for a socket that appears or goes away. */
	for (int missing = 0; missing <= APPEAR_S; (void)poll(NULL, 0, LOOK_MS)) {
		int r = look();
		if (r == 0 && seen)
			return 0;
		seen |= r > 0;
		missing = r > 0 ? 0 : missing + 1;
	}
	dprintf(STDERR_FILENO, "husk-client wait: no sign of PID 1 for %d s\n", APPEAR_S);
	return 1;
}
