#include "kernels/cells/tcp-owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The inode of the socket at address `there` that is connected to `here`; 0 = none. */
static unsigned long long inode_of(const struct sockaddr_in *there, const struct sockaddr_in *here)
{
	AUTO(fclosep) FILE *f = fopen("/proc/net/tcp", "re");
	char line[512];
	while (f && fgets(line, sizeof(line), f)) {
		unsigned local, local_port, remote, remote_port;
		unsigned long long inode;
		if (sscanf(line, " %*d: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %*u %*d %llu", &local, &local_port,
			   &remote, &remote_port, &inode) != 5)
			continue;
		/* The file shows addresses as they are in memory and ports in host order. */
		if (local == there->sin_addr.s_addr && local_port == ntohs(there->sin_port) &&
		    remote == here->sin_addr.s_addr && remote_port == ntohs(here->sin_port))
			return inode;
	}
	return 0;
}

static bool has_socket(pid_t pid, unsigned long long inode)
{
	char path[64], want[64], target[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	snprintf(want, sizeof(want), "socket:[%llu]", inode);
	AUTO(closedirp) DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (streq(target, want))
			return true;
	}
	return false;
}

bool tcp_belongs_to(int fd, pid_t pid)
{
	struct sockaddr_in here = { 0 }, there = { 0 };
	socklen_t here_len = sizeof(here), there_len = sizeof(there);
	if (getsockname(fd, (struct sockaddr *)&here, &here_len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &there_len) < 0 || there.sin_family != AF_INET)
		return false;
	unsigned long long inode = inode_of(&there, &here);
	return inode && has_socket(pid, inode);
}
