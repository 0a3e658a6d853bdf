/* PID 1 starts each process in a Landlock domain of its own, which the process's children inherit. The domains separate the kernel
 * and the commands, which run as the same user: a process can trace, and read the memory and descriptors of, only processes of its
 * own domain. It can open files for writing below /workspace, /tmp, /home, /dev and the install volume, but not in /proc, so it
 * cannot change another process's memory or oom_score_adj. Of the terminals that PID 1 has opened it can open only its own. Signals
 * pass, so one command can end a process of another. */
#ifndef HUSK_KERNELS_GUARD_LANDLOCK_H
#define HUSK_KERNELS_GUARD_LANDLOCK_H

/* The Landlock version of this kernel; 0 if it has none, or one that is too old. */
int landlock_version(void);
/* The rules for any number of domains: a descriptor that the caller owns, 0 where landlock_version() is 0, or -errno. `terminal` is
 * the one in TERMINALS_PATH that processes of the domain may open, or 0. It stays the caller's. */
int landlock_rules(int terminal);
/* For the calling process and all it will ever start; needs no_new_privs. Each call makes a domain of its own. Rules of 0 make
 * none. 0 or -errno. */
int landlock_enforce(int rules);

#endif
