#include "kernels/system/limits.h"

#include <fcntl.h>

#include "base/parse.h"

/* memory.stat, the longest of these files, is well below this. */
#define FILE_MAX 8192
/* cgroup v1 writes "no limit" as the largest multiple of a page. */
#define V1_NO_LIMIT (UINT64_C(1) << 62)
/* The process limit counts as reached if fewer than this many processes, or this share of a small limit, are left: a
 * kernel needs a few threads to start. */
#define PIDS_SPARE 8
#define PIDS_SPARE_SHARE 16

struct names {
	const char *oom, *peak, *stat, *pids, *cpu, *memory_limit, *pids_limit;
};

static const struct names v1 = {
	.oom = "memory/memory.oom_control",
	.peak = "memory/memory.max_usage_in_bytes",
	.stat = "memory/memory.stat",
	.pids = "pids/pids.current",
	.cpu = "cpuacct/cpuacct.usage",
	.memory_limit = "memory/memory.limit_in_bytes",
	.pids_limit = "pids/pids.max",
};

static const struct names v2 = {
	.oom = "memory.events",
	.peak = "memory.peak", /* since Linux 5.19 */
	.stat = "memory.stat",
	.pids = "pids.current",
	.cpu = "cpu.stat",
	.memory_limit = "memory.max",
	.pids_limit = "pids.max",
};

static int open_at(int root, const char *name)
{
	return root < 0 ? -1 : openat(root, name, O_RDONLY | O_CLOEXEC);
}

static bool read_text(int fd, char text[FILE_MAX])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, FILE_MAX - 1, 0);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

/* The whole file is one number; "max" and invalid text mean unknown. */
static uint64_t read_number(int fd)
{
	char text[FILE_MAX];
	uint64_t value;
	if (!read_text(fd, text))
		return LIMIT_UNKNOWN;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, &value) < 0 ? LIMIT_UNKNOWN : value;
}

/* The value in a line "key value" of the file. */
static uint64_t read_field(int fd, const char *key)
{
	char text[FILE_MAX];
	size_t key_len = strlen(key);
	if (!read_text(fd, text))
		return LIMIT_UNKNOWN;
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		uint64_t value;
		if (strncmp(line, key, key_len) == 0 && line[key_len] == ' ' &&
		    parse_u64(line + key_len + 1, &value) == 0)
			return value;
	}
	return LIMIT_UNKNOWN;
}

static uint64_t read_limit(int root, const char *name)
{
	AUTO(closep) int fd = open_at(root, name);
	uint64_t value = read_number(fd);
	return value >= V1_NO_LIMIT ? LIMIT_UNKNOWN : value;
}

void limits_open(struct limits *l, const char *root_path)
{
	AUTO(closep) int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct names *n = root >= 0 && faccessat(root, v2.oom, R_OK, 0) == 0 ? &v2 : &v1;
	*l = (struct limits){
		.oom_fd = open_at(root, n->oom),
		.peak_fd = open_at(root, n->peak),
		.stat_fd = open_at(root, n->stat),
		.pids_fd = open_at(root, n->pids),
		.cpu_fd = open_at(root, n->cpu),
		.cpu_is_v1 = n == &v1,
		.memory_limit = read_limit(root, n->memory_limit),
		.pids_limit = read_limit(root, n->pids_limit),
	};
}

void limits_close(struct limits *l)
{
	closep(&l->oom_fd);
	closep(&l->peak_fd);
	closep(&l->stat_fd);
	closep(&l->pids_fd);
	closep(&l->cpu_fd);
}

uint64_t limits_oom_kills(const struct limits *l)
{
	return read_field(l->oom_fd, "oom_kill");
}

uint64_t limits_memory_peak(const struct limits *l)
{
	return read_number(l->peak_fd);
}

uint64_t limits_memory_files(const struct limits *l)
{
	return read_field(l->stat_fd, "shmem");
}

uint64_t limits_memory_now(const struct limits *l)
{
	uint64_t files = limits_memory_files(l), anon = read_field(l->stat_fd, "anon");
	if (anon == LIMIT_UNKNOWN)
		anon = read_field(l->stat_fd, "rss"); /* version 1 */
	return anon == LIMIT_UNKNOWN || files == LIMIT_UNKNOWN ? LIMIT_UNKNOWN : anon + files;
}

uint64_t limits_pids(const struct limits *l)
{
	return read_number(l->pids_fd);
}

uint64_t limits_cpu_us(const struct limits *l)
{
	/* Version 1 counts nanoseconds. */
	uint64_t value = l->cpu_is_v1 ? read_number(l->cpu_fd) : read_field(l->cpu_fd, "usage_usec");
	return l->cpu_is_v1 && value != LIMIT_UNKNOWN ? value / 1000 : value;
}

bool limits_pids_full(const struct limits *l)
{
	return !limits_pids_left(l, MIN(l->pids_limit / PIDS_SPARE_SHARE, (uint64_t)PIDS_SPARE));
}

bool limits_pids_left(const struct limits *l, uint64_t n)
{
	uint64_t now = limits_pids(l);
	return now == LIMIT_UNKNOWN || l->pids_limit == LIMIT_UNKNOWN || now + n < l->pids_limit;
}
