#include "kernels/guard/guard.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/defs.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the guard supports x86_64 and aarch64"
#endif

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

#define PID_ONE 1
#define PERSONALITY_QUERY 0xffffffffu
#define PERSONALITY_LINUX 0
#define X32_BIT 0x40000000u
/* Mode of fallocate that frees a range. */
#define PUNCH_HOLE 3u
/* Since Linux 5.9. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define CLOSE_AND_UNSHARE 2u
#define IOCTLS_OF_XFS 'X'
#define IOCTLS_OF_BTRFS 0x94

/* Pids and selectors are 32 bit: the kernel ignores the upper half of their registers, so the filter must do so
 * too. Both architectures are little endian: the low word comes first. */
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
/* For system calls that libraries replace if the kernel is too old to have them. */
#define MISSING RETURN(SECCOMP_RET_ERRNO | ENOSYS)
/* For system calls that programs replace with plain writes, as on file systems that do not support them. */
#define UNSUPPORTED RETURN(SECCOMP_RET_ERRNO | EOPNOTSUPP)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
/* Each rule below returns if the system call is its own, and otherwise jumps to the next rule. */
#define ON_CALL(nr, rule_length) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, (rule_length))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))

/* Rejects call NR if argument I is pid 1. */
#define RULE_PID(nr, i) ON_CALL(nr, 4), LOAD_ARG(i), SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW
/* tgkill and rt_tgsigqueueinfo take two ids. */
#define RULE_TWO_PIDS(nr)                                                                                              \
	ON_CALL(nr, 6), LOAD_ARG(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PID_ONE, 2, 0), LOAD_ARG(1),                  \
		SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW
/* (which, who, …): rejects a whole user, and process or group number 1. */
#define RULE_WHO(nr, which_user)                                                                                       \
	ON_CALL(nr, 6), LOAD_ARG(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (which_user), 2, 0), LOAD_ARG(1),             \
		SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW

#define RULE_ALWAYS(nr, action) ON_CALL(nr, 1), action
#define IF_EQUAL_SKIP(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (n), 0)
/* (domain, type, protocol): allows the families that programs need; for inet, TCP, UDP and ping. Every other family is
 * kernel code that programs do not need, with buffers that no limit counts. */
#define RULE_SOCKET(nr)                                                                                                \
	ON_CALL(nr, 16), LOAD_ARG(0), IF_EQUAL_SKIP(AF_UNIX, 13), IF_EQUAL_SKIP(AF_INET, 5),                           \
		IF_EQUAL_SKIP(AF_INET6, 4), SKIP_UNLESS(AF_NETLINK, 2), LOAD_ARG(2), IF_EQUAL_SKIP(NETLINK_ROUTE, 8),  \
		REFUSE, LOAD_ARG(2), IF_EQUAL_SKIP(0, 5), IF_EQUAL_SKIP(IPPROTO_TCP, 4),                               \
		IF_EQUAL_SKIP(IPPROTO_UDP, 3), IF_EQUAL_SKIP(IPPROTO_ICMP, 2), IF_EQUAL_SKIP(IPPROTO_ICMPV6, 1),       \
		RETURN(SECCOMP_RET_ERRNO | EPROTONOSUPPORT), ALLOW
#define RULE_PERSONALITY(nr)                                                                                           \
	ON_CALL(nr, 5), LOAD_ARG(0), IF_EQUAL_SKIP(PERSONALITY_QUERY, 2), IF_EQUAL_SKIP(PERSONALITY_LINUX, 1), REFUSE, \
		ALLOW

#define NEW_NAMESPACES                                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define SHARED_BY_THREADS (CLONE_FILES | CLONE_FS)
/* (flags, …): also rejects threads with separate descriptors, since PID 1 would not find the files that these keep
 * open. */
#define RULE_CLONE(nr)                                                                                                 \
	ON_CALL(nr, 7), LOAD_ARG(0), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 3, 0),                       \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 3),                                              \
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SHARED_BY_THREADS), IF_EQUAL_SKIP(SHARED_BY_THREADS, 1), REFUSE,   \
		ALLOW
/* (first, last, flags) */
#define RULE_CLOSE_RANGE(nr)                                                                                           \
	ON_CALL(nr, 4), LOAD_ARG(2), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLOSE_AND_UNSHARE, 0, 1), REFUSE, ALLOW
/* (file, mode, …) */
#define RULE_FALLOCATE(nr) ON_CALL(nr, 4), LOAD_ARG(1), SKIP_UNLESS(PUNCH_HOLE, 1), ALLOW, UNSUPPORTED
/* (file, command, …): the commands of file systems have two types. Those of XFS, some of which all file systems
 * support, allocate blocks. Those of Btrfs create subvolumes and clones. TIOCSTI inserts input into a terminal. */
#define RULE_IOCTL(nr)                                                                                                 \
	ON_CALL(nr, 9), LOAD_ARG(1), SKIP_UNLESS(TIOCSTI, 1), REFUSE, BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 8),          \
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff), IF_EQUAL_SKIP(IOCTLS_OF_XFS, 1),                            \
		SKIP_UNLESS(IOCTLS_OF_BTRFS, 1), UNSUPPORTED, ALLOW

static const struct sock_filter rules[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
	REFUSE,
	LOAD(nr),
#if defined(__x86_64__)
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
	REFUSE,
#endif
	RULE_PID(SYS_kill, 0),
	RULE_PID(SYS_tkill, 0),
	RULE_TWO_PIDS(SYS_tgkill),
	RULE_PID(SYS_rt_sigqueueinfo, 0),
	RULE_TWO_PIDS(SYS_rt_tgsigqueueinfo),
	/* glibc's getrlimit and setrlimit are prlimit64(0, …) and stay allowed. */
	RULE_PID(SYS_prlimit64, 0),
	RULE_PID(SYS_sched_setscheduler, 0),
	RULE_PID(SYS_sched_setparam, 0),
	RULE_PID(SYS_sched_setattr, 0),
	RULE_PID(SYS_sched_setaffinity, 0),
	RULE_WHO(SYS_setpriority, PRIO_USER),
	RULE_WHO(SYS_ioprio_set, IOPRIO_WHO_USER),
	RULE_PID(SYS_pidfd_open, 0),
	/* A Linux kernel that protects processes that are not dumpable rejects these by itself. */
	RULE_PID(SYS_ptrace, 1),
	RULE_PID(SYS_process_vm_readv, 0),
	RULE_PID(SYS_process_vm_writev, 0),
	/* A filter cannot see which process a pidfd refers to (a descriptor of /proc/1 is a pidfd too). */
	RULE_ALWAYS(SYS_pidfd_send_signal, REFUSE),
	/* Large, new or rarely needed parts of the kernel, in which most vulnerabilities are found. */
	RULE_ALWAYS(SYS_io_uring_setup, MISSING),
	RULE_ALWAYS(SYS_io_uring_enter, MISSING),
	RULE_ALWAYS(SYS_io_uring_register, MISSING),
	RULE_ALWAYS(SYS_io_setup, MISSING),
	RULE_ALWAYS(SYS_userfaultfd, MISSING),
	RULE_ALWAYS(SYS_memfd_secret, MISSING),
	RULE_SOCKET(SYS_socket),
	RULE_SOCKET(SYS_socketpair),
	RULE_ALWAYS(SYS_keyctl, REFUSE),
	RULE_ALWAYS(SYS_add_key, REFUSE),
	RULE_ALWAYS(SYS_request_key, REFUSE),
	RULE_ALWAYS(SYS_bpf, REFUSE),
	RULE_ALWAYS(SYS_perf_event_open, REFUSE),
	RULE_PERSONALITY(SYS_personality),
	/* As in the engine's profile, which gVisor does not apply. A filter cannot see the flags of clone3. */
	RULE_ALWAYS(SYS_unshare, REFUSE),
	RULE_ALWAYS(SYS_setns, REFUSE),
	RULE_CLONE(SYS_clone),
	RULE_ALWAYS(SYS_clone3, MISSING),
	RULE_ALWAYS(SYS_syslog, REFUSE),
	/* Blocks that are allocated without being written would be missing from the count of written bytes
	 * (kernels/disk/disk.h). */
	RULE_FALLOCATE(SYS_fallocate),
	RULE_IOCTL(SYS_ioctl),
	RULE_CLOSE_RANGE(SYS_close_range),
	ALLOW,
};

int guard_install(void)
{
	struct sock_fprog program = { .len = ARRAY_LEN(rules), .filter = (struct sock_filter *)rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return -errno;
	return 0;
}
