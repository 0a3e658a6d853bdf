#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "kernels/probe/probe.h"

/* Creates a file without write permission, to see whether its content can be changed anyway. Returns a descriptor, or
 * -1. */
static int make_scratch(char *path, size_t n)
{
	snprintf(path, n, "/tmp/.husk-probe-XXXXXX");
	int fd = mkstemp(path);
	if (fd < 0 || write(fd, "AAAA", 4) != 4 || fchmod(fd, 0400) < 0)
		return -1;
	close(fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_changed(int fd)
{
	char now[4] = "";
	return pread(fd, now, 4, 0) != 4 || memcmp(now, "AAAA", 4) != 0;
}

/* A successful act is undone at once: the container may have other processes. */
static int try_remount(void)
{
	struct statvfs st;
	if (statvfs("/", &st) < 0)
		return errno;
	if (mount("none", "/", NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
		return errno;
	if (st.f_flag & ST_RDONLY)
		mount("none", "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
	return 0;
}

int try_mount(const struct probe *p)
{
	if (p->a)
		return try_remount();
	if (mount(p->path, "/tmp", p->path, 0, NULL) < 0)
		return errno;
	umount2("/tmp", MNT_DETACH);
	return 0;
}

int try_mknod(const struct probe *p)
{
	if (mknod(p->path, S_IFBLK | 0600, makedev(8, 0)) < 0)
		return errno;
	unlink(p->path);
	return 0;
}

int try_setns(const struct probe *p)
{
	AUTO(closep) int fd = open(p->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, 0) < 0 ? errno : 0;
}

/* CVE-2022-0492 and earlier: the release agent of some cgroup hierarchy can be set. */
int try_release_agent(const struct probe *p)
{
	DIR *dir = opendir(p->path);
	int error = dir ? ENOENT : errno;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char path[512];
		snprintf(path, sizeof(path), "%s/%s/release_agent", p->path, e->d_name);
		AUTO(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			closedir(dir);
			return 0;
		}
		error = errno;
	}
	if (dir)
		closedir(dir);
	return error;
}

/* CVE-2024-21626: a directory of the host that the runtime left open. */
int try_leaked_directory(const struct probe *p)
{
	struct stat st, root;
	if (stat("/", &root) < 0)
		return errno;
	for (int fd = 3; fd < 1024; fd++)
		if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_dev != root.st_dev)
			return 0;
	return EBADF;
}

/* Opens a file by its number on the disk, bypassing every directory (Shocker). */
int try_handle(const struct probe *p)
{
	struct {
		struct file_handle head;
		uint64_t inode;
	} root = { .head = { .handle_bytes = 8, .handle_type = 1 }, .inode = 2 };
	AUTO(closep) int base = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
	AUTO(closep) int fd = open_by_handle_at(base, &root.head, O_RDONLY);
	return fd < 0 ? errno : 0;
}

/* CVE-2022-0847: data written into a pipe changes the page of a file that was spliced into it. */
int try_dirty_pipe(const struct probe *p)
{
	char path[64], full[4096] = { 0 };
	int ends[2];
	off_t from = 0;
	AUTO(closep) int fd = make_scratch(path, sizeof(path));
	if (fd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return NOT_TRIED;
	while (write(ends[1], full, sizeof(full)) > 0)
		continue;
	while (read(ends[0], full, sizeof(full)) > 0)
		continue;
	bool done = splice(fd, &from, ends[1], NULL, 1, 0) == 1 && write(ends[1], "B", 1) == 1;
	int error = done ? 0 : errno;
	bool changed = is_changed(fd);
	unlink(path);
	return changed ? 0 : done ? NO_EFFECT : error;
}

/* An exploit of CVE-2016-5195 must win a race. Without a race the same steps must fail: changes to a private copy never
 * reach the file. */
int try_dirty_cow(const struct probe *p)
{
	char path[64];
	AUTO(closep) int fd = make_scratch(path, sizeof(path));
	if (fd < 0)
		return NOT_TRIED;
	AUTO(closep) int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (memory < 0) {
		int error = errno;
		unlink(path);
		return error;
	}
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return errno;
	int error = 0;
	for (int i = 0; i < 1000 && !error && !is_changed(fd); i++) {
		if (pwrite(memory, "B", 1, (off_t)(uintptr_t)page) < 0)
			error = errno;
		madvise(page, 4096, MADV_DONTNEED);
	}
	bool changed = is_changed(fd);
	unlink(path);
	return changed ? 0 : error ? error : NO_EFFECT;
}

int try_root(const struct probe *p)
{
	return setresuid(0, 0, 0) < 0 ? errno : 0;
}

/* Tries each capability alone: a request for all of them fails if a single one is refused. */
int try_capabilities(const struct probe *p)
{
	int error = EPERM;
	for (int cap = 0; error && cap <= CAP_LAST_CAP; cap++) {
		struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct sets[2] = { 0 };
		sets[CAP_TO_INDEX(cap)].permitted = sets[CAP_TO_INDEX(cap)].effective = CAP_TO_MASK(cap);
		error = syscall(SYS_capset, &header, sets) < 0 ? errno : 0;
	}
	return error;
}

/* 32-bit system calls reach the same Linux kernel, but their numbers have other meanings. */
int try_foreign_call(const struct probe *p)
{
#if defined(__x86_64__)
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); /* getpid */
	return result < 0 ? (int)-result : 0;
#else
	return NOT_TRIED;
#endif
}

/* Programs do not need kcmp, and only the engine's profile rejects it: so this shows that there is a profile. */
int try_kcmp(const struct probe *p)
{
	return syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) < 0 ? errno : 0;
}

/* Disk blocks that are allocated without being written would not be counted. */
int try_fallocate(const struct probe *p)
{
	AUTO(closep) int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return NOT_TRIED;
	return fallocate(fd, 0, 0, 4096) < 0 ? errno : 0;
}
