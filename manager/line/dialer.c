#include "manager/line/dialer.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "base/buf.h"

#define TEXT_MAX 16384u
#define HEX "0123456789abcdef"

pid_t dialer_pid(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

/* The text after `name` in the line that begins with it, such as "NSpid:"; NULL if there is no such line. */
static const char *field(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (strncmp(p, name, n) == 0)
			return p + n;
	return NULL;
}

bool dialer_read_status(const char *text, bool *ret_first, pid_t *ret_parent)
{
	const char *pids = field(text, "NSpid:"), *parent = field(text, "PPid:");
	int last = 0, used;
	size_t n = 0;
	if (!pids || !parent || sscanf(parent, "%d", ret_parent) != 1)
		return false;
	/* One pid for each namespace, from ours to the innermost. */
	for (int pid; sscanf(pids, "%*[ \t]%d%n", &pid, &used) == 1; pids += used, n++)
		last = pid;
	*ret_first = n > 1 && last == 1;
	return n > 0;
}

bool dialer_in_container(const char *text, const char *id)
{
	size_t n = strlen(id);
	for (const char *p = text; n && (p = strstr(p, id)); p++)
		if ((p == text || !strchr(HEX, p[-1])) && (!p[n] || !strchr(HEX, p[n])))
			return true;
	return false;
}

static bool read_proc(pid_t pid, const char *name, struct buf *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	for (ssize_t n = 1; fd >= 0 && n > 0;) {
		uint8_t *at = buf_reserve(text, 2048);
		n = at ? read(fd, at, 2048) : 0;
		text->len += n > 0 ? (size_t)n : 0;
	}
	return text->len > 0;
}

enum dialer_verdict dialer_check(pid_t pid, const char *id)
{
	AUTO(buf_release) struct buf status = { .max = TEXT_MAX }, cgroup = { .max = TEXT_MAX },
				     outside = { .max = TEXT_MAX };
	bool first;
	pid_t parent;
	if (pid <= 0 || !read_proc(pid, "status", &status) || !dialer_read_status(buf_str(&status), &first, &parent))
		return DIALER_IS_UNKNOWN;
	if (!first)
		return DIALER_IS_OTHER;
	if (!*id || !read_proc(pid, "cgroup", &cgroup))
		return DIALER_IS_UNKNOWN;
	if (!dialer_in_container(buf_str(&cgroup), id))
		return DIALER_IS_OTHER;
	/* Code inside a container may create a namespace and be its first process. Only the container's PID 1 has
	 * its parent outside the container. */
	if (parent > 0 && !read_proc(parent, "cgroup", &outside))
		return DIALER_IS_UNKNOWN;
	return dialer_in_container(buf_str(&outside), id) ? DIALER_IS_OTHER : DIALER_IS_PID1;
}
