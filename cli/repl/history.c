#include "cli/repl/history.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dirs.h"

/* Size at which the file is cut to the entries that are kept. */
#define FILE_BYTES_MAX (2u * HISTORY_BYTES_MAX)

char *history_path(const char *state_dir, const char *name)
{
	AUTO(freep) char *folder = xasprintf("%s/repl", state_dir);
	int r = dirs_make(folder);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	return xasprintf("%s/%s.history", folder, name);
}

/* One entry is one line: \ and line ends are \\ and \n. */
static void escape(struct buf *out, const char *entry)
{
	for (; *entry; entry++) {
		if (*entry == '\n')
			buf_add_str(out, "\\n");
		else if (*entry == '\\')
			buf_add_str(out, "\\\\");
		else
			buf_add(out, entry, 1);
	}
	buf_add_str(out, "\n");
}

static void unescape(struct buf *out, const char *line, size_t n)
{
	buf_reset(out);
	for (size_t i = 0; i < n; i++) {
		char c = line[i];
		if (c == '\\' && i + 1 < n)
			c = line[++i] == 'n' ? '\n' : line[i];
		if (c)
			buf_add(out, &c, 1);
	}
}

/* The position of the oldest entry to keep: the entries from there on are within both limits. */
static size_t begin_of_kept(const char *text, size_t n)
{
	size_t entries = 0, begin = n;
	for (size_t at = n; at-- > 0;) {
		bool first = at == 0 || text[at - 1] == '\n';
		if (!first)
			continue;
		if (n - at > HISTORY_BYTES_MAX || ++entries > HISTORY_ENTRIES_MAX)
			break;
		begin = at;
	}
	return begin;
}

static int read_all(int fd, struct buf *out)
{
	out->max = FILE_BYTES_MAX + 2 * HISTORY_ENTRY_BYTES_MAX + 65536;
	for (ssize_t n = 1; n > 0;) {
		uint8_t *at = buf_reserve(out, 65536);
		if (!at)
			return -EFBIG;
		n = pread(fd, at, 65536, (off_t)out->len);
		if (n < 0)
			return -errno;
		out->len += (size_t)n;
	}
	return 0;
}

/* Opens only a regular file of this user, and follows no link. */
static int open_file(const char *path, int flags)
{
	AUTO(closep) int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & 077) && fchmod(fd, 0600) < 0)
		return -errno;
	return take_fd(fd);
}

void history_read(const char *path, void (*fn)(void *ctx, const char *entry), void *ctx)
{
	AUTO(buf_release) struct buf text = { 0 }, entry = { 0 };
	AUTO(closep) int fd = open_file(path, O_RDONLY);
	if (fd < 0 || read_all(fd, &text) < 0 || !text.len)
		return;
	const char *all = (const char *)text.data;
	for (size_t at = begin_of_kept(all, text.len); at < text.len;) {
		const char *end = memchr(all + at, '\n', text.len - at);
		size_t n = end ? (size_t)(end - all) - at : text.len - at;
		unescape(&entry, all + at, n);
		if (entry.len)
			fn(ctx, buf_str(&entry));
		at += n + 1;
	}
}

static int cut(int fd)
{
	AUTO(buf_release) struct buf text = { 0 };
	int r = read_all(fd, &text);
	if (r < 0)
		return ftruncate(fd, 0) < 0 ? -errno : 0;
	size_t begin = begin_of_kept((const char *)text.data, text.len);
	if (ftruncate(fd, 0) < 0 || write(fd, text.data + begin, text.len - begin) < 0)
		return -errno;
	return 0;
}

int history_add(const char *path, const char *entry)
{
	AUTO(buf_release) struct buf line = { 0 };
	struct stat st;
	if (strlen(entry) > HISTORY_ENTRY_BYTES_MAX)
		return 0;
	escape(&line, entry);
	AUTO(closep) int fd = open_file(path, O_RDWR | O_CREAT | O_APPEND);
	if (fd < 0)
		return fd;
	/* Several prompts may append at the same time. */
	if (flock(fd, LOCK_EX) < 0 || write(fd, line.data, line.len) < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_size > FILE_BYTES_MAX ? cut(fd) : 0;
}
