#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/parse.h"

int proc_parse_stat(const char *text, struct proc_stat *ret)
{
	/* The process chooses the name in parentheses, which may contain anything. */
	const char *end = strrchr(text, ')');
	struct proc_stat s;
	unsigned long long start;
	if (!end || sscanf(end + 1, " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			   &s.state, &s.parent, &s.group, &s.session, &start) != 5)
		return -EINVAL;
	s.start = start;
	*ret = s;
	return 0;
}

int proc_stat(pid_t pid, struct proc_stat *ret)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return proc_parse_stat(text, ret);
}

unsigned proc_each(unsigned (*on)(pid_t pid, void *ctx), void *ctx)
{
	DIR *dir = opendir("/proc");
	unsigned sum = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		uint64_t pid;
		if (parse_u64(e->d_name, &pid) == 0 && pid <= INT_MAX)
			sum += on((pid_t)pid, ctx);
	}
	closedir(dir);
	return sum;
}

static bool find_kilobytes(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);
	unsigned long long kilobytes;
	if (!at || sscanf(at + strlen(name), " %llu kB", &kilobytes) != 1 || kilobytes > UINT64_MAX / 1024)
		return false;
	*ret = kilobytes * 1024;
	return true;
}

int proc_parse_memory(const char *text, struct proc_memory *ret)
{
	struct proc_memory m;
	if (!find_kilobytes(text, "MemTotal:", &m.total) || !find_kilobytes(text, "MemAvailable:", &m.available))
		return -EINVAL;
	*ret = m;
	return 0;
}

int proc_memory(const char *path, struct proc_memory *ret)
{
	char text[4096];
	AUTO(closep) int fd = open(path ? path : "/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return proc_parse_memory(text, ret);
}

bool proc_boot_id(char ret[PROC_BOOT_ID_SIZE])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(ret, PROC_BOOT_ID_SIZE, file))
		ret[0] = '\0';
	if (file)
		fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
	return ret[0] != '\0';
}
