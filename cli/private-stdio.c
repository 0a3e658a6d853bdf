#include "cli/private-stdio.h"

#include <errno.h>
#include <fcntl.h>

#include "base/defs.h"

int stdio_fill_gaps(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		int null = open("/dev/null", O_RDWR);
		if (null < 0)
			return -errno;
		if (null != fd)
			closep(&null);
	}
	return 0;
}

int private_stdio(int *ret_in, int *ret_out)
{
	int r = stdio_fill_gaps();
	if (r < 0)
		return r;
	AUTO(closep) int in = fcntl(0, F_DUPFD_CLOEXEC, 3);
	AUTO(closep) int out = fcntl(1, F_DUPFD_CLOEXEC, 3);
	AUTO(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0 || out < 0 || null < 0)
		return -errno;
	if (dup2(null, 0) < 0 || dup2(2, 1) < 0)
		return -errno;
	*ret_in = take_fd(in);
	*ret_out = take_fd(out);
	return 0;
}
