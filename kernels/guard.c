#include "kernels/guard.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/defs.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the guard knows x86_64 and aarch64"
#endif

#define PID_ONE 1
#define X32_BIT 0x40000000u

/* Pids and selectors are 32 bit: the kernel ignores the upper half of their registers, so the filter must as well.
 * Both architectures are little endian: the low word comes first. */
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define FOREIGN RETURN(SECCOMP_RET_ERRNO | ENOSYS)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
/* Each rule below skips its own length when the call is another one, and returns otherwise. */
#define ON_CALL(nr, rule_length) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, (rule_length))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))

/* Refuse call NR if argument I names pid 1. */
#define RULE_PID(nr, i) ON_CALL(nr, 4), LOAD_ARG(i), SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW
/* tgkill and its sibling take two ids. */
#define RULE_TWO_PIDS(nr)                                                                                              \
	ON_CALL(nr, 6), LOAD_ARG(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PID_ONE, 2, 0), LOAD_ARG(1),                  \
		SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW
/* (which, who, …): a whole user never, a process or a group unless it is number 1. */
#define RULE_WHO(nr, which_user)                                                                                       \
	ON_CALL(nr, 6), LOAD_ARG(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (which_user), 2, 0), LOAD_ARG(1),             \
		SKIP_UNLESS(PID_ONE, 1), REFUSE, ALLOW

static const struct sock_filter rules[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
	FOREIGN,
	LOAD(nr),
#if defined(__x86_64__)
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
	FOREIGN,
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
	/* Whom a pidfd means cannot be seen from here (any open /proc/1 is one). */
	ON_CALL(SYS_pidfd_send_signal, 1),
	REFUSE,
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
