/* Starts a process of the sandbox user from PID 1 with exactly what such a process gets: its own process session, /dev/null as
 * stdin (or a pipe, or a terminal), no blocked signals, a Landlock domain, oom_score_adj 1000, a lower priority.
 * It inherits the guard and default signals from PID 1 (spawn_prepare()): setting them up for each process took
 * longer than its fork. */
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
	int tty_fd;			    /* its own terminal, in place of all three; 0 = none */
	struct spawn_fd fds[SPAWN_FDS_MAX]; /* number 0 = unused */
};

/* Once, in PID 1, before anything is started. 0 or -errno. */
int spawn_prepare(void);
/* A directory as a run names it: absolute, below ~ or $HOME, or below `from`. The caller owns it. */
char *spawn_path(const char *path, const char *from);
/* True if a process can have it as its working directory. */
bool spawn_can_enter(const char *path);
/* The pid, which leads a process session and a process group, or -errno of fork (-EAGAIN: process limit reached).
 * The caller keeps all descriptors. A failure after the fork is a sentence on the child's stderr and exit status
 * 127. */
pid_t spawn_process(const struct spawn_spec *spec);

#endif
