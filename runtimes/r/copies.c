/* Copies of this process, which PID 1 keeps as checkpoints (docs/protocol.md, section 2).
 *
 * A copy is forked while no cell runs. It gets a link and streams of its own, and waits here until it takes the place
 * of the kernel. A fork copies the memory and one thread. Anything else that the session has, such as connections and
 * child processes, is named before the fork, so that PID 1 can say what a restored session lacks.
 *
 * Built by prepare.sh, called by husk/copies.R. */
#define _GNU_SOURCE
#include "runtimes/r/link.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define R_NO_REMAP
#include <Rembedded.h>
#include <Rinternals.h>

#define FDS 4	      /* link, stdout, stderr, HUSK_TAKEN_FD */
#define BIRTH_MS 1500 /* for a copy to come to life; PID 1 waits for 2000 */
#define NAMED_MAX 20
#define NAME_SIZE 128
#define CHILDREN_TEXT 4096

/* ---- what a copy lacks */

struct names {
	char list[NAMED_MAX][NAME_SIZE];
	int n; /* of all */
};

__attribute__((format(printf, 2, 3))) static void add_name(struct names *names, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (names->n < NAMED_MAX)
		(void)vsnprintf(names->list[names->n], NAME_SIZE, format, args);
	names->n++;
	va_end(args);
}

/* Reads a small file. Returns an empty text if there is none. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static void add_child(struct names *names, long pid)
{
	char path[64], name[64];
	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	read_text(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	if (*name)
		add_name(names, "the process %s (pid %ld)", name, pid);
}

static void add_children(struct names *names)
{
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	while (tasks && (entry = readdir(tasks))) {
		char path[sizeof("/proc/self/task//children") + sizeof(entry->d_name)], text[CHILDREN_TEXT], *at = text;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/children", entry->d_name);
		read_text(path, text, sizeof(text));
		for (long pid; (pid = strtol(at, &at, 10)) > 0;)
			add_child(names, pid);
	}
	if (tasks)
		closedir(tasks);
}

static void add_socket(struct names *names, int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	char address[INET6_ADDRSTRLEN];
	bool connected = getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
	const struct sockaddr_in *v4 = (struct sockaddr_in *)&peer;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&peer;
	if (connected && peer.ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, address, sizeof(address)))
		add_name(names, "a connection to %s:%u", address, ntohs(v4->sin_port));
	else if (connected && peer.ss_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &v6->sin6_addr, address, sizeof(address)))
		add_name(names, "a connection to [%s]:%u", address, ntohs(v6->sin6_port));
	else
		add_name(names, "a socket (descriptor %d)", fd);
}

static bool is_one_of(SEXP own, int fd)
{
	for (R_xlen_t i = 0; i < XLENGTH(own); i++)
		if (INTEGER(own)[i] == fd)
			return true;
	return fd <= STDERR_FILENO;
}

static void add_descriptor(struct names *names, int fd)
{
	char path[64], target[NAME_SIZE] = "";
	struct stat st;
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISSOCK(st.st_mode))
		add_socket(names, fd);
	else if (S_ISFIFO(st.st_mode))
		add_name(names, "a pipe (descriptor %d)", fd);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (S_ISREG(st.st_mode) && readlink(path, target, sizeof(target) - 1) > 0 &&
	    strncmp(target, "/dev/shm/", 9) == 0)
		add_name(names, "the shared memory %.100s", target);
}

/* Calls this function for each open descriptor. */
static void each_descriptor(void (*see)(void *ctx, int fd), void *ctx)
{
	struct dirent *entry;
	DIR *all = opendir("/proc/self/fd");
	while (all && (entry = readdir(all))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (*entry->d_name != '.' && fd != dirfd(all))
			see(ctx, fd);
	}
	if (all)
		closedir(all);
}

struct look {
	struct names *names;
	SEXP own;
};

static void look_at(void *ctx, int fd)
{
	struct look *look = ctx;
	if (!is_one_of(look->own, fd))
		add_descriptor(look->names, fd);
}

/* Returns what a copy lacks, as texts. `own` are the descriptors of the kernel. */
SEXP copies_losses(SEXP own)
{
	struct names *names = (struct names *)R_alloc(1, sizeof(*names));
	names->n = 0;
	add_children(names);
	each_descriptor(look_at, &(struct look){ names, own });
	int shown = names->n < NAMED_MAX ? names->n : NAMED_MAX;
	SEXP texts = PROTECT(Rf_allocVector(STRSXP, shown));
	for (int i = 0; i < shown; i++)
		SET_STRING_ELT(texts, i, Rf_mkChar(names->list[i]));
	UNPROTECT(1);
	return texts;
}

/* TRUE for each of these libraries that this process has loaded; a library is known by a part of its path. */
SEXP copies_loaded(SEXP parts)
{
	SEXP found = PROTECT(Rf_allocVector(LGLSXP, XLENGTH(parts)));
	char *line = NULL;
	size_t room = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	memset(LOGICAL(found), 0, sizeof(int) * (size_t)XLENGTH(parts));
	while (maps && getline(&line, &room, maps) > 0)
		for (R_xlen_t i = 0; i < XLENGTH(parts); i++)
			if (strstr(line, R_CHAR(STRING_ELT(parts, i))))
				LOGICAL(found)[i] = 1;
	free(line);
	if (maps)
		(void)fclose(maps);
	UNPROTECT(1);
	return found;
}

/* ---- positions in open files, which a copy shares with the process that it was copied from */

struct offsets {
	struct offset {
		int fd;
		dev_t device;
		ino_t inode;
		off_t at;
	} * list;
	size_t n, room;
};

static void save_offset(void *ctx, int fd)
{
	struct offsets *all = ctx;
	struct stat st;
	off_t at = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	if (at < 0)
		return;
	if (all->n == all->room) {
		size_t room = all->room * 2 + 16;
		struct offset *list = reallocarray(all->list, room, sizeof(*list));
		if (!list)
			return;
		all->list = list;
		all->room = room;
	}
	all->list[all->n++] = (struct offset){ fd, st.st_dev, st.st_ino, at };
}

static void restore_offsets(const struct offsets *all)
{
	struct stat st;
	for (size_t i = 0; i < all->n; i++) {
		const struct offset *o = &all->list[i];
		if (fstat(o->fd, &st) == 0 && st.st_dev == o->device && st.st_ino == o->inode)
			(void)lseek(o->fd, o->at, SEEK_SET);
	}
}

/* ---- the copy */

/* R deletes its folder for temporary files when it ends or crashes. The copies use the same folder, so none of the
 * processes may delete it. R finds the folder by another pointer to the text of R_TempDir. */
static void keep_temporary_files(void)
{
	static bool kept;
	char *name = kept || !R_TempDir ? NULL : strdup(R_TempDir);
	if (!name)
		return;
	*R_TempDir = '\0';
	R_TempDir = name;
	kept = true;
}

/* Returns once PID 1 has sent a message. A copy that nobody needs any more ends. */
static void wait_for_wake(int fd)
{
	char byte;
	for (;;) {
		(void)poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
		ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n > 0)
			return;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			_exit(0);
	}
}

static void become_copy(const int *fds, const char *hello)
{
	int link = link_take_over(fds[0]);
	if (link < 0 || dup2(fds[1], STDOUT_FILENO) < 0 || dup2(fds[2], STDERR_FILENO) < 0 ||
	    !console_take_over(fds[3]))
		_exit(1);
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
	/* The first byte carries the credentials of this process. */
	if (!link_write_all(link, "?", 1) || !link_send_text(hello))
		_exit(1);
	wait_for_wake(link);
}

/* The child in between ends here. The copy returns: it leads a session of its own before anything else happens, since
 * PID 1 kills the session of a kernel that has died. */
static void fork_again(int writes)
{
	pid_t pid = fork();
	char text[32] = "+";
	if (pid > 0)
		(void)snprintf(text, sizeof(text), "%d\n", (int)pid);
	if (pid == 0)
		(void)setsid();
	if (pid >= 0 && write(writes, text, strlen(text)) < 0)
		_exit(1);
	if (pid != 0)
		_exit(0);
	close(writes);
}

static int left_ms(const struct timespec *begin)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t passed = (now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000;
	return passed < BIRTH_MS ? (int)(BIRTH_MS - passed) : 0;
}

/* Waits until the copy runs. One that hangs is killed: a lock that another thread held stays locked in it. */
static bool watch_birth(pid_t child, int reads)
{
	struct timespec begin;
	char said[64] = "";
	size_t n = 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	while (n < sizeof(said) - 1 && !(strchr(said, '+') && strchr(said, '\n'))) {
		int ready = poll(&(struct pollfd){ .fd = reads, .events = POLLIN }, 1, left_ms(&begin));
		ssize_t k = ready > 0 ? read(reads, said + n, sizeof(said) - 1 - n) : ready;
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		n += (size_t)k;
		said[n] = '\0';
	}
	bool alive = strchr(said, '+') != NULL;
	long copy = strtol(said + strspn(said, "+"), NULL, 10);
	if (!alive)
		(void)kill(child, SIGKILL);
	if (!alive && copy > 0)
		(void)kill((pid_t)copy, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return alive;
}

/* ---- called by R */

/* Returns the descriptors that PID 1 has sent for a copy. There are FDS, or this process has no room for them. */
SEXP copies_receive(void)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * FDS)];
	struct cmsghdr *c = NULL;
	char byte;
	struct iovec io = { .iov_base = &byte, .iov_len = 1 };
	/* Bytes that no display has waited for may come first. */
	while (!c) {
		struct msghdr message = {
			.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
		};
		if (recvmsg(console_taken(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
			break;
		c = CMSG_FIRSTHDR(&message);
	}
	size_t n = c && c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	SEXP fds = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)n));
	if (n > 0)
		memcpy(INTEGER(fds), CMSG_DATA(c), n * sizeof(int));
	UNPROTECT(1);
	return fds;
}

SEXP copies_close(SEXP fds)
{
	for (R_xlen_t i = 0; i < XLENGTH(fds); i++)
		close(INTEGER(fds)[i]);
	return R_NilValue;
}

/* Forks twice, so that the copy is a child of PID 1. Returns TRUE in the copy, once it must take the place of the
 * kernel; FALSE in the kernel; NULL if there is no copy. */
SEXP copies_fork(SEXP fds, SEXP hello)
{
	int ends[2];
	struct offsets offsets = { 0 };
	pid_t child = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return R_NilValue;
	keep_temporary_files();
	each_descriptor(save_offset, &offsets);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		fork_again(ends[1]);
		become_copy(INTEGER(fds), R_CHAR(STRING_ELT(hello, 0)));
		restore_offsets(&offsets);
	}
	free(offsets.list);
	if (child == 0)
		return Rf_ScalarLogical(1);
	close(ends[1]);
	bool alive = child > 0 && watch_birth(child, ends[0]);
	close(ends[0]);
	return alive ? Rf_ScalarLogical(0) : R_NilValue;
}
