/* A seccomp filter for everything in the container, on top of the engine's own. PID 1 installs it once, does without what it refuses,
 * and all that it starts inherits it. It keeps sandbox code from starving or tricking PID 1, which runs as the same user: calls that
 * would change its limits, scheduling or priority, or signal it, fail with EPERM. And it closes what programs do not need of the
 * kernel: io_uring, io_setup, userfaultfd and memfd_secret fail with ENOSYS, so that libraries fall back; sockets other than unix,
 * inet, inet6 and netlink route, keys, bpf, perf events, other personalities and system calls of a foreign ABI with EPERM. Blocks of
 * a disk can only be written: fallocate (but to free a range) and the ioctls of file systems fail with EOPNOTSUPP, and libc's
 * posix_fallocate then writes zeros. A thread cannot have descriptors of its own. */
#ifndef HUSK_KERNELS_GUARD_GUARD_H
#define HUSK_KERNELS_GUARD_GUARD_H

/* For the calling process and all it will ever start. Also sets no_new_privs. 0 or -errno. */
int guard_install(void);

#endif
