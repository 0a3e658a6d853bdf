/* A seccomp filter that keeps sandbox code from starving or tricking PID 1, which runs as the same user: calls that
 * would change its limits, scheduling or priority, or signal it, fail with EPERM; system calls of a foreign ABI, which
 * would walk past the filter, with ENOSYS. Everything else is the container's own policy. */
#ifndef HUSK_KERNELS_GUARD_H
#define HUSK_KERNELS_GUARD_H

/* For the calling process and all it will ever start. Also sets no_new_privs. 0 or -errno. */
int guard_install(void);

#endif
