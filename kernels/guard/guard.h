/* A seccomp filter for everything in the container, in addition to the engine's own. PID 1 installs it once, and every
 * process that it starts inherits it.
 *
 * The filter keeps sandbox code from starving or tricking PID 1, which runs as the same user: system calls that would
 * change PID 1's limits, scheduling or priority, or signal it, fail with EPERM. It also closes parts of the kernel that
 * programs do not need. io_uring, io_setup, userfaultfd and memfd_secret fail with ENOSYS, so that libraries fall back.
 * Sockets other than unix, inet, inet6 and netlink route, keys, bpf, perf events, other personalities and system calls
 * of a foreign ABI fail with EPERM.
 *
 * Disk blocks can only be allocated by writing: fallocate (except to free a range) and the ioctls of file systems fail
 * with EOPNOTSUPP, and libc's posix_fallocate then writes zeros. A thread cannot have descriptors that its process does
 * not share. */
#ifndef HUSK_KERNELS_GUARD_GUARD_H
#define HUSK_KERNELS_GUARD_GUARD_H

/* Applies the filter to the calling process and all its future children. Also sets no_new_privs. 0 or -errno. */
int guard_install(void);

#endif
