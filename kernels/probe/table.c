/* Everything that must not work. The first group follows the eighteen published ways out of a container (SECURITY.md has them one
 * by one); the others are what a session is promised beyond that. */
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernels/probe/probe.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

#define CALL(group, name, number, ...)                                                                                 \
	{                                                                                                              \
		group, name, try_call, NULL, number, __VA_ARGS__                                                       \
	}
#define FILE_READ(group, path)                                                                                         \
	{                                                                                                              \
		group, "read " path, try_read, path                                                                    \
	}
#define FILE_WRITE(group, path)                                                                                        \
	{                                                                                                              \
		group, "write " path, try_write, path                                                                  \
	}
#define LIST(group, path)                                                                                              \
	{                                                                                                              \
		group, "list " path, try_list, path                                                                    \
	}
#define UNIX(path)                                                                                                     \
	{                                                                                                              \
		"escape", "engine's socket " path, try_unix, path                                                      \
	}
#define CONNECT(name, address, port)                                                                                   \
	{                                                                                                              \
		"network", name " " address, try_connect, address, 0, port                                             \
	}
#define GATEWAY(name, port)                                                                                            \
	{                                                                                                              \
		"host", name, try_gateway, NULL, 0, port                                                               \
	}
#define SOCKET(name, family, type, protocol)                                                                           \
	{                                                                                                              \
		"calls", name, try_socket, NULL, 0, family, type, protocol                                             \
	}

#define FD_NONE (-1L)

const struct probe probes[] = {
	/* --- escapes --- */
	UNIX("/var/run/docker.sock"),
	UNIX("/run/containerd/containerd.sock"),
	UNIX("/run/podman/podman.sock"),
	UNIX("/var/run/crio/crio.sock"),
	GATEWAY("Docker's API over TCP", 2375),
	GATEWAY("a kubelet", 10250),
	{ "escape", "Kubernetes' API", try_connect, "10.96.0.1", 0, 443 },
	FILE_READ("escape", "/var/run/secrets/kubernetes.io/serviceaccount/token"),
	{ "escape", "mount proc", try_mount, "proc" },
	{ "escape", "mount cgroup", try_mount, "cgroup" },
	{ "escape", "mount tmpfs", try_mount, "tmpfs" },
	{ "escape", "make / writable", try_mount, "none", 0, 1 },
	{ "escape", "make a disk's device file", try_mknod, "/tmp/.husk-probe-disk" },
	{ "escape", "set a cgroup's release agent", try_release_agent, "/sys/fs/cgroup" },
	FILE_WRITE("escape", "/proc/sys/kernel/core_pattern"),
	FILE_WRITE("escape", "/proc/sys/kernel/modprobe"),
	FILE_WRITE("escape", "/sys/kernel/uevent_helper"),
	FILE_WRITE("escape", "/proc/sys/fs/binfmt_misc/register"),
	CALL("escape", "load a kernel module", SYS_init_module, 0, 0, 0),
	CALL("escape", "load a kernel module from a file", SYS_finit_module, FD_NONE, 0, 0),
	{ "escape", "open a file of the host by its handle", try_handle },
	{ "escape", "a directory of the host left open", try_leaked_directory },
	FILE_WRITE("escape", "/proc/1/exe"),
	LIST("escape", "/proc/1/root"),
	{ "escape", "enter PID 1's mount namespace", try_setns, "/proc/1/ns/mnt" },
	{ "escape", "see the host's processes", try_host_processes },
	CALL("escape", "a user namespace", SYS_unshare, CLONE_NEWUSER),
	CALL("escape", "a mount namespace", SYS_unshare, CLONE_NEWNS),
	CALL("escape", "a network namespace", SYS_unshare, CLONE_NEWNET),
	CALL("escape", "a cgroup namespace", SYS_unshare, CLONE_NEWCGROUP),
	{ "escape", "write to a file that is only readable (Dirty Pipe)", try_dirty_pipe },
	{ "escape", "write to a private copy's file (Dirty COW)", try_dirty_cow },
	{ "escape", "become root", try_root },
	{ "escape", "raise capabilities", try_capabilities },
	CALL("escape", "chroot", SYS_chroot, (long)"/"),
	CALL("escape", "pivot_root", SYS_pivot_root, (long)"/", (long)"/"),

	/* --- system calls --- */
	CALL("calls", "io_uring_setup", SYS_io_uring_setup, 1, 0),
	CALL("calls", "io_setup", SYS_io_setup, 1, 0),
	CALL("calls", "userfaultfd", SYS_userfaultfd, 0),
	CALL("calls", "memfd_secret", SYS_memfd_secret, 0),
	CALL("calls", "keyctl", SYS_keyctl, 0, -3, 0),
	CALL("calls", "add_key", SYS_add_key, (long)"user", (long)"x", (long)"x", 1),
	CALL("calls", "request_key", SYS_request_key, (long)"user", (long)"x", 0, 0),
	CALL("calls", "bpf", SYS_bpf, 0, 0, 0),
	CALL("calls", "perf_event_open", SYS_perf_event_open, 0, 0, FD_NONE, FD_NONE),
	CALL("calls", "personality without random addresses", SYS_personality, ADDR_NO_RANDOMIZE),
	CALL("calls", "kexec_load", SYS_kexec_load, 0, 0, 0, 0),
	CALL("calls", "reboot", SYS_reboot, 0xfee1dead, 672274793, 0),
	CALL("calls", "swapon", SYS_swapon, (long)"/tmp", 0),
	CALL("calls", "settimeofday", SYS_settimeofday, 0, (long)"\0\0\0\0\0\0\0\0"),
	CALL("calls", "sethostname", SYS_sethostname, (long)"x", 1),
	CALL("calls", "acct", SYS_acct, 0),
	CALL("calls", "syslog", SYS_syslog, 3, (long)"", 0),
	CALL("calls", "fsopen", SYS_fsopen, (long)"tmpfs", 0),
	CALL("calls", "open_tree of a copy", SYS_open_tree, -100, (long)"/", 1),
	CALL("calls", "fanotify_init", SYS_fanotify_init, 0, 0),
	CALL("calls", "quotactl", SYS_quotactl, 0, 0, 0, 0),
#if defined(__x86_64__)
	CALL("calls", "iopl", SYS_iopl, 3),
	CALL("calls", "ioperm", SYS_ioperm, 0, 1, 1),
#endif
	{ "calls", "a 32-bit call", try_foreign_call },
	SOCKET("packet socket", AF_PACKET, SOCK_RAW, 0),
	SOCKET("raw socket", AF_INET, SOCK_RAW, 1),
	SOCKET("vsock", AF_VSOCK, SOCK_STREAM, 0),
	SOCKET("kernel crypto socket", AF_ALG, SOCK_SEQPACKET, 0),
	SOCKET("key socket", AF_KEY, SOCK_RAW, 2),
	SOCKET("bluetooth", AF_BLUETOOTH, SOCK_RAW, 1),
	SOCKET("firewall's netlink", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
	SOCKET("audit's netlink", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),

	/* --- PID 1 --- */
	CALL("pid 1", "kill", SYS_kill, 1, 0),
	CALL("pid 1", "tgkill", SYS_tgkill, 1, 1, 0),
	CALL("pid 1", "pidfd_open", SYS_pidfd_open, 1, 0),
	CALL("pid 1", "prlimit", SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 0),
	CALL("pid 1", "sched_setscheduler", SYS_sched_setscheduler, 1, SCHED_IDLE, (long)"\0\0\0\0"),
	CALL("pid 1", "sched_setaffinity", SYS_sched_setaffinity, 1, 8, (long)"\1\0\0\0\0\0\0\0"),
	CALL("pid 1", "setpriority", SYS_setpriority, PRIO_PROCESS, 1, 19),
	CALL("pid 1", "setpriority of its user", SYS_setpriority, PRIO_USER, 0, 19),
	CALL("pid 1", "ioprio_set", SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1, 0x6007),
	CALL("pid 1", "ptrace", SYS_ptrace, PTRACE_SEIZE, 1, 0, 0),
	CALL("pid 1", "process_vm_readv", SYS_process_vm_readv, 1, 0, 0, 0),
	FILE_READ("pid 1", "/proc/1/mem"),
	FILE_READ("pid 1", "/proc/1/environ"),
	FILE_WRITE("pid 1", "/proc/1/oom_score_adj"),
	LIST("pid 1", "/proc/1/fd"),
	FILE_WRITE("pid 1", "/opt/husk/husk-client"),

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
	FILE_READ("devices", "/dev/sda"),
	FILE_READ("devices", "/dev/vda"),
	FILE_READ("devices", "/dev/nvme0n1"),
	FILE_READ("devices", "/dev/mem"),
	FILE_READ("devices", "/dev/kmsg"),
	FILE_WRITE("devices", "/dev/kvm"),
	FILE_WRITE("devices", "/dev/fuse"),
	FILE_WRITE("devices", "/dev/net/tun"),

	/* --- the network --- */
	CONNECT("metadata", "169.254.169.254", 80),
	CONNECT("metadata", "fd00:ec2::254", 80),
	CONNECT("metadata", "100.100.100.200", 80),
	CONNECT("a private network", "10.0.0.1", 80),
	CONNECT("a private network", "172.17.0.1", 22),
	CONNECT("a private network", "192.168.1.1", 80),
	CONNECT("a private network", "fd00::1", 80),
	GATEWAY("its ssh", 22),
	GATEWAY("its web server", 80),
	{ "sessions", "the next one", try_gateway, NULL, 0, 1, 1 },
	{ "sessions", "the one before", try_gateway, NULL, 0, 1, -1 },
};

const size_t probes_n = ARRAY_LEN(probes);
