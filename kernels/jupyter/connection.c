#include "kernels/jupyter/connection.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/frames.h"

#define FILE_NAME "connection.json"
#define SOCKET_NAME "kernel"

static const char *const port_names[CHANNELS] = {
	[CHANNEL_SHELL] = "shell_port",	    [CHANNEL_IOPUB] = "iopub_port",  [CHANNEL_STDIN] = "stdin_port",
	[CHANNEL_CONTROL] = "control_port", [CHANNEL_HEARTBEAT] = "hb_port",
};

/* Ports that nobody listens on, all of them held until the last is known. The kernel binds them a moment later. */
static int choose_ports(int ports[CHANNELS])
{
	int fds[CHANNELS], r = 0;
	for (int i = 0; i < CHANNELS; i++) {
		struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t n = sizeof(sa);
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 || bind(fds[i], (struct sockaddr *)&sa, n) < 0 ||
		    getsockname(fds[i], (struct sockaddr *)&sa, &n) < 0)
			r = -errno;
		ports[i] = ntohs(sa.sin_port);
	}
	for (int i = 0; i < CHANNELS; i++)
		closep(&fds[i]);
	return r;
}

static int write_file(const char *path, const json_t *content)
{
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (json_append(&text, content) < 0)
		return -ENOMEM;
	for (size_t done = 0; done < text.len;) {
		ssize_t n = write(fd, text.data + done, text.len - done);
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int connection_make(struct connection *ret, const char *parent, bool tcp, const struct sender_id *id,
		    const char *kernel_name, struct fail *f)
{
	int ports[CHANNELS] = { 1, 2, 3, 4, 5 }; /* of ipc: what the socket's name ends in */
	*ret = (struct connection){ .folder = xasprintf("%s/husk-jupyter-XXXXXX", parent) };
	if (!mkdtemp(ret->folder)) {
		fail_set(f, FAIL_INVALID, "cannot make a folder in '%s': %m", parent);
		free(take_ptr(ret->folder));
		return -1;
	}
	ret->file = xasprintf("%s/" FILE_NAME, ret->folder);
	AUTO(freep) char *ip = tcp ? xstrdup("127.0.0.1") : xasprintf("%s/" SOCKET_NAME, ret->folder);
	if (tcp && choose_ports(ports) < 0)
		return fail_set(f, FAIL_INVALID, "cannot find free ports on 127.0.0.1");
	json_auto_t *content = json_pack("{s:s, s:s, s:s, s:s, s:s}", "transport", tcp ? "tcp" : "ipc", "ip", ip, "key",
					 id->key, "signature_scheme", "hmac-sha256", "kernel_name", kernel_name);
	for (int i = 0; i < CHANNELS; i++) {
		ret->endpoints[i] =
			tcp ? xasprintf("tcp://%s:%d", ip, ports[i]) : xasprintf("ipc://%s-%d", ip, ports[i]);
		json_object_set_new(content, port_names[i], json_integer(ports[i]));
	}
	int r = write_file(ret->file, content);
	if (r < 0)
		return fail_set(f, FAIL_INVALID, "cannot write '%s': %s", ret->file, strerror(-r));
	return 0;
}

void connection_release(struct connection *c)
{
	DIR *folder = c->folder ? opendir(c->folder) : NULL;
	struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	if (c->folder)
		(void)rmdir(c->folder);
	free(take_ptr(c->folder));
	free(take_ptr(c->file));
	for (int i = 0; i < CHANNELS; i++)
		free(take_ptr(c->endpoints[i]));
}
