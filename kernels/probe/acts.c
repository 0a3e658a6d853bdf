#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernels/probe/probe.h"

int try_call(const struct probe *p)
{
	return syscall(p->call, p->a, p->b, p->c, p->d, p->e, 0) < 0 ? errno : 0;
}

int try_open(const struct probe *p)
{
	AUTO(closep) int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? errno : 0;
}

/* A file that is hidden by an empty mount can be opened, but has no content. */
int try_read(const struct probe *p)
{
	char byte;
	AUTO(closep) int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	ssize_t n = read(fd, &byte, 1);
	return n < 0 ? errno : n == 0 ? NO_EFFECT : 0;
}

int try_write(const struct probe *p)
{
	AUTO(closep) int fd = open(p->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? errno : 0;
}

/* A directory that is hidden by an empty mount has no entries. */
int try_list(const struct probe *p)
{
	DIR *dir = opendir(p->path);
	bool any = false;
	if (!dir)
		return errno;
	for (struct dirent *e; !any && (e = readdir(dir));)
		any = !streq(e->d_name, ".") && !streq(e->d_name, "..");
	closedir(dir);
	return any ? 0 : NO_EFFECT;
}

/* The mode of an engine's socket decides who may connect, but in a session the socket must not exist at all. */
int try_there(const struct probe *p)
{
	struct stat st;
	return stat(p->path, &st) < 0 ? errno : 0;
}

int try_socket(const struct probe *p)
{
	AUTO(closep) int fd = socket((int)p->a, (int)p->b | SOCK_CLOEXEC, (int)p->c);
	return fd < 0 ? errno : 0;
}
