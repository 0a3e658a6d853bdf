#include "kernels/files/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/table.h"
#include "base/utf8.h"
#include "kernels/files/beneath.h"
#include "kernels/files/import.h"
#include "kernels/system/frames.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define NOTICES_MAX 20
#define NOTICE_NAME_CHARS 200

struct piece {
	uint64_t at, n;
};

struct level {
	DIR *dir;
	size_t end; /* length of its path */
};

struct export
{
	char *source;
	struct level levels[ENTRY_DEPTH_MAX + 1];
	int depth;
	char path[ENTRY_PATH_MAX + 1]; /* path of the current entry, below the source */

	int first; /* the exported file or directory, until it is sent as an entry */
	int file;
	bool may_go_whole, goes_whole; /* the file is sent as a descriptor */
	bool sends_links;
	struct table linked; /* files with several names, by device and inode: their first name */
	int given_up;	     /* descriptor for export_take_file(); -1 = none */
	uint64_t size;
	struct piece *pieces; /* pieces of data, in order */
	size_t n_pieces, piece, mapped;
	bool sparse;

	json_t *notices;
	uint64_t notices_dropped;
	uint64_t bytes, entries;
};

/* ---- sentences about failures */

static char *shown(const char *name)
{
	struct buf clean = { 0 };
	utf8_clean(&clean, name, strlen(name));
	const char *text = buf_str(&clean);
	char *cut = xstrndup(text, utf8_head(text, clean.len, NOTICE_NAME_CHARS));
	buf_release(&clean);
	return cut;
}

static void notice(struct export *ex, const char *what)
{
	if (json_array_size(ex->notices) >= NOTICES_MAX) {
		ex->notices_dropped++;
		return;
	}
	AUTO(freep) char *name = shown(ex->path);
	json_array_append_new(ex->notices, json_sprintf("'%s' %s", name, what));
}

static char *explain(const struct export *ex, int error)
{
	AUTO(freep) char *name = shown(ex->path);
	const char *slash = *name ? "/" : "";
	if (error == -ENAMETOOLONG)
		return xasprintf("'%s%s%s' is deeper than %d directories, or its path is longer than %u bytes.",
				 ex->source, slash, name, ENTRY_DEPTH_MAX, ENTRY_PATH_MAX);
	return xasprintf("'%s%s%s' cannot be read: %s.", ex->source, slash, name, strerror(-error));
}

void export_describe(const struct export *ex, json_t *end)
{
	json_object_set_new(end, "entries", json_integer((json_int_t)ex->entries));
	json_object_set_new(end, "bytes", json_integer((json_int_t)ex->bytes));
	if (json_array_size(ex->notices))
		json_object_set(end, "notices", ex->notices);
	if (ex->notices_dropped)
		json_object_set_new(end, "notices_dropped", json_integer((json_int_t)ex->notices_dropped));
}

/* ---- one entry */

/* True if other names of the file may be sent as links to this one. Then it is remembered. */
static bool remember(struct export *ex, const struct stat *st)
{
	const uint64_t id[2] = { st->st_dev, st->st_ino };
	size_t n = strlen(ex->path);
	if (!ex->sends_links || !ex->depth || st->st_nlink < 2 || ex->linked.n >= ENTRY_LINKED_MAX ||
	    ex->linked.bytes + sizeof(id) + n > ENTRY_LINKED_BYTES_MAX)
		return false;
	return table_add(&ex->linked, id, sizeof(id), ex->path, n);
}

/* The first name of a file that was already sent, or NULL. */
static const char *first_name(const struct export *ex, const struct stat *st)
{
	const uint64_t id[2] = { st->st_dev, st->st_ino };
	return st->st_nlink < 2 ? NULL : table_find(&ex->linked, id, sizeof(id));
}

static void put_entry(struct export *ex, uint32_t call, const struct stat *st, enum entry_type type, const char *target,
		      struct buf *out)
{
	AUTO(buf_release) struct buf payload = { 0 };
	entry_write(&payload, &(struct entry){
				      .type = type,
				      .mode = st->st_mode & ENTRY_MODE_MASK,
				      .linked = type == ENTRY_FILE && remember(ex, st),
				      .mtime = st->st_mtim.tv_sec,
				      .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
				      .size = type == ENTRY_FILE ? (uint64_t)st->st_size : 0,
				      .path = ex->path,
				      .path_len = strlen(ex->path),
				      .target = target,
				      .target_len = strlen(target),
			      });
	(void)frame_append(out, FRAME_ENTRY, call, payload.data, payload.len);
	ex->entries++;
}

static void add_piece(struct export *ex, uint64_t at, uint64_t end)
{
	ex->pieces = xrealloc(ex->pieces, (ex->n_pieces + 1) * sizeof(*ex->pieces));
	ex->pieces[ex->n_pieces++] = (struct piece){ .at = at, .n = end - at };
}

/* Finds the data of a sparse file. If it has more pieces than the list can hold, the rest counts as one piece. */
static void find_pieces(struct export *ex, const struct stat *st)
{
	uint64_t size = ex->size, at = 0;
	ex->n_pieces = ex->piece = ex->mapped = 0;
	ex->sparse = (uint64_t)st->st_blocks * 512 < size;
	while (ex->sparse && at < size && ex->n_pieces < FILE_MAP_PIECES_MAX - 1) {
		off_t data = lseek(ex->file, (off_t)at, SEEK_DATA);
		if (data < 0 || (uint64_t)data >= size)
			return;
		off_t hole = lseek(ex->file, data, SEEK_HOLE);
		at = hole <= data || (uint64_t)hole > size ? size : (uint64_t)hole;
		add_piece(ex, (uint64_t)data, at);
	}
	if (at < size)
		add_piece(ex, at, size);
}

static void start_file(struct export *ex, uint32_t call, int fd, const struct stat *st, struct buf *out)
{
	ex->file = fd;
	ex->size = (uint64_t)st->st_size;
	find_pieces(ex, st);
	/* A descriptor is sent only if the file is the whole export and has no holes: among many files most are small,
	 * and the positions of holes must be sent. */
	ex->goes_whole = ex->may_go_whole && !ex->depth && !ex->sparse && ex->size >= FILE_WHOLE_MIN;
	put_entry(ex, call, st, ENTRY_FILE, "", out);
}

static int enter(struct export *ex, uint32_t call, int fd, const struct stat *st, struct buf *out)
{
	AUTO(closep) int owned = fd;
	if (ex->depth == (int)ARRAY_LEN(ex->levels))
		return -ENAMETOOLONG;
	DIR *dir = fdopendir(owned);
	if (!dir)
		return -errno;
	(void)take_fd(owned);
	ex->levels[ex->depth++] = (struct level){ .dir = dir, .end = strlen(ex->path) };
	put_entry(ex, call, st, ENTRY_DIRECTORY, "", out);
	return 0;
}

/* Sends an open file or directory as the next entry. Takes fd. */
static int take_open(struct export *ex, uint32_t call, int fd, struct buf *out)
{
	AUTO(closep) int owned = fd;
	struct stat st;
	if (fstat(owned, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return enter(ex, call, take_fd(owned), &st, out);
	const char *first = S_ISREG(st.st_mode) ? first_name(ex, &st) : NULL;
	if (first)
		put_entry(ex, call, &st, ENTRY_LINK, first, out);
	else if (S_ISREG(st.st_mode))
		start_file(ex, call, take_fd(owned), &st, out);
	else
		notice(ex, "is neither file nor directory and was left out");
	return 0;
}

static int take_link(struct export *ex, uint32_t call, int parent, const char *name, const struct stat *st,
		     struct buf *out)
{
	char target[ENTRY_PATH_MAX + 1];
	ssize_t n = readlinkat(parent, name, target, sizeof(target) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	target[n] = '\0';
	put_entry(ex, call, st, ENTRY_SYMLINK, target, out);
	return 0;
}

static int take_name(struct export *ex, uint32_t call, const char *name, struct buf *out)
{
	struct level *l = &ex->levels[ex->depth - 1];
	struct stat st;
	int parent = dirfd(l->dir);
	int n = snprintf(ex->path + l->end, sizeof(ex->path) - l->end, "%s%s", l->end ? "/" : "", name);
	if ((size_t)n >= sizeof(ex->path) - l->end)
		return -ENAMETOOLONG;
	if (ex->depth > ENTRY_DEPTH_MAX)
		return -ENAMETOOLONG;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return take_link(ex, call, parent, name, &st, out);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		notice(ex, "is neither file nor directory and was left out");
		return 0;
	}
	int fd = openat(parent, name, OPEN_FLAGS);
	return fd < 0 ? -errno : take_open(ex, call, fd, out);
}

/* True for the staging directory of an unfinished import: its files are not in place yet. */
static bool is_staging(const struct export *ex, const char *name)
{
	const char *rest;
	return ex->depth == 1 && strncmp(name, IMPORT_STAGE_PREFIX, strlen(IMPORT_STAGE_PREFIX)) == 0 &&
	       beneath_split(ex->source, &rest) && !*rest;
}

static int next_name(struct export *ex, uint32_t call, struct buf *out)
{
	struct level *l = &ex->levels[ex->depth - 1];
	const struct dirent *d = readdir(l->dir);
	ex->path[l->end] = '\0';
	if (!d) {
		closedir(l->dir);
		ex->depth--;
		return 0;
	}
	if (streq(d->d_name, ".") || streq(d->d_name, "..") || is_staging(ex, d->d_name))
		return 0;
	int r = take_name(ex, call, d->d_name, out);
	/* The file was replaced or removed after it was listed. A replacement is exported under its own name if the
	 * directory lists it. */
	if (r == -ENOENT || r == -ELOOP || r == -ENXIO || r == -EINVAL) {
		notice(ex, "changed while it was read and was left out");
		return 0;
	}
	if (r == -EACCES || r == -EPERM) {
		notice(ex, "may not be read (see its permissions) and was left out");
		return 0;
	}
	return r;
}

/* ---- content */

static void end_file(struct export *ex)
{
	closep(&ex->file);
	free(take_ptr(ex->pieces));
	ex->n_pieces = 0;
}

static void put_map(struct export *ex, uint32_t call, struct buf *out)
{
	AUTO(buf_release) struct buf payload = { 0 };
	size_t end = MIN(ex->n_pieces, ex->mapped + FILE_MAP_PIECES_A_FRAME);
	for (; ex->mapped < end; ex->mapped++) {
		uint8_t piece[16];
		entry_put_number(piece, 8, ex->pieces[ex->mapped].at);
		entry_put_number(piece + 8, 8, ex->pieces[ex->mapped].n);
		(void)buf_add(&payload, piece, sizeof(piece));
	}
	(void)frame_append(out, FRAME_MAP, call, payload.data, payload.len);
	if (ex->mapped == ex->n_pieces)
		ex->sparse = false; /* all sent */
}

static int put_data(struct export *ex, uint32_t call, struct buf *out)
{
	struct piece *p = &ex->pieces[ex->piece];
	uint8_t *frame = buf_reserve(out, FRAME_HEADER_SIZE + 8 + FILE_DATA_MAX), *data = frame + FRAME_HEADER_SIZE;
	ssize_t n = pread(ex->file, data + 8, (size_t)MIN(p->n, FILE_DATA_MAX), (off_t)p->at);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0) {
		notice(ex, "shrank while it was read: the rest was filled with zeros");
		end_file(ex);
		return 0;
	}
	entry_put_number(data, 8, p->at);
	frame_header_write(frame,
			   &(struct frame_header){ .length = 8 + (uint32_t)n, .type = FRAME_DATA, .call = call });
	out->len += FRAME_HEADER_SIZE + 8 + (size_t)n;
	ex->bytes += (uint64_t)n;
	p->at += (uint64_t)n;
	p->n -= (uint64_t)n;
	ex->piece += p->n == 0;
	return 0;
}

static void give_up_file(struct export *ex, uint32_t call, struct buf *out)
{
	(void)frame_append(out, FRAME_FILE, call, NULL, 0);
	ex->bytes += ex->size;
	ex->given_up = take_fd(ex->file);
	end_file(ex);
}

int export_take_file(struct export *ex)
{
	return take_fd(ex->given_up);
}

void export_give_back(struct export *ex, int file)
{
	ex->bytes -= ex->size;
	ex->file = file;
	ex->goes_whole = false;
	add_piece(ex, 0, ex->size);
	ex->piece = 0;
}

static int content(struct export *ex, uint32_t call, struct buf *out)
{
	if (ex->goes_whole) {
		give_up_file(ex, call, out);
		return 0;
	}
	if (ex->sparse) {
		put_map(ex, call, out);
		return 0;
	}
	if (ex->piece < ex->n_pieces)
		return put_data(ex, call, out);
	end_file(ex);
	return 0;
}

int export_produce(struct export *ex, uint32_t call, int steps, size_t max, struct buf *out, char **ret_detail)
{
	/* Room for a piece of data, or for an entry with a long name and a long target. */
	const size_t reserve = 8 + FILE_DATA_MAX + FRAME_HEADER_SIZE;
	size_t start = out->len;
	int r = ex->first < 0 ? 0 : take_open(ex, call, take_fd(ex->first), out);
	while (r >= 0 && steps-- > 0 && out->len - start + reserve <= max && (ex->file >= 0 || ex->depth))
		r = ex->file >= 0 ? content(ex, call, out) : next_name(ex, call, out);
	if (r < 0) {
		*ret_detail = explain(ex, r);
		return r;
	}
	return ex->file >= 0 || ex->depth;
}

/* ---- life */

static char *refusal(const char *path, int error)
{
	switch (-error) {
	case ENOENT:
	case ENOTDIR:
		return xasprintf("File or directory not found in container: %s", path);
	case ELOOP:
		return xasprintf(
			"'%s' is or leads through a symbolic link, which is not followed. Name the file itself.", path);
	case ENXIO:
	case EINVAL:
		return xasprintf("'%s' is neither a file nor a directory.", path);
	default:
		return xasprintf("'%s' cannot be read: %s.", path, strerror(-error));
	}
}

static int open_source(const char *path, int *ret_fd)
{
	const char *rest, *root = beneath_split(path, &rest);
	struct stat st;
	if (!root)
		return -ENOENT;
	AUTO(closep) int dir = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	AUTO(closep) int fd = beneath_open(dir, rest, O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	*ret_fd = take_fd(fd);
	return 0;
}

static struct export *prepare(const char *path, const struct export_options *options, int fd)
{
	struct export *ex = new0(struct export);
	ex->source = xstrdup(path);
	ex->file = ex->given_up = -1;
	ex->may_go_whole = options->whole;
	ex->sends_links = options->links;
	ex->notices = json_array();
	ex->first = fd;
	return ex;
}

int export_new(const char *path, const struct export_options *options, struct export **ret, char **ret_detail)
{
	AUTO(closep) int fd = -1;
	int r = open_source(path, &fd);
	if (r < 0) {
		*ret_detail = refusal(path, r);
		return r;
	}
	*ret = prepare(path, options, take_fd(fd));
	return 0;
}

struct export *export_free(struct export *ex)
{
	if (!ex)
		return NULL;
	while (ex->depth)
		closedir(ex->levels[--ex->depth].dir);
	end_file(ex);
	closep(&ex->first);
	closep(&ex->given_up);
	json_decref(ex->notices);
	table_release(&ex->linked);
	free(ex->source);
	free(ex);
	return NULL;
}
