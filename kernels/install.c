#include "kernels/install.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/frames.h"

#define REPORT_MAX (256u << 10)
/* Deeper trees than any package has are not followed; a name is at most 255 bytes, so the stack is small. */
#define DEPTH_MAX 64

static uint64_t size_below(int parent, const char *name, uint64_t enough, int depth);

static uint64_t entry_size(int dir, const struct dirent *e, uint64_t enough, int depth)
{
	struct stat st;
	if (streq(e->d_name, ".") || streq(e->d_name, "..") || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	uint64_t size = (uint64_t)st.st_blocks * 512;
	if (S_ISDIR(st.st_mode) && size <= enough)
		size += size_below(dir, e->d_name, enough - size, depth);
	return size;
}

/* Names may vanish while we look; what is not there takes no room. */
static uint64_t size_below(int parent, const char *name, uint64_t enough, int depth)
{
	int fd = depth < DEPTH_MAX ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t size = 0;
	if (!dir) {
		closep(&fd);
		return 0;
	}
	for (struct dirent *e; size <= enough && (e = readdir(dir));)
		size += entry_size(fd, e, enough - size, depth + 1);
	closedir(dir);
	return size;
}

bool install_is_large(uint64_t limit)
{
	return size_below(AT_FDCWD, DEPENDENCIES_PATH, limit, 0) > limit ||
	       size_below(AT_FDCWD, "/tmp", 2 * limit, 0) > 2 * limit;
}

void install_report(struct job *job, int fd)
{
	AUTO(freep) char *data = xmalloc(REPORT_MAX);
	ssize_t n = pread(fd, data, REPORT_MAX, 0);
	json_auto_t *report = n > 0 ? json_loadb(data, (size_t)n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json_is_object(report))
		return;
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *result = json_pack("{s:{s:{s:O, s:I}}}", "data", "application/json", "versions", report, "size",
					(json_int_t)size_below(AT_FDCWD, DEPENDENCIES_PATH, INT64_MAX, 0));
	if (result && json_append(&text, result) == 0)
		job_structured(job, FRAME_RESULT, text.data, text.len);
}
