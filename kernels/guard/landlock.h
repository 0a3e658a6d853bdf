/* PID 1 starts each process in a new Landlock domain, which the process's children inherit. The domains separate
 * the kernel and the commands, which run as the same user: a process can only trace processes of its own domain,
 * and only read their memory and descriptors. It can open files for writing below /workspace, /tmp, /home, /dev
 * and the install volume, but not in /proc, so it cannot change another process's memory or oom_score_adj. It can
 * open only its own one of the terminals that PID 1 has opened. Signals are not restricted, so one command can end a
 * process of another. */
#ifndef HUSK_KERNELS_GUARD_LANDLOCK_H
#define HUSK_KERNELS_GUARD_LANDLOCK_H

/* The Landlock version of this kernel; 0 if it has none, or if it is too old. */
int landlock_version(void);
/* The rules for any number of domains: a descriptor that the caller owns, 0 where landlock_version() is 0, or
 * -errno. `terminal` is the one in TERMINALS_PATH that processes of the domain may open, or 0. The caller keeps
 * it. */
int landlock_rules(int terminal);
/* Applies to the calling process and all its future children; needs no_new_privs. Each call creates a new domain.
 * Rules of 0 create none. 0 or -errno. */
int landlock_enforce(int rules);

#endif
