/* kernels/guard/guard: a forked child installs the filter and tries each system call on pid 1 and on itself. The
 * filter answers before the kernel does, so EPERM for pid 1 comes from the filter even if the kernel would allow
 * the call. The values are harmless. */
/* evidence: fewer-calls */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernels/guard/guard.h"
#include "tests/unit/unit.h"

#include "base/defs.h"

#define HIGH_BITS (UINT64_C(0x5a5a5a5a) << 32)

static long call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	long r = syscall(nr, a, b, c, d, 0, 0);
	return r < 0 ? -errno : r;
}

#define THREAD ((uint64_t)(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM))

static const struct {
	const char *name;
	long nr;
	uint64_t a, b, c, d;
} refused[] = {
	{ "kill", SYS_kill, 1, 0 },
	{ "kill with high bits", SYS_kill, HIGH_BITS | 1, 0 },
	{ "tkill", SYS_tkill, 1, 0 },
	{ "tgkill group", SYS_tgkill, 1, 1, 0 },
	{ "tgkill thread", SYS_tgkill, 12345, 1, 0 },
	{ "tgkill group alone", SYS_tgkill, 1, 12345, 0 },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo, 1, 0, 0 },
	{ "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, 1, 1, 0, 0 },
	{ "rt_tgsigqueueinfo thread", SYS_rt_tgsigqueueinfo, 12345, 1, 0, 0 },
	{ "prlimit64", SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 0 },
	{ "prlimit64 with high bits", SYS_prlimit64, HIGH_BITS | 1, RLIMIT_NOFILE, 0, 0 },
	{ "sched_setscheduler", SYS_sched_setscheduler, 1, 0, 0 },
	{ "sched_setparam", SYS_sched_setparam, 1, 0 },
	{ "sched_setattr", SYS_sched_setattr, 1, 0, 0 },
	{ "sched_setaffinity", SYS_sched_setaffinity, 1, 0, 0 },
	{ "setpriority process", SYS_setpriority, PRIO_PROCESS, 1, 0 },
	{ "setpriority group", SYS_setpriority, PRIO_PGRP, 1, 0 },
	{ "setpriority user", SYS_setpriority, PRIO_USER, 0, 0 },
	{ "setpriority user with high bits", SYS_setpriority, HIGH_BITS | PRIO_USER, 65532, 0 },
	{ "ioprio_set process", SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1, 0 },
	{ "ioprio_set group", SYS_ioprio_set, IOPRIO_WHO_PGRP, 1, 0 },
	{ "ioprio_set user", SYS_ioprio_set, IOPRIO_WHO_USER, 0, 0 },
	{ "pidfd_open", SYS_pidfd_open, 1, 0 },
	{ "ptrace", SYS_ptrace, PTRACE_SEIZE, 1, 0, 0 },
	{ "process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0 },
	{ "process_vm_writev", SYS_process_vm_writev, 1, 0, 0, 0 },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, 0, 0, 0, 0 },
	{ "socket vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0 },
	{ "socket vsock with high bits", SYS_socket, HIGH_BITS | AF_VSOCK, SOCK_STREAM, 0 },
	{ "socket alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0 },
	{ "socket packet", SYS_socket, AF_PACKET, SOCK_DGRAM, 0 },
	{ "socket netlink of netfilter", SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	{ "socket netlink of netfilter with high bits", SYS_socket, AF_NETLINK, SOCK_RAW,
	  HIGH_BITS | NETLINK_NETFILTER },
	{ "socketpair tipc", SYS_socketpair, AF_TIPC, SOCK_STREAM, 0 },
	{ "keyctl", SYS_keyctl, 0, 0, 0 },
	{ "add_key", SYS_add_key, 0, 0, 0 },
	{ "request_key", SYS_request_key, 0, 0, 0 },
	{ "bpf", SYS_bpf, 0, 0, 0 },
	{ "perf_event_open", SYS_perf_event_open, 0, 0, 0 },
	{ "personality", SYS_personality, ADDR_NO_RANDOMIZE },
	{ "personality with high bits", SYS_personality, HIGH_BITS | READ_IMPLIES_EXEC },
	{ "unshare", SYS_unshare, CLONE_NEWUSER },
	{ "setns", SYS_setns, 0, 0 },
	{ "clone of a user namespace", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0 },
	{ "clone of a mount namespace with high bits", SYS_clone, HIGH_BITS | CLONE_NEWNS | SIGCHLD, 0, 0, 0 },
	{ "syslog", SYS_syslog, 3, 0, 0 },
	{ "a thread with descriptors of its own", SYS_clone, THREAD & ~(uint64_t)CLONE_FILES, 0, 0, 0 },
	{ "a thread with a directory of its own", SYS_clone, THREAD & ~(uint64_t)CLONE_FS, 0, 0, 0 },
	{ "close_range that parts from other threads", 436, 1000, 1000, 2 },
};

/* Disk space can only be allocated by writing. */
static const struct {
	const char *name;
	long nr;
	uint64_t b;
	int error;
} unsupported[] = {
	{ "fallocate", SYS_fallocate, 0, EOPNOTSUPP },
	{ "fallocate beyond the end", SYS_fallocate, FALLOC_FL_KEEP_SIZE, EOPNOTSUPP },
	{ "fallocate of zeros", SYS_fallocate, FALLOC_FL_ZERO_RANGE, EOPNOTSUPP },
	{ "fallocate with high bits", SYS_fallocate, HIGH_BITS, EOPNOTSUPP },
	{ "FS_IOC_RESVSP", SYS_ioctl, 0x40305828, EOPNOTSUPP },
	{ "FS_IOC_RESVSP64", SYS_ioctl, 0x4030582a, EOPNOTSUPP },
	{ "FS_IOC_ZERO_RANGE", SYS_ioctl, 0x40305839, EOPNOTSUPP },
	{ "FS_IOC_ZERO_RANGE with high bits", SYS_ioctl, HIGH_BITS | 0x40305839, EOPNOTSUPP },
	{ "XFS: allocate more than is written", SYS_ioctl, 0x401c5820, EOPNOTSUPP },
	{ "Btrfs: a subvolume", SYS_ioctl, 0x5000940e, EOPNOTSUPP },
};

/* (family, protocol) */
static const int foreign_protocols[][2] = {
	{ AF_INET, IPPROTO_SCTP }, { AF_INET, IPPROTO_UDPLITE }, { AF_INET6, IPPROTO_MPTCP }, { AF_INET, IPPROTO_RAW }
};

static const struct {
	const char *name;
	long nr;
} missing[] = {
	{ "io_uring_setup", SYS_io_uring_setup },
	{ "io_uring_enter", SYS_io_uring_enter },
	{ "io_uring_register", SYS_io_uring_register },
	{ "io_setup", SYS_io_setup },
	{ "userfaultfd", SYS_userfaultfd },
	{ "memfd_secret", 447 },
	{ "clone3", SYS_clone3 },
};

static int try_missing(void)
{
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		long r = call(missing[i].nr, 0, 0, 0, 0);
		if (r == -ENOSYS)
			continue;
		dprintf(2, "%s: %ld\n", missing[i].name, r);
		return 1;
	}
	return 0;
}

static int try_unsupported(void)
{
	AUTO(closep) int file = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct {
		int16_t type, whence;
		int64_t start, len;
		int32_t sysid;
		uint32_t pid;
		int32_t pad[4];
	} space = { .len = 4096 };
	if (posix_fallocate(file, 0, 1 << 20) != 0 || lseek(file, 0, SEEK_END) != 1 << 20)
		return 1;
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		bool allocates = unsupported[i].nr == SYS_fallocate;
		long r = call(unsupported[i].nr, (uint64_t)file, unsupported[i].b,
			      allocates ? 0 : (uint64_t)(uintptr_t)&space, 4096);
		if (r == -unsupported[i].error)
			continue;
		dprintf(2, "%s: %ld\n", unsupported[i].name, r);
		return 3;
	}
	for (size_t i = 0; i < ARRAY_LEN(foreign_protocols); i++)
		if (socket(foreign_protocols[i][0], SOCK_RAW, foreign_protocols[i][1]) >= 0 || errno != EPROTONOSUPPORT)
			return 4;
	return 0;
}

static int try_refused(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		long r = call(refused[i].nr, refused[i].a, refused[i].b, refused[i].c, refused[i].d);
		if (r == -EPERM)
			continue;
		dprintf(2, "%s: %ld\n", refused[i].name, r);
		return 1;
	}
	return 0;
}

static void *no_work(void *arg)
{
	return NULL;
}

static int try_allowed(void)
{
	struct rlimit limit;
	struct sched_param param = { 0 };
	cpu_set_t cpus;
	pid_t me = getpid();
	int pidfd;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	if (kill(me, 0) < 0 || kill(0, 0) < 0 || call(SYS_tgkill, (uint64_t)me, (uint64_t)me, 0, 0) < 0)
		return 2;
	if (setpriority(PRIO_PROCESS, 0, 19) < 0 || setpriority(PRIO_PGRP, 0, 19) < 0)
		return 3;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return 4;
	if (sched_setscheduler(0, SCHED_OTHER, &param) < 0)
		return 5;
	if (call(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0, 0) < 0)
		return 6;
	pidfd = (int)call(SYS_pidfd_open, (uint64_t)me, 0, 0, 0);
	if (pidfd < 0)
		return 7;
	if (prlimit(me, RLIMIT_NOFILE, NULL, &limit) < 0)
		return 8;
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (socket(families[i], SOCK_DGRAM, 0) < 0 && errno != EAFNOSUPPORT)
			return 9;
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 10;
	if (personality(0xffffffff) < 0 || personality(PER_LINUX) < 0)
		return 11;
	static const int protocols[] = { 0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6 };
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
		if (socket(AF_INET, SOCK_STREAM, protocols[i]) < 0 && errno == EPERM)
			return 12;
	pthread_t thread;
	if (pthread_create(&thread, NULL, no_work, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 13;
	if (ioctl(0, FIONREAD, &pidfd) < 0 && errno == EOPNOTSUPP)
		return 14;
	return 0;
}

static int try_foreign(void)
{
#if defined(__x86_64__)
	/* getpid of the x32 and of the i386 ABI. */
	if (call(0x40000000 | SYS_getpid, 0, 0, 0, 0) != -EPERM)
		return 1;
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	if (r != -EPERM)
		return 2;
#endif
	return 0;
}

static int in_guarded_child(int (*fn)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		_exit(guard_install() < 0 ? 99 : fn());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* evidence: container-fallocate, pid1-guard */
static void system_calls_against_pid_1_are_refused(void **state)
{
	assert_int_equal(in_guarded_child(try_refused), 0);
}

static void system_calls_that_programs_need_are_allowed(void **state)
{
	assert_int_equal(in_guarded_child(try_allowed), 0);
}

static void optional_system_calls_are_missing(void **state)
{
	assert_int_equal(in_guarded_child(try_missing), 0);
}

/* evidence: container-fallocate */
static void fallocate_is_refused(void **state)
{
	assert_int_equal(in_guarded_child(try_unsupported), 0);
}

/* evidence: pid1-guard */
static void foreign_calls_are_refused(void **state)
{
	assert_int_equal(in_guarded_child(try_foreign), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_calls_against_pid_1_are_refused),
		cmocka_unit_test(system_calls_that_programs_need_are_allowed),
		cmocka_unit_test(optional_system_calls_are_missing),
		cmocka_unit_test(fallocate_is_refused),
		cmocka_unit_test(foreign_calls_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
