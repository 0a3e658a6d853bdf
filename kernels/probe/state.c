/* Checks from inside how the container was made. None of these is an attack: an act "works" if its protection is
 * missing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "kernels/probe/probe.h"
#include "kernels/protocol.h"

#define CGROUPS "/sys/fs/cgroup/"
/* cgroup v1 writes "no limit" as the largest multiple of a page. */
#define NO_LIMIT (UINT64_C(1) << 62)
#define GROUPS_MAX 1024

int try_user(const struct probe *p)
{
	uid_t real, effective, saved;
	if (getresuid(&real, &effective, &saved) < 0)
		return errno;
	return real == (uid_t)p->a || effective == (uid_t)p->a || saved == (uid_t)p->a ? 0 : NO_EFFECT;
}

int try_group(const struct probe *p)
{
	gid_t groups[GROUPS_MAX];
	int n = getgroups(GROUPS_MAX, groups);
	bool found = getgid() == (gid_t)p->a || getegid() == (gid_t)p->a;
	if (n < 0)
		return errno;
	for (int i = 0; i < n; i++)
		found = found || groups[i] == (gid_t)p->a;
	return found ? 0 : NO_EFFECT;
}

int try_capability(const struct probe *p)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	int bounding = prctl(PR_CAPBSET_READ, p->a, 0, 0, 0);
	if (bounding < 0 || syscall(SYS_capget, &header, sets) < 0)
		return errno;
	const struct __user_cap_data_struct *half = &sets[CAP_TO_INDEX(p->a)];
	return bounding || ((half->permitted | half->effective | half->inheritable) & CAP_TO_MASK(p->a)) ? 0 :
													   NO_EFFECT;
}

int try_flag(const struct probe *p)
{
	int answer = prctl((int)p->a, 0, 0, 0, 0);
	return answer < 0 ? errno : answer == 0 ? 0 : NO_EFFECT;
}

/* Before Linux 6.18 the first network namespace has no fixed number, but it has a file that the others lack. */
int try_namespace(const struct probe *p)
{
	char path[64], text[64] = "", first[64];
	snprintf(path, sizeof(path), "/proc/self/ns/%s", p->path);
	snprintf(first, sizeof(first), "%s:[%ld]", p->path, p->a);
	if (readlink(path, text, sizeof(text) - 1) < 0)
		return errno;
	if (streq(p->path, "net") && access("/proc/sys/net/ipv4/tcp_mem", F_OK) == 0)
		return 0;
	return streq(text, first) ? 0 : NO_EFFECT;
}

int try_unflagged(const struct probe *p)
{
	struct statvfs st;
	if (statvfs(p->path, &st) < 0)
		return errno;
	return st.f_flag & (unsigned long)p->a ? NO_EFFECT : 0;
}

static bool is_among(const char *word, const char *const *words)
{
	while (*words && !streq(word, *words))
		words++;
	return *words;
}

/* True for mounts that the engine makes by itself, and for those that Husk requests. */
static bool is_expected(const char *point, const char *type)
{
	static const char *const points[] = { "/",
					      "/etc/hosts",
					      "/etc/hostname",
					      "/etc/resolv.conf",
					      "/home",
					      "/home/sandbox",
					      "/opt/husk/ca-certificates.crt",
					      "/run/.containerenv",
					      "/tmp",
					      "/workspace",
					      LINE_FOLDER,
					      NULL };
	static const char *const types[] = { "proc", "sysfs", "tmpfs", "cgroup", "cgroup2", "devpts", "mqueue", NULL };
	bool virtual = strncmp(point, "/proc", 5) == 0 || strncmp(point, "/sys", 4) == 0 ||
		       strncmp(point, "/dev", 4) == 0;
	return is_among(point, points) || (virtual && is_among(type, types));
}

/* A line is "id parent device root point options… - type source options". */
int try_strange_mount(const struct probe *p)
{
	char *line = NULL;
	size_t size = 0;
	bool strange = false;
	FILE *table = fopen("/proc/self/mountinfo", "re");
	if (!table)
		return errno;
	while (!strange && getline(&line, &size, table) > 0) {
		char *rest = line, *point = NULL, *type = strstr(line, " - ");
		for (int i = 0; i < 5; i++)
			point = strsep(&rest, " ");
		if (type)
			type[3 + strcspn(type + 3, " ")] = '\0';
		strange = !point || !type || !is_expected(point, type + 3);
	}
	free(line);
	fclose(table);
	return strange ? 0 : NO_EFFECT;
}

static bool is_strange_device(int folder, const char *name)
{
	static const unsigned harmless[][2] = { { 1, 3 }, { 1, 5 }, { 1, 7 }, { 1, 8 },
						{ 1, 9 }, { 5, 0 }, { 5, 1 }, { 5, 2 } };
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return false;
	bool known = S_ISCHR(st.st_mode) && major(st.st_rdev) >= 136 && major(st.st_rdev) <= 143; /* terminals */
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		known = known || (S_ISCHR(st.st_mode) && major(st.st_rdev) == harmless[i][0] &&
				  minor(st.st_rdev) == harmless[i][1]);
	return !known;
}

/* Recognizes a device by its number, whatever its name. Folders below /dev are not searched, since the engine creates
 * only harmless devices there. */
int try_strange_device(const struct probe *p)
{
	DIR *dir = opendir(p->path);
	bool strange = false;
	if (!dir)
		return errno;
	for (struct dirent *e; !strange && (e = readdir(dir));)
		strange = is_strange_device(dirfd(dir), e->d_name);
	closedir(dir);
	return strange ? 0 : NO_EFFECT;
}

/* The first line of a cgroup's file, "" if there is no such file. */
static void read_line(const char *name, char line[128])
{
	char path[256];
	snprintf(path, sizeof(path), CGROUPS "%s", name);
	line[0] = '\0';
	FILE *file = fopen(path, "re");
	if (!file || !fgets(line, 128, file))
		line[0] = '\0';
	if (file)
		fclose(file);
}

static bool is_unlimited(const char *line)
{
	return strncmp(line, "max", 3) == 0 || line[0] == '-' || strtoull(line, NULL, 10) >= NO_LIMIT;
}

int try_unlimited(const struct probe *p)
{
	char names[128], line[128];
	snprintf(names, sizeof(names), "%s", p->path);
	for (char *rest = names, *name; (name = strsep(&rest, " "));) {
		read_line(name, line);
		if (line[0])
			return is_unlimited(line) ? 0 : NO_EFFECT;
	}
	return ENOENT;
}

/* If the Linux kernel does not count swap, there must not be any swap. */
int try_swap(const struct probe *p)
{
	char both[128], memory[128], swap[128];
	int lines = 0;
	read_line("memory/memory.memsw.limit_in_bytes", both);
	read_line("memory/memory.limit_in_bytes", memory);
	read_line("memory.swap.max", swap);
	if (both[0] && memory[0])
		return strtoull(both, NULL, 10) > strtoull(memory, NULL, 10) || is_unlimited(both) ? 0 : NO_EFFECT;
	if (swap[0])
		return strtoull(swap, NULL, 10) || is_unlimited(swap) ? 0 : NO_EFFECT;
	FILE *areas = fopen("/proc/swaps", "re");
	if (!areas)
		return errno;
	for (char line[256]; fgets(line, sizeof(line), areas);)
		lines++;
	fclose(areas);
	return lines > 1 ? ENOENT : NO_EFFECT;
}

int try_rlimit(const struct probe *p)
{
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)p->a, &limit) < 0)
		return errno;
	return limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)p->b ? 0 : NO_EFFECT;
}

/* In the machine's own namespace, the threads of the Linux kernel would be visible. */
int try_host_processes(const struct probe *p)
{
	char name[64] = "";
	AUTO(closep) int fd = open("/proc/2/comm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	ssize_t n = read(fd, name, sizeof(name) - 1);
	return n > 0 && strncmp(name, "kthreadd", 8) == 0 ? 0 : NO_EFFECT;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "PPid: %d", &parent) != 1)
		continue;
	if (file)
		fclose(file);
	return parent;
}

static bool is_ancestor(pid_t pid)
{
	pid_t at = getpid();
	while (at > 1 && at != pid)
		at = parent_of(at);
	return at == pid;
}

/* PID 1 starts the interpreter and each command. Any of these that is not an ancestor of this process must be
 * inaccessible. */
int try_interpreter(const struct probe *p)
{
	DIR *dir = opendir("/proc");
	int result = ESRCH;
	if (!dir)
		return errno;
	for (struct dirent *e; result && (e = readdir(dir));) {
		char path[64];
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid <= 1 || parent_of(pid) != 1 || is_ancestor(pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
		/* A process that has just ended proves nothing. */
		if (fd >= 0 || (errno != ENOENT && errno != ESRCH))
			result = fd < 0 ? errno : 0;
	}
	closedir(dir);
	return result;
}
