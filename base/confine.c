#include "base/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW_CALL(name)                                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool filter_calls(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW_CALL(read),
		ALLOW_CALL(write),
		ALLOW_CALL(lseek),
		ALLOW_CALL(fstat),
		ALLOW_CALL(newfstatat),
		ALLOW_CALL(pselect6),
#ifdef SYS_select
		ALLOW_CALL(select),
#endif
		ALLOW_CALL(brk),
		ALLOW_CALL(mmap),
		ALLOW_CALL(munmap),
		ALLOW_CALL(mremap),
		ALLOW_CALL(futex),
		ALLOW_CALL(getrandom),
		ALLOW_CALL(clock_gettime),
		ALLOW_CALL(setitimer),
		ALLOW_CALL(rt_sigreturn),
		ALLOW_CALL(exit),
		ALLOW_CALL(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	static const struct sock_fprog program = { ARRAY_LEN(filter), filter };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool confine(const struct confinement *limits)
{
	const struct rlimit memory = { limits->memory, limits->memory }, none = { 0, 0 },
			    time = { limits->cpu_seconds, limits->cpu_seconds };
	return setrlimit(RLIMIT_AS, &memory) == 0 && setrlimit(RLIMIT_CPU, &time) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0 && filter_calls();
}
