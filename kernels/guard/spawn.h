/* Starts a process of the sandbox user from PID 1. The process gets its own process session, /dev/null as stdin (or a
 * pipe, or a terminal), no blocked signals, a Landlock domain, oom_score_adj 1000 and a lower priority. It inherits the
 * guard and default signals from PID 1 (spawn_prepare()): setting them up for each process took longer than its
 * fork. */
#ifndef HUSK_KERNELS_GUARD_SPAWN_H
#define HUSK_KERNELS_GUARD_SPAWN_H

#include <sys/types.h>

#include "base/defs.h"

#define SPAWN_FDS_MAX 4
#define SPAWN_WORKSPACE "/workspace"
#define SPAWN_HOME "/home/sandbox"

struct spawn_fd {
	int fd;	    /* in PID 1 */
	int number; /* in the child; 10 to 199 */
};

struct spawn_spec {
	char *const *argv; /* argv[0] is an absolute path */
	char *const *env;
	const char *cwd; /* if it does not exist: /workspace, then /, with a line on the child's stderr */
	int in_fd;	 /* 0 = /dev/null */
	int out_fd;
	int err_fd;
	int tty_fd;			    /* a terminal in place of these three; 0 = none */
	struct spawn_fd fds[SPAWN_FDS_MAX]; /* number 0 = unused */
};

/* Called once, in PID 1, before any process is started. 0 or -errno. */
int spawn_prepare(void);
/* Returns the absolute path of a directory that a run gives as absolute, below ~ or $HOME, or relative to `from`. The
 * caller owns it. */
char *spawn_path(const char *path, const char *from);
/* True if the path can be the working directory of a process. */
bool spawn_can_enter(const char *path);
/* The pid, which leads a process session and a process group, or -errno of fork (-EAGAIN: process limit reached). The
 * caller keeps all descriptors. After a failure that follows the fork, the child prints a sentence on stderr and exits
 * with status 127. */
pid_t spawn_process(const struct spawn_spec *spec);

#endif
