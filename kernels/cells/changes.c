#include "kernels/cells/changes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/utf8.h"

#define DEPTH_MAX 32
#define PATH_CHARS 300

struct search {
	struct timespec since;
	struct buf path; /* of the directory that is read, with a slash at its end */
	json_t *found;
	unsigned visited;
	bool more;
};

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec >= b->tv_nsec);
}

static void add(struct search *s, const char *name)
{
	AUTO(buf_release) struct buf whole = { 0 };
	AUTO(buf_release) struct buf clean = { 0 };
	if (json_array_size(s->found) >= CHANGES_MAX) {
		s->more = true;
		return;
	}
	(void)buf_add(&whole, s->path.data, s->path.len);
	buf_add_str(&whole, name);
	utf8_clean_name(&clean, buf_str(&whole));
	json_array_append_new(s->found, json_stringn((const char *)clean.data,
						     utf8_head((const char *)clean.data, clean.len, PATH_CHARS)));
}

static void read_folder(struct search *s, int parent, const char *name, int depth);

static void visit(struct search *s, int dir, const char *name, int depth)
{
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (is_newer(&st.st_ctim, &s->since))
			add(s, name);
		return;
	}
	size_t len = s->path.len;
	buf_add_str(&s->path, name);
	buf_add_str(&s->path, "/");
	if (depth < DEPTH_MAX)
		read_folder(s, dir, name, depth + 1);
	else
		s->more = true;
	s->path.len = len;
}

static void read_folder(struct search *s, int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		closep(&fd);
		return;
	}
	for (struct dirent *e; !s->more && (e = readdir(dir));) {
		if (streq(e->d_name, ".") || streq(e->d_name, ".."))
			continue;
		s->more = s->visited++ >= CHANGES_VISITED_MAX;
		if (!s->more)
			visit(s, dirfd(dir), e->d_name, depth);
	}
	closedir(dir);
}

json_t *changes_since(const char *folder, const struct timespec *since, bool *ret_more)
{
	struct search s = { .since = *since, .found = json_array() };
	read_folder(&s, AT_FDCWD, folder, 0);
	buf_release(&s.path);
	*ret_more = s.more;
	return s.found;
}
