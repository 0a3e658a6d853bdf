/* libsixel, loaded here and nowhere else. What it is given may be made to break it: from then on the process can read, write, have some
 * memory, and end. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sixel.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/library.h"
#include "cli/repl/sixel.h"

#define MEMORY_MAX (1ul << 30)
#define SECONDS_MAX 5

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

#define FUNCTIONS(X)                                                                                                   \
	X(sixel_encoder_new)                                                                                           \
	X(sixel_encoder_encode)                                                                                        \
	X(sixel_encoder_unref)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libsixel = LIBRARY(FUNCTIONS, "libhusk-sixel.so.1", "libsixel.so.1", "libsixel.1.dylib");

#define ALLOW_CALL(name)                                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool confine(void)
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
		ALLOW_CALL(rt_sigreturn),
		ALLOW_CALL(exit),
		ALLOW_CALL(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	static const struct sock_fprog program = { ARRAY_LEN(filter), filter };
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX }, time = { SECONDS_MAX, SECONDS_MAX }, none = { 0, 0 };
	return setrlimit(RLIMIT_AS, &memory) == 0 && setrlimit(RLIMIT_CPU, &time) == 0 &&
	       setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int sixel_worker(void)
{
	sixel_encoder_t *encoder = NULL;
	if (!library_load(&libsixel) || !confine() || SIXEL_FAILED(lib.sixel_encoder_new(&encoder, NULL)))
		return 1;
	SIXELSTATUS status = lib.sixel_encoder_encode(encoder, "-");
	lib.sixel_encoder_unref(encoder);
	return SIXEL_FAILED(status) ? 1 : 0;
}
