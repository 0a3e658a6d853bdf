#include "kernels/commands/readers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/parse.h"
#include "base/proc.h"

/* One call of readers_left() examines at most this many descriptors. */
#define VISITED_MAX 8192

struct search {
	pid_t session;
	pid_t reader;
	ino_t pipe; /* inode of the reader's pipe; its other writers are counted */
	unsigned visited;
};

static bool is_pipe(int dir, const char *name, struct stat *ret)
{
	return fstatat(dir, name, ret, 0) == 0 && S_ISFIFO(ret->st_mode);
}

/* The permissions of a link in /proc/PID/fd show whether the descriptor was opened for reading or writing. */
static bool is_open_for(int dir, const char *name, mode_t mode)
{
	struct stat link;
	return fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & mode);
}

static bool writes_to(int dir, const char *name, ino_t pipe)
{
	struct stat target;
	return is_pipe(dir, name, &target) && target.st_ino == pipe && is_open_for(dir, name, S_IWUSR);
}

static DIR *open_descriptors(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return opendir(path);
}

static bool process_writes_to(struct search *s, pid_t pid, ino_t pipe)
{
	bool found = false;
	DIR *dir = open_descriptors(pid);
	if (!dir)
		return false;
	for (struct dirent *e; !found && s->visited < VISITED_MAX && (e = readdir(dir));) {
		s->visited++;
		found = e->d_name[0] != '.' && writes_to(dirfd(dir), e->d_name, pipe);
	}
	closedir(dir);
	return found;
}

static unsigned count_writer(pid_t pid, void *ctx)
{
	struct search *s = ctx;
	return pid != s->reader && process_writes_to(s, pid, s->pipe);
}

static bool reads_to_its_end(struct search *s, pid_t pid)
{
	struct stat input;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)pid);
	if (!is_pipe(AT_FDCWD, path, &input))
		return false;
	s->reader = pid;
	s->pipe = input.st_ino;
	return !proc_each(count_writer, s);
}

/* True for a shell that was forked for a process substitution and has not yet made the pipe its standard input: it
 * still has both ends open. */
static bool is_about_to_read(struct search *s, pid_t pid)
{
	char path[64], program[64];
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, program, sizeof(program) - 1);
	program[MAX(n, 0)] = '\0';
	DIR *dir = n > 0 && strstr(program, "/bash") ? open_descriptors(pid) : NULL;
	if (!dir)
		return false;
	for (struct dirent *e; !found && s->visited < VISITED_MAX && (e = readdir(dir));) {
		struct stat pipe;
		s->visited++;
		found = e->d_name[0] != '.' && is_pipe(dirfd(dir), e->d_name, &pipe) &&
			is_open_for(dirfd(dir), e->d_name, S_IRUSR) && process_writes_to(s, pid, pipe.st_ino);
	}
	closedir(dir);
	return found;
}

static unsigned count_reader(pid_t pid, void *ctx)
{
	struct search *s = ctx;
	struct proc_stat process;
	if (pid <= 1 || proc_stat(pid, &process) < 0 || process.session != s->session || process.state == 'Z' ||
	    process.state == 'X' || s->visited >= VISITED_MAX)
		return 0;
	return reads_to_its_end(s, pid) || is_about_to_read(s, pid);
}

/* True if PID 1 has no children but these. Then there are no readers: once the session's leader has been reaped, each
 * reader or one of its ancestors is a child of PID 1. */
static bool are_only_children(const struct procs_set *some)
{
	char children[256];
	AUTO(closep) int fd = open("/proc/self/task/1/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, children, sizeof(children) - 1);
	if (n < 0 || n == sizeof(children) - 1)
		return false;
	children[n] = '\0';
	for (char *at = children, *end; (end = strchr(at, ' ')); at = end + 1) {
		uint64_t pid;
		*end = '\0';
		if (parse_u64(at, &pid) < 0 || !some->has((pid_t)pid, some->ctx))
			return false;
	}
	return true;
}

unsigned readers_left(pid_t session, const struct procs_set *others)
{
	if (are_only_children(others))
		return 0;
	struct search s = { .session = session };
	unsigned n = proc_each(count_reader, &s);
	return s.visited < VISITED_MAX ? n : 0;
}
