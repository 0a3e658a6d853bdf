/* Everything that must not work. The first group follows the eighteen published ways out of a container; the others are
 * further promises to a session (SECURITY.md). probe.h explains the two lists of errors. The order in which the Linux
 * kernel checks decides which error belongs in which list. tests/e2e/test_probe.py removes each protection that it can,
 * and expects the probe to notice. */
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "kernels/probe/probe.h"
#include "kernels/protocol.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* Errors that mean a refusal. A filter may answer that a system call does not exist (ENOSYS); a call that really does
 * not exist cannot be used either. */
#define REFUSED "EPERM EACCES ENOSYS"
#define NOT_HERE "ENOENT ENOTDIR"
#define UNREADABLE "EPERM EACCES " NOT_HERE
#define UNWRITABLE "EPERM EACCES EROFS " NOT_HERE
/* No route, no such protocol, or a firewall. A route may be "prohibited". */
#define UNREACHED "ENETUNREACH EACCES EAFNOSUPPORT EADDRNOTAVAIL filtered"
#define NOT_SO "no-effect"

#define CALL(group, name, past, number, ...)                                                                           \
	{                                                                                                              \
		group, name, try_call, REFUSED, past, NULL, number, __VA_ARGS__                                        \
	}
#define FILE_OPEN(group, path)                                                                                         \
	{                                                                                                              \
		group, "open " path, try_open, UNREADABLE, "", path                                                    \
	}
#define FILE_READ(group, path)                                                                                         \
	{                                                                                                              \
		group, "read " path, try_read, UNREADABLE " " NOT_SO, "EIO EINVAL", path                               \
	}
#define FILE_WRITE(group, path)                                                                                        \
	{                                                                                                              \
		group, "write " path, try_write, UNWRITABLE, "ETXTBSY", path                                           \
	}
/* A device node without its driver should not exist either. */
#define DEVICE(path)                                                                                                   \
	{                                                                                                              \
		"devices", path, try_there, NOT_HERE, "", path                                                         \
	}
#define LIST(group, path)                                                                                              \
	{                                                                                                              \
		group, "list " path, try_list, UNREADABLE " " NOT_SO, "", path                                         \
	}
#define ENGINE(path)                                                                                                   \
	{                                                                                                              \
		"escape", "engine's socket " path, try_there, NOT_HERE, "", path                                       \
	}
#define CONNECT(group, name, address, port)                                                                            \
	{                                                                                                              \
		group, name " " address, try_connect, UNREACHED, "", address, 0, port                                  \
	}
#define RESOLVE(name, type)                                                                                            \
	{                                                                                                              \
		"gate", name, try_resolve, "ECONNREFUSED EACCES " NOT_SO, "", NULL, 0, type                            \
	}
#define GATEWAY(name, port)                                                                                            \
	{                                                                                                              \
		"host", name, try_gateway, UNREACHED, "", NULL, 0, port                                                \
	}
#define SOCKET(name, past, family, type, protocol)                                                                     \
	{                                                                                                              \
		"calls", name, try_socket, "EPERM EACCES EAFNOSUPPORT", past, NULL, 0, family, type, protocol          \
	}
#define CAPABILITY(name)                                                                                               \
	{                                                                                                              \
		"capabilities", "CAP_" #name, try_capability, NOT_SO " EINVAL", "", NULL, 0, CAP_##name                \
	}
#define NAMESPACE(name, kind, first)                                                                                   \
	{                                                                                                              \
		"namespaces", name, try_namespace, NOT_SO, "", kind, 0, (long)(first)                                  \
	}
#define MOUNT_FLAG(name, path, flag)                                                                                   \
	{                                                                                                              \
		"mounts", name, try_unflagged, NOT_SO " ENOENT", "", path, 0, flag                                     \
	}
#define UNLIMITED(name, files)                                                                                         \
	{                                                                                                              \
		"limits", name, try_unlimited, NOT_SO, "", files                                                       \
	}
#define RLIMIT(name, resource, most)                                                                                   \
	{                                                                                                              \
		"limits", name, try_rlimit, NOT_SO, "", NULL, 0, resource, most                                        \
	}

#define FD_NONE (-1L)
#define KEYRING_PROCESS (-2L)
#define KEYRING_SESSION (-3L)
#define NO_SUCH_FILE "/nonexistent-husk-probe"
#define NOFILE_MOST 4096 /* as in sessions */

static struct io_uring_params ring;
static aio_context_t aio;
static const struct perf_event_attr clock_of_ours = { .type = PERF_TYPE_SOFTWARE,
						      .size = sizeof(clock_of_ours),
						      .config = PERF_COUNT_SW_CPU_CLOCK,
						      .exclude_kernel = 1,
						      .exclude_hv = 1 };
/* A bpf object that does not exist: all users may try to open one, even where they may not load programs or create
 * maps. */
static const struct {
	uint64_t path;
	uint32_t fd, flags;
} bpf_object = { .path = (uint64_t)NO_SUCH_FILE };
static const struct timezone no_timezone = { .tz_minuteswest = 100000 };
static char byte;
static const struct iovec here = { &byte, 1 }, there = { (void *)4096, 1 };
/* The default values: if these calls work they change nothing. */
static const struct sched_param no_priority = { 0 };
static const uint64_t all_cpus[16] = { ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul,
				       ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul };

const struct probe probes[] = {
	/* --- escapes --- */
	ENGINE("/var/run/docker.sock"),
	ENGINE("/run/containerd/containerd.sock"),
	ENGINE("/run/podman/podman.sock"),
	ENGINE("/var/run/crio/crio.sock"),
	GATEWAY("Docker's API over TCP", 2375),
	GATEWAY("a kubelet", 10250),
	CONNECT("escape", "Kubernetes' API", "10.96.0.1", 443),
	FILE_OPEN("escape", "/var/run/secrets/kubernetes.io/serviceaccount/token"),
	{ "escape", "mount proc", try_mount, REFUSED, "EBUSY ENODEV", "proc" },
	{ "escape", "mount cgroup", try_mount, REFUSED, "EBUSY ENODEV EINVAL ENOENT", "cgroup" },
	{ "escape", "mount tmpfs", try_mount, REFUSED, "EBUSY ENODEV", "tmpfs" },
	{ "escape", "make / writable", try_mount, REFUSED, "EBUSY EINVAL", "none", 0, 1 },
	{ "escape", "make a disk's device file", try_mknod, REFUSED, "EEXIST", "/tmp/.husk-probe-disk" },
	{ "escape", "set a cgroup's release agent", try_release_agent, UNWRITABLE, "", "/sys/fs/cgroup" },
	FILE_WRITE("escape", "/proc/sys/kernel/core_pattern"),
	FILE_WRITE("escape", "/proc/sys/kernel/modprobe"),
	FILE_WRITE("escape", "/sys/kernel/uevent_helper"),
	FILE_WRITE("escape", "/proc/sys/fs/binfmt_misc/register"),
	CALL("escape", "load a kernel module", "ENOEXEC EFAULT", SYS_init_module, 0, 0, 0),
	CALL("escape", "load a kernel module from a file", "EBADF", SYS_finit_module, FD_NONE, (long)"", 0),
	{ "escape", "open a file of the host by its handle", try_handle, REFUSED, "ESTALE EINVAL EOPNOTSUPP" },
	{ "escape", "a host directory left open", try_leaked_directory, "EBADF", "" },
	FILE_WRITE("escape", "/proc/1/exe"),
	LIST("escape", "/proc/1/root"),
	{ "escape", "enter PID 1's mount namespace", try_setns, REFUSED, "EINVAL", "/proc/1/ns/mnt" },
	{ "escape", "see the host's processes", try_host_processes, NOT_SO " ENOENT EACCES", "" },
	CALL("escape", "a user namespace", "", SYS_unshare, CLONE_NEWUSER),
	CALL("escape", "a mount namespace", "", SYS_unshare, CLONE_NEWNS),
	CALL("escape", "a network namespace", "", SYS_unshare, CLONE_NEWNET),
	CALL("escape", "a cgroup namespace", "", SYS_unshare, CLONE_NEWCGROUP),
	{ "escape", "write to a read-only file (Dirty Pipe)", try_dirty_pipe, NOT_SO, "" },
	/* Landlock refuses it in a session, and new Linux kernels refuse it to everyone (EIO). */
	{ "escape", "write to a private copy's file (Dirty COW)", try_dirty_cow, NOT_SO " EACCES EIO", "" },
	{ "escape", "become root", try_root, "EPERM EINVAL", "" },
	{ "escape", "raise capabilities", try_capabilities, REFUSED, "" },
	CALL("escape", "chroot", "", SYS_chroot, (long)"/"),
	CALL("escape", "pivot_root", "EBUSY EINVAL", SYS_pivot_root, (long)"/", (long)"/"),

	/* --- how the container was made --- */
	{ "privileges", "be root", try_user, NOT_SO, "", NULL, 0, 0 },
	{ "privileges", "be the user who controls the session", try_user, NOT_SO, "", NULL, 0, CONTROLLER_UID },
	{ "privileges", "be in root's group", try_group, NOT_SO, "", NULL, 0, 0 },
	{ "privileges", "gain privileges by exec", try_flag, NOT_SO, "EINVAL", NULL, 0, PR_GET_NO_NEW_PRIVS },
	{ "privileges", "run without a seccomp filter", try_flag, NOT_SO, "EINVAL", NULL, 0, PR_GET_SECCOMP },
	CAPABILITY(CHOWN),
	CAPABILITY(DAC_OVERRIDE),
	CAPABILITY(DAC_READ_SEARCH),
	CAPABILITY(FOWNER),
	CAPABILITY(FSETID),
	CAPABILITY(KILL),
	CAPABILITY(SETGID),
	CAPABILITY(SETUID),
	CAPABILITY(SETPCAP),
	CAPABILITY(LINUX_IMMUTABLE),
	CAPABILITY(NET_BIND_SERVICE),
	CAPABILITY(NET_BROADCAST),
	CAPABILITY(NET_ADMIN),
	CAPABILITY(NET_RAW),
	CAPABILITY(IPC_LOCK),
	CAPABILITY(IPC_OWNER),
	CAPABILITY(SYS_MODULE),
	CAPABILITY(SYS_RAWIO),
	CAPABILITY(SYS_CHROOT),
	CAPABILITY(SYS_PTRACE),
	CAPABILITY(SYS_PACCT),
	CAPABILITY(SYS_ADMIN),
	CAPABILITY(SYS_BOOT),
	CAPABILITY(SYS_NICE),
	CAPABILITY(SYS_RESOURCE),
	CAPABILITY(SYS_TIME),
	CAPABILITY(SYS_TTY_CONFIG),
	CAPABILITY(MKNOD),
	CAPABILITY(LEASE),
	CAPABILITY(AUDIT_WRITE),
	CAPABILITY(AUDIT_CONTROL),
	CAPABILITY(SETFCAP),
	CAPABILITY(MAC_OVERRIDE),
	CAPABILITY(MAC_ADMIN),
	CAPABILITY(SYSLOG),
	CAPABILITY(WAKE_ALARM),
	CAPABILITY(BLOCK_SUSPEND),
	CAPABILITY(AUDIT_READ),
	CAPABILITY(PERFMON),
	CAPABILITY(BPF),
	CAPABILITY(CHECKPOINT_RESTORE),
	NAMESPACE("share the host's process ids", "pid", 0xEFFFFFFC),
	NAMESPACE("share the host's network", "net", 0xEFFFFFF9),
	NAMESPACE("share the host's shared memory", "ipc", 0xEFFFFFFF),
	NAMESPACE("share the host's name", "uts", 0xEFFFFFFE),
	MOUNT_FLAG("a writable root file system", "/", ST_RDONLY),
	MOUNT_FLAG("a writable /proc/sys", "/proc/sys", ST_RDONLY),
	MOUNT_FLAG("a writable /sys", "/sys", ST_RDONLY),
	MOUNT_FLAG("a writable folder of the session's socket", LINE_FOLDER, ST_RDONLY),
	MOUNT_FLAG("set-user-id programs in /workspace", "/workspace", ST_NOSUID),
	MOUNT_FLAG("set-user-id programs in /tmp", "/tmp", ST_NOSUID),
	MOUNT_FLAG("device files in /workspace", "/workspace", ST_NODEV),
	MOUNT_FLAG("device files in /tmp", "/tmp", ST_NODEV),
	{ "mounts", "a folder of the host", try_strange_mount, NOT_SO, "" },
	UNLIMITED("memory without a limit", "memory/memory.limit_in_bytes memory.max"),
	{ "limits", "swap", try_swap, NOT_SO, "" },
	UNLIMITED("processes without a limit", "pids/pids.max pids.max"),
	UNLIMITED("processor time without a limit", "cpu/cpu.cfs_quota_us cpu,cpuacct/cpu.cfs_quota_us cpu.max"),
	RLIMIT("open files without a limit", RLIMIT_NOFILE, NOFILE_MOST),
	RLIMIT("core dumps", RLIMIT_CORE, 1),
	RLIMIT("files without a size limit", RLIMIT_FSIZE, INT64_MAX),

	/* --- system calls --- */
	CALL("calls", "io_uring_setup", "ENOMEM", SYS_io_uring_setup, 1, (long)&ring),
	CALL("calls", "io_setup", "EAGAIN", SYS_io_setup, 1, (long)&aio),
	CALL("calls", "userfaultfd", "EINVAL", SYS_userfaultfd, UFFD_USER_MODE_ONLY),
	CALL("calls", "memfd_secret", "", SYS_memfd_secret, 0),
	CALL("calls", "keyctl", "ENOKEY", SYS_keyctl, 0, KEYRING_SESSION, 0),
	CALL("calls", "add_key", "EDQUOT", SYS_add_key, (long)"user", (long)"husk-probe", (long)"x", 1,
	     KEYRING_PROCESS),
	CALL("calls", "request_key", "ENOKEY", SYS_request_key, (long)"user", (long)"husk-probe", 0, 0),
	CALL("calls", "bpf", "ENOENT", SYS_bpf, BPF_OBJ_GET, (long)&bpf_object, sizeof(bpf_object)),
	CALL("calls", "perf_event_open", "ENOENT EOPNOTSUPP", SYS_perf_event_open, (long)&clock_of_ours, 0, FD_NONE,
	     FD_NONE, 0),
	CALL("calls", "personality without random addresses", "", SYS_personality, ADDR_NO_RANDOMIZE),
	CALL("calls", "kexec_load", "EINVAL EADDRNOTAVAIL EBUSY", SYS_kexec_load, 0, 0, 0, 0xffff),
	CALL("calls", "reboot", "EINVAL", SYS_reboot, 0, 0, 0),
	CALL("calls", "swapon", "ENOENT", SYS_swapon, (long)NO_SUCH_FILE, 0),
	CALL("calls", "settimeofday", "EINVAL", SYS_settimeofday, 0, (long)&no_timezone),
	CALL("calls", "sethostname", "EINVAL", SYS_sethostname, (long)"x", -1),
	CALL("calls", "acct", "ENOENT", SYS_acct, (long)NO_SUCH_FILE),
	CALL("calls", "syslog", "", SYS_syslog, 3, (long)"", 0),
	CALL("calls", "fsopen", "", SYS_fsopen, (long)"tmpfs", 0),
	CALL("calls", "open_tree of a copy", "", SYS_open_tree, -100, (long)"/", 1),
	CALL("calls", "fanotify_init", "EINVAL EMFILE", SYS_fanotify_init, FAN_REPORT_FID, 0),
	CALL("calls", "quotactl", "", SYS_quotactl, (long)QCMD(Q_SYNC, USRQUOTA), 0, 0, 0),
	{ "calls", "kcmp", try_kcmp, REFUSED, "" },
	{ "calls", "fallocate", try_fallocate, REFUSED " EOPNOTSUPP", "ENOSPC" },
	CALL("calls", "get_mempolicy", "", SYS_get_mempolicy, 0, 0, 0, 0, 0),
#if defined(__x86_64__)
	CALL("calls", "iopl", "", SYS_iopl, 3),
	CALL("calls", "ioperm", "", SYS_ioperm, 0, 1, 1),
	/* A Linux kernel without 32-bit support kills a process that tries this. */
	{ "calls", "a 32-bit call", try_foreign_call, REFUSED " SIGSEGV", "" },
#endif
	SOCKET("packet socket", "", AF_PACKET, SOCK_RAW, 0),
	SOCKET("raw socket", "", AF_INET, SOCK_RAW, 1),
	SOCKET("vsock", "", AF_VSOCK, SOCK_STREAM, 0),
	SOCKET("kernel crypto socket", "", AF_ALG, SOCK_SEQPACKET, 0),
	SOCKET("key socket", "EPROTONOSUPPORT", AF_KEY, SOCK_RAW, 2),
	SOCKET("bluetooth", "EPROTONOSUPPORT", AF_BLUETOOTH, SOCK_RAW, 1),
	SOCKET("firewall's netlink", "EPROTONOSUPPORT", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
	SOCKET("audit's netlink", "EPROTONOSUPPORT", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),

	/* --- PID 1 --- */
	CALL("pid 1", "kill", "", SYS_kill, 1, 0),
	CALL("pid 1", "tgkill", "", SYS_tgkill, 1, 1, 0),
	CALL("pid 1", "pidfd_open", "", SYS_pidfd_open, 1, 0),
	CALL("pid 1", "prlimit", "", SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 0),
	/* PID 1 has this flag (base/slice.h). Only root may remove it, whatever a filter says. */
	CALL("pid 1", "sched_setscheduler", "", SYS_sched_setscheduler, 1, SCHED_OTHER | SCHED_RESET_ON_FORK,
	     (long)&no_priority),
	CALL("pid 1", "sched_setaffinity", "", SYS_sched_setaffinity, 1, sizeof(all_cpus), (long)all_cpus),
	CALL("pid 1", "setpriority", "", SYS_setpriority, PRIO_PROCESS, 1, 0),
	/* A user without processes: if no filter rejects the call, it finds no process (ESRCH) and changes nothing. */
	CALL("pid 1", "setpriority for its user", "ESRCH", SYS_setpriority, PRIO_USER, INT32_MAX - 1, 0),
	CALL("pid 1", "ioprio_set", "", SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1, 0),
	CALL("pid 1", "ptrace", "", SYS_ptrace, PTRACE_SEIZE, 1, 0, 0),
	CALL("pid 1", "process_vm_readv", "EFAULT", SYS_process_vm_readv, 1, (long)&here, 1, (long)&there, 1),
	FILE_OPEN("pid 1", "/proc/1/mem"),
	FILE_OPEN("pid 1", "/proc/1/environ"),
	FILE_WRITE("pid 1", "/proc/1/oom_score_adj"),
	LIST("pid 1", "/proc/1/fd"),
	FILE_WRITE("pid 1", "/opt/husk/husk-client"),
	{ "interpreter", "read its memory from a command", try_interpreter, REFUSED, "" },

	/* --- files --- */
	FILE_READ("files", "/etc/shadow"),
	FILE_WRITE("files", "/etc/passwd"),
	FILE_WRITE("files", "/etc/ld.so.cache"),
	FILE_WRITE("files", "/opt/husk/runtime.json"),
	FILE_WRITE("files", "/proc/sysrq-trigger"),
	FILE_WRITE("files", "/proc/sys/vm/overcommit_memory"),
	FILE_WRITE("files", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
	FILE_WRITE("files", "/sys/fs/cgroup/memory.max"),
	FILE_READ("files", "/proc/kcore"),
	FILE_READ("files", "/proc/keys"),
	FILE_READ("files", "/proc/timer_list"),
	LIST("files", "/sys/firmware"),

	/* --- devices --- */
	DEVICE("/dev/sda"),
	DEVICE("/dev/vda"),
	DEVICE("/dev/nvme0n1"),
	DEVICE("/dev/mem"),
	DEVICE("/dev/kmsg"),
	DEVICE("/dev/kvm"),
	DEVICE("/dev/fuse"),
	DEVICE("/dev/net/tun"),
	{ "devices", "any other device", try_strange_device, NOT_SO, "", "/dev" },

	/* --- the gate --- */
	RESOLVE("an address of a host that no rule names", 1),
	RESOLVE("text from a host that no rule names", 16),
	{ "gate", "an address that belongs to no name", try_unasked, "ECONNREFUSED", "", "127.65.66.67", 0, 443 },

	/* --- the network --- */
	CONNECT("network", "metadata", "169.254.169.254", 80),
	CONNECT("network", "metadata", "fd00:ec2::254", 80),
	CONNECT("network", "metadata", "100.100.100.200", 80),
	CONNECT("network", "a private network", "10.0.0.1", 80),
	CONNECT("network", "a private network", "172.17.0.1", 22),
	CONNECT("network", "a private network", "192.168.1.1", 80),
	CONNECT("network", "a private network", "fd00::1", 80),
	GATEWAY("its ssh", 22),
	GATEWAY("its web server", 80),
	{ "sessions", "the next ones", try_neighbour, UNREACHED, "", NULL, 0, 1 },
	{ "sessions", "the ones before", try_neighbour, UNREACHED, "", NULL, 0, -1 },
};

const size_t probes_n = ARRAY_LEN(probes);
