/* Reads a file or folder of the host. The folder is walked twice, to measure and to send. Links are sent as links,
 * never followed. For a program's folder, files that .gitignore files exclude are skipped. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "manager/files/ignore.h"
#include "manager/files/source.h"
#include "manager/model/cause.h"
#include "manager/model/files.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct level {
	DIR *dir;
	size_t end;   /* length of its path */
	size_t rules; /* number of rules before its own */
};

struct walk {
	struct level levels[ENTRY_DEPTH_MAX + 1];
	int depth;
	int first; /* the root, until it was visited */
	char path[ENTRY_PATH_MAX + 1];
	char target[ENTRY_PATH_MAX + 1];
	struct ignore ignore; /* for a program's folder */
};

struct host_source {
	struct source source;
	struct host_rules rules;
	struct host_forbidden forbidden;
	char *path;
	int root;
	struct walk walk;
	bool walking;
	int file;
	struct source_reader reader;
};

/* An entry that the walk has found. The caller owns fd, which is -1 for links. */
struct found {
	struct entry entry;
	struct stat st;
	int fd;
};

static void walk_end(struct walk *w)
{
	while (w->depth)
		closedir(w->levels[--w->depth].dir);
	ignore_release(&w->ignore);
	closep(&w->first);
}

static int walk_begin(struct walk *w, int root)
{
	w->depth = 0;
	w->path[0] = '\0';
	/* A separate open file description, since the walk moves its position. */
	w->first = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->first < 0 && errno == ENOTDIR)
		w->first = fcntl(root, F_DUPFD_CLOEXEC, 0);
	return w->first < 0 ? -errno : 0;
}

static void describe(const struct walk *w, const struct stat *st, enum entry_type type, struct entry *e)
{
#ifdef __APPLE__
	const struct timespec *mtime = &st->st_mtimespec;
#else
	const struct timespec *mtime = &st->st_mtim;
#endif
	*e = (struct entry){
		.type = type,
		.mode = st->st_mode & ENTRY_MODE_MASK,
		.mtime = mtime->tv_sec,
		.mtime_ns = (uint32_t)mtime->tv_nsec,
		.size = type == ENTRY_FILE ? (uint64_t)st->st_size : 0,
		.path = w->path,
		.path_len = strlen(w->path),
		.target = type == ENTRY_SYMLINK ? w->target : "",
		.target_len = type == ENTRY_SYMLINK ? strlen(w->target) : 0,
	};
}

static void read_rules(struct host_source *h, int folder)
{
	struct walk *w = &h->walk;
	AUTO(freep) char *text = NULL;
	struct stat st;
	AUTO(closep) int fd = h->rules.project ? openat(folder, IGNORE_FILE, OPEN_FLAGS) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	text = xmalloc(IGNORE_BYTES_MAX);
	ssize_t n = read(fd, text, IGNORE_BYTES_MAX);
	if (n > 0)
		ignore_add(&w->ignore, text, (size_t)n, *w->path ? strlen(w->path) + 1 : 0);
}

static bool is_left_out(const struct host_source *h, const char *name, const struct stat *st)
{
	return h->rules.project &&
	       (streq(name, ".git") || ignore_matches(&h->walk.ignore, h->walk.path, S_ISDIR(st->st_mode)));
}

/* Returns 1 with *ret, 0 if the entry is skipped, or -errno. Takes ownership of fd. */
static int take_open(struct host_source *h, int fd, struct found *ret)
{
	struct walk *w = &h->walk;
	AUTO(closep) int owned = fd;
	if (fstat(owned, &ret->st) < 0)
		return -errno;
	if (host_is_forbidden(&h->forbidden, &ret->st)) {
		source_notice(&h->source, w->path, "is Husk's own and was left out");
		return 0;
	}
	if (S_ISREG(ret->st.st_mode)) {
		describe(w, &ret->st, ENTRY_FILE, &ret->entry);
		ret->fd = take_fd(owned);
		return 1;
	}
	if (!S_ISDIR(ret->st.st_mode)) {
		source_notice(&h->source, w->path, "is neither file nor directory and was left out");
		return 0;
	}
	if (w->depth == (int)ARRAY_LEN(w->levels))
		return -ENAMETOOLONG;
	DIR *dir = fdopendir(owned);
	if (!dir)
		return -errno;
	(void)take_fd(owned);
	w->levels[w->depth++] = (struct level){ .dir = dir, .end = strlen(w->path), .rules = w->ignore.n };
	read_rules(h, dirfd(dir));
	describe(w, &ret->st, ENTRY_DIRECTORY, &ret->entry);
	return 1;
}

static int take_link(struct host_source *h, int parent, const char *name, struct found *ret)
{
	struct walk *w = &h->walk;
	ssize_t n = readlinkat(parent, name, w->target, sizeof(w->target) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	w->target[n] = '\0';
	describe(w, &ret->st, ENTRY_SYMLINK, &ret->entry);
	return 1;
}

static int take_name(struct host_source *h, const char *name, struct found *ret)
{
	struct walk *w = &h->walk;
	struct level *l = &w->levels[w->depth - 1];
	int parent = dirfd(l->dir);
	int n = snprintf(w->path + l->end, sizeof(w->path) - l->end, "%s%s", l->end ? "/" : "", name);
	if ((size_t)n >= sizeof(w->path) - l->end || w->depth > ENTRY_DEPTH_MAX)
		return -ENAMETOOLONG;
	if (fstatat(parent, name, &ret->st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (is_left_out(h, name, &ret->st))
		return 0;
	if (S_ISLNK(ret->st.st_mode))
		return take_link(h, parent, name, ret);
	if (!S_ISREG(ret->st.st_mode) && !S_ISDIR(ret->st.st_mode)) {
		source_notice(&h->source, w->path, "is neither file nor directory and was left out");
		return 0;
	}
	int fd = openat(parent, name, OPEN_FLAGS);
	return fd < 0 ? -errno : take_open(h, fd, ret);
}

/* Returns 1 with *ret, 0 if an entry was skipped, -ENODATA at the end, or another -errno. */
static int walk_next(struct host_source *h, struct found *ret)
{
	struct walk *w = &h->walk;
	ret->fd = -1;
	if (w->first >= 0)
		return take_open(h, take_fd(w->first), ret);
	if (!w->depth)
		return -ENODATA;
	struct level *l = &w->levels[w->depth - 1];
	const struct dirent *d = readdir(l->dir);
	w->path[l->end] = '\0';
	if (!d) {
		closedir(l->dir);
		ignore_cut(&w->ignore, l->rules);
		w->depth--;
		return 0;
	}
	if (streq(d->d_name, ".") || streq(d->d_name, ".."))
		return 0;
	int r = take_name(h, d->d_name, ret);
	if (r == -EACCES || r == -EPERM) {
		source_notice(&h->source, w->path, "may not be read (see its permissions) and was left out");
		return 0;
	}
	return r == -ENOENT || r == -ELOOP ? 0 : r; /* removed or replaced in the meantime */
}

static int walk_failed(const struct host_source *h, int error, struct fail *f)
{
	const char *slash = *h->walk.path ? "/" : "";
	if (error == -ENAMETOOLONG)
		return fail_set(f, FAIL_INVALID, "'%s%s%s' is deeper than %d directories or its path is too long",
				h->path, slash, h->walk.path, ENTRY_DEPTH_MAX);
	return fail_set(f, FAIL_INVALID, "cannot read '%s%s%s': %s", h->path, slash, h->walk.path, strerror(-error));
}

static int stopped(struct fail *f)
{
	return fail_set(f, FAIL_CANCELLED, "cancelled");
}

static int check_project(const struct host_source *h, const struct measure *m, struct fail *f)
{
	bool many = m->entries > PROJECT_FILES_MAX;
	if (!h->rules.project || (!many && m->size <= PROJECT_BYTES_MAX))
		return 0;
	return cause_set(f, FAIL_LIMIT, CAUSE_FOLDER_TOO_LARGE, "the folder '%s' has more than %u %s", h->path,
			 many ? PROJECT_FILES_MAX : PROJECT_BYTES_MAX >> 20, many ? "files" : "MB");
}

static int host_measure(struct source *s, struct measure *ret, struct fail *f)
{
	struct host_source *h = container_of(s, struct host_source, source);
	struct found found;
	int r;
	*ret = (struct measure){ 0 };
	h->root = host_open(&h->rules, h->path, &h->forbidden, f);
	if (h->root < 0)
		return -1;
	r = walk_begin(&h->walk, h->root);
	while (r >= 0) {
		r = walk_next(h, &found);
		if (r != 1)
			continue;
		ret->directory = ret->directory || (!found.entry.path_len && found.entry.type == ENTRY_DIRECTORY);
		if (found.fd >= 0) {
			ret->size += found.entry.size;
			ret->room += source_data_bytes(found.fd, &found.st);
			closep(&found.fd);
		}
		if (++ret->entries > SOURCE_ENTRIES_MAX)
			return fail_set(f, FAIL_INVALID, "'%s' has more than %u files", h->path, SOURCE_ENTRIES_MAX);
		if (check_project(h, ret, f) < 0)
			return -1;
		if (atomic_load(&s->stop))
			return stopped(f);
	}
	strv_release(&s->notices); /* found again when the folder is sent */
	return r == -ENODATA ? 0 : walk_failed(h, r, f);
}

/* Returns 1 if there is more, 0 at the end, or -errno. */
static int step(struct host_source *h, uint32_t call, struct buf *out)
{
	struct found found;
	if (h->file >= 0) {
		int r = source_read(&h->reader, call, out);
		if (r == 0 && h->reader.at < h->reader.data_end)
			source_notice(&h->source, h->walk.path,
				      "shrank while it was read: the rest was filled with zeros");
		if (r <= 0)
			closep(&h->file);
		return r < 0 ? r : 1;
	}
	int r = walk_next(h, &found);
	if (r == -ENODATA)
		return 0;
	if (r != 1)
		return r < 0 ? r : 1;
	source_put_entry(out, call, &found.entry);
	if (found.fd >= 0) {
		h->file = found.fd;
		source_reader_start(&h->reader, h->file, &found.st);
	}
	return 1;
}

static int host_produce(struct source *s, uint32_t call, size_t max, struct buf *out, struct fail *f)
{
	struct host_source *h = container_of(s, struct host_source, source);
	int r = 1;
	if (!h->walking) {
		h->walking = true;
		r = walk_begin(&h->walk, h->root);
		if (r < 0)
			return walk_failed(h, r, f);
		r = 1;
	}
	while (r == 1 && out->len < max) {
		if (atomic_load(&s->stop))
			return stopped(f);
		r = step(h, call, out);
	}
	return r < 0 ? walk_failed(h, r, f) : r;
}

static void host_release(struct source *s)
{
	struct host_source *h = container_of(s, struct host_source, source);
	walk_end(&h->walk);
	closep(&h->file);
	closep(&h->root);
	host_rules_release(&h->rules);
	free(h->path);
	free(h);
}

struct source *source_host(struct host_rules *rules, const char *path)
{
	static const struct source_ops ops = { host_measure, host_produce, host_release };
	struct host_source *h = new0(struct host_source);
	h->source.ops = &ops;
	h->rules = *rules;
	*rules = (struct host_rules){ 0 };
	h->path = xstrdup(path);
	h->root = h->file = h->walk.first = -1;
	return &h->source;
}
