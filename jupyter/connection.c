#include "jupyter/connection.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/json.h"
#include "jupyter/load.h"

#define SOCKET_NAME "kernel"
#define LOCAL "127.0.0.1"
#define FILE_MAX (64u << 10)

static const char *const port_names[CHANNELS] = {
	[CHANNEL_SHELL] = "shell_port",	    [CHANNEL_IOPUB] = "iopub_port",  [CHANNEL_STDIN] = "stdin_port",
	[CHANNEL_CONTROL] = "control_port", [CHANNEL_HEARTBEAT] = "hb_port",
};

/* Finds free ports. All stay bound until the last is found. The kernel binds them a moment later. */
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
	json_print(&text, content);
	for (size_t done = 0; done < text.len;) {
		ssize_t n = write(fd, text.data + done, text.len - done);
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

static char *endpoint(bool tcp, const char *ip, int port)
{
	return tcp ? xasprintf("tcp://%s:%d", ip, port) : xasprintf("ipc://%s-%d", ip, port);
}

int connection_make(struct connection *ret, const char *parent, bool tcp, const struct sender_id *id,
		    const char *kernel_name, struct fail *f)
{
	int ports[CHANNELS] = { 1, 2, 3, 4, 5 }; /* with ipc: the ends of the sockets' names */
	*ret = (struct connection){ .folder = xasprintf("%s/" CONNECTION_FOLDER "XXXXXX", parent) };
	if (!mkdtemp(ret->folder)) {
		fail_set(f, FAIL_INVALID, "cannot make a folder in '%s': %m", parent);
		free(take_ptr(ret->folder));
		return -1;
	}
	ret->file = xasprintf("%s/" CONNECTION_FILE, ret->folder);
	AUTO(freep) char *ip = tcp ? xstrdup(LOCAL) : xasprintf("%s/" SOCKET_NAME, ret->folder);
	if (tcp && choose_ports(ports) < 0)
		return fail_set(f, FAIL_INVALID, "cannot find free ports on " LOCAL);
	json_auto_t *content = json_pack("{s:s, s:s, s:s, s:s, s:s}", "transport", tcp ? "tcp" : "ipc", "ip", ip, "key",
					 id->key, "signature_scheme", "hmac-sha256", "kernel_name", kernel_name);
	for (int i = 0; i < CHANNELS; i++) {
		ret->endpoints[i] = endpoint(tcp, ip, ports[i]);
		json_object_set_new(content, port_names[i], json_integer(ports[i]));
	}
	int r = write_file(ret->file, content);
	if (r < 0)
		return fail_set(f, FAIL_INVALID, "cannot write '%s': %s", ret->file, strerror(-r));
	return 0;
}

static json_t *load_file(const char *path, struct fail *f)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO(buf_release) struct buf text = { .max = FILE_MAX };
	if (fd < 0) {
		fail_set(f, FAIL_INVALID, "cannot read '%s': %m", path);
		return NULL;
	}
	for (;;) {
		uint8_t *at = buf_reserve(&text, 4096);
		ssize_t n = at ? read(fd, at, 4096) : -1;
		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	json_t *content = text.len ? load_object(text.data, text.len) : NULL;
	if (!content)
		fail_set(f, FAIL_INVALID, "'%s' is not a connection file", path);
	return content;
}

static const char *text_of(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : otherwise;
}

static int read_endpoints(struct connection *c, const json_t *content, struct fail *f)
{
	const char *transport = text_of(content, "transport", "tcp"), *ip = text_of(content, "ip", LOCAL);
	bool tcp = streq(transport, "tcp");
	if (!tcp && !streq(transport, "ipc"))
		return fail_set(f, FAIL_INVALID, "'%s' has the transport '%s', not tcp or ipc", c->file, transport);
	if (tcp && streq(ip, "localhost"))
		ip = LOCAL;
	if (tcp && !streq(ip, LOCAL))
		return fail_set(f, FAIL_INVALID, "'%s' names the address %s: Husk listens only on " LOCAL, c->file, ip);
	for (int i = 0; i < CHANNELS; i++) {
		json_int_t port = json_integer_value(json_object_get(content, port_names[i]));
		if (port < 1 || port > 65535)
			return fail_set(f, FAIL_INVALID, "'%s' has no %s from 1 to 65535", c->file, port_names[i]);
		c->endpoints[i] = endpoint(tcp, ip, (int)port);
	}
	return 0;
}

int connection_read(struct connection *ret, const char *file, struct sender_id *ret_id, struct fail *f)
{
	*ret = (struct connection){ .file = xstrdup(file) };
	json_auto_t *content = load_file(file, f);
	if (!content || read_endpoints(ret, content, f) < 0)
		return -1;
	const char *key = text_of(content, "key", ""), *scheme = text_of(content, "signature_scheme", "hmac-sha256");
	if (!*key || strlen(key) > MESSAGE_KEY_MAX)
		return fail_set(f, FAIL_INVALID,
				"'%s' has no key of 1 to %d characters: without one, anybody could run code", file,
				MESSAGE_KEY_MAX);
	if (!streq(scheme, "hmac-sha256"))
		return fail_set(f, FAIL_INVALID, "'%s' has the signature scheme '%s', not hmac-sha256", file, scheme);
	*ret_id = (struct sender_id){ 0 };
	memcpy(ret_id->key, key, strlen(key));
	return sender_id_make(ret_id) < 0 ? fail_set(f, FAIL_INTERNAL, "there is no source of random numbers") : 0;
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
