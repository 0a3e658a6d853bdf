#include "kernels/packages/install.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/disk/usage.h"
#include "kernels/system/frames.h"

#define REPORT_MAX (256u << 10)
static uint64_t size_of(const char *path)
{
	AUTO(freep) struct usage_walk *walk = new0(struct usage_walk);
	if (usage_begin(walk, path) < 0)
		return 0;
	while (usage_step(walk, INT_MAX))
		continue;
	return walk->sum.bytes;
}

static int open_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	mode_t readable = S_IRUSR | S_IRGRP | S_IROTH, mode = (st->st_mode & 0777) | readable;
	if (flag == FTW_SL || flag == FTW_SLN || flag == FTW_NS)
		return 0;
	if (S_ISDIR(st->st_mode))
		mode |= 0111;
	else if (st->st_mode & S_IXUSR)
		mode |= 0111;
	if (mode != (st->st_mode & 07777))
		(void)chmod(path, mode);
	return 0;
}

void install_open(void)
{
	(void)nftw(DEPENDENCIES_PATH, open_one, 64, FTW_PHYS | FTW_MOUNT);
}

void install_report(struct run *run, int fd)
{
	AUTO(freep) char *data = xmalloc(REPORT_MAX);
	ssize_t n = pread(fd, data, REPORT_MAX, 0);
	json_auto_t *report = n > 0 ? json_loadb(data, (size_t)n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json_is_object(report))
		return;
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *result = json_pack("{s:{s:{s:O, s:I}}}", "data", "application/json", "versions", report, "size",
					(json_int_t)size_of(DEPENDENCIES_PATH));
	if (result && json_append(&text, result) == 0)
		run_structured(run, FRAME_RESULT, text.data, text.len);
}
