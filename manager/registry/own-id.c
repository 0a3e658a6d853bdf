#include "manager/registry/own-id.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/log.h"
#include "manager/model/token.h"

#define FILE_BYTES_MAX 4096

static char *read_id(const char *path)
{
	char text[FILE_BYTES_MAX];
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n <= 0)
		return NULL;
	json_auto_t *file = json_loadb(text, (size_t)n, 0, NULL);
	const char *id = json_string_value(json_object_get(file, "thread_id"));
	if (!id || !*id || strlen(id) > 128 ||
	    strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != strlen(id))
		return NULL;
	return xstrdup(id);
}

static int write_id(const char *temporary, const char *id)
{
	AUTO(closep) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "{\"thread_id\": \"%s\"}\n", id) < 0)
		return -EIO;
	return 0;
}

char *own_id_known(const char *state_dir)
{
	AUTO(freep) char *path = xasprintf("%s/mcp-thread.json", state_dir);
	return read_id(path);
}

char *own_id_load(const char *state_dir)
{
	AUTO(freep) char *path = xasprintf("%s/mcp-thread.json", state_dir);
	char *known = read_id(path);
	if (known)
		return known;
	char id[UUID_SIZE];
	token_make_uuid(id);
	dirs_make(state_dir);
	AUTO(freep) char *temporary = xasprintf("%s.%s", path, id);
	int r = write_id(temporary, id);
	/* link() fails if another server was first: its id is used. A file without a valid id is replaced. */
	if (r == 0 && link(temporary, path) < 0) {
		known = read_id(path);
		if (!known && rename(temporary, path) < 0)
			r = -errno;
	}
	unlink(temporary);
	if (r < 0)
		log_warning("cannot keep the conversation's id in '%s': %s", path, strerror(-r));
	return known ? known : xstrdup(id);
}
