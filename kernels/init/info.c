#include "kernels/init/info.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/statvfs.h>

#include "kernels/guard/landlock.h"
#include "kernels/guard/spawn.h"
#include "kernels/protocol.h"

static void add_disk(json_t *disks, const char *path, uint64_t used, uint64_t size)
{
	json_array_append_new(disks, json_pack("{s:s, s:I, s:I}", "path", path, "used", (json_int_t)used, "size",
					       (json_int_t)size));
}

static void add_tmpfs(json_t *disks, const char *path)
{
	struct statvfs fs;
	if (statvfs(path, &fs) < 0)
		return;
	uint64_t size = (uint64_t)fs.f_blocks * fs.f_frsize, left = (uint64_t)fs.f_bfree * fs.f_frsize;
	add_disk(disks, path, size - MIN(size, left), size);
}

static void set_bytes(json_t *o, const char *name, uint64_t value)
{
	if (value != LIMIT_UNKNOWN)
		json_object_set_new(o, name, json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX)));
}

/* Counts pseudo-terminals. Each container has a folder of its own, but the machine's limit counts those of all
 * containers. */
static json_int_t count_ptys(const char *folder)
{
	json_int_t n = 0;
	DIR *dir = opendir(folder);
	for (struct dirent *e; dir && (e = readdir(dir));)
		n += isdigit((unsigned char)*e->d_name) != 0;
	if (dir)
		closedir(dir);
	return n;
}

void info_add_figures(json_t *info, const struct disk *home, const struct limits *limits)
{
	json_t *disks = json_array();
	add_tmpfs(disks, SPAWN_WORKSPACE);
	add_tmpfs(disks, "/tmp");
	if (home->n) /* `used` is from the last count */
		add_disk(disks, "/home/sandbox", home->used, home->volumes[0].limit);
	json_object_set_new(info, "disks", disks);
	json_object_set_new(info, "ptys", json_integer(count_ptys("/dev/pts") + count_ptys(TERMINALS_PATH)));
	json_object_set_new(info, "landlock", json_integer(landlock_version()));
	set_bytes(info, "memory", limits_memory_now(limits));
	set_bytes(info, "memory_limit", limits->memory_limit);
	set_bytes(info, "cpu_us", limits_cpu_us(limits));
}
