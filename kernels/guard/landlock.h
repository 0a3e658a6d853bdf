/* PID 1 starts each process in a new Landlock domain, which the process's children inherit. The domains separate the
 * kernel and the commands, which run as the same user: a process can trace only processes of its own domain, and read
 * only their memory and descriptors. It can open files for writing below /workspace, /tmp, /home, /dev and the install
 * volume, but not in /proc, so it cannot change another process's memory or oom_score_adj. It cannot open a terminal
 * that PID 1 has opened for another process. Signals are not restricted, so one command can end a process of
 * another. */
#ifndef HUSK_KERNELS_GUARD_LANDLOCK_H
#define HUSK_KERNELS_GUARD_LANDLOCK_H

/* The Landlock version of the Linux kernel; 0 if it has no Landlock, or a version that is too old. */
int landlock_version(void);
/* Makes rules that any number of domains can use. Returns a descriptor that the caller owns, 0 if landlock_version() is
 * 0, or -errno. `terminal` is a descriptor of the only terminal in TERMINALS_PATH that processes of the domain may
 * open, or 0. The caller keeps it. */
int landlock_rules(int terminal);
/* Applies the rules to the calling process and all its future children; needs no_new_privs. Each call creates a new
 * domain, except if `rules` is 0. 0 or -errno. */
int landlock_enforce(int rules);

#endif
