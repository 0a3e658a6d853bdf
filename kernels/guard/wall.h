/* A Landlock domain for each process that PID 1 starts, and all that it starts in turn: a wall between the kernel and each
 * command, which run as the same user. A process can trace, or look into the memory and descriptors of, only what stands on
 * its own side. It can open files for writing below /workspace, /tmp, /home, /dev and the install volume, so nothing in
 * /proc: nobody's memory, nobody's oom_score_adj. Signals pass, so that one command can end what another one started. */
#ifndef HUSK_KERNELS_GUARD_WALL_H
#define HUSK_KERNELS_GUARD_WALL_H

/* The Landlock version of this kernel; 0 if it has none that the wall can be built of. */
int wall_version(void);
/* What a wall is built of, for any number of them: a descriptor, 0 where wall_version() is 0, or -errno. */
int wall_rules(void);
/* For the calling process and all it will ever start; needs no_new_privs. Each call makes a domain of its own. Rules of 0 raise
 * none. 0 or -errno. */
int wall_raise(int rules);

#endif
