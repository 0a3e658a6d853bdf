#include "kernels/system/rlimits.h"

#include <errno.h>
#include <sys/resource.h>

#include "kernels/protocol.h"

static int lower(int resource, uint64_t to)
{
	struct rlimit limit;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -errno;
	limit.rlim_max = MIN(limit.rlim_max, (rlim_t)to);
	limit.rlim_cur = limit.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? -errno : 0;
}

int rlimits_set(uint64_t pids, uint64_t file_size)
{
	if (!pids && !file_size)
		return 0;
	int r = lower(RLIMIT_NOFILE, NOFILE_LIMIT);
	if (r == 0)
		r = lower(RLIMIT_CORE, CORE_LIMIT);
	if (r == 0 && pids)
		r = lower(RLIMIT_NPROC, pids);
	if (r == 0 && file_size)
		r = lower(RLIMIT_FSIZE, file_size);
	return r;
}
