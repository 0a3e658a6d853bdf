/* Reads an export in the vault: a file, a tar of a directory, or a part of such a tar. The vault is Husk's own, but
 * the disk is not trusted. Members that are not plain files, directories or links, or whose names lead elsewhere,
 * are rejected. A hard link is accepted if it names an earlier file of the same archive. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/table.h"
#include "manager/files/libarchive.h"
#include "manager/files/names.h"
#include "manager/files/source.h"
#include "manager/files/vault.h"
#include "manager/line/wire.h"

#define BLOCK_BYTES (128u << 10)

struct export_source {
	struct source source;
	char *file, *below;
	bool directory, links;
	struct table targets; /* targets of the archive's hard links: one byte each, not 0 once the file was seen */
	uint32_t mode;
	uint64_t mtime_ms;

	int fd;
	struct source_reader reader;
	bool began;

	struct archive *tar;
	bool in_file;
	/* Data from libarchive that was not sent yet. */
	const uint8_t *block;
	size_t block_len;
	uint64_t block_at;
};

static int unreadable(const struct export_source *x, const char *why, struct fail *f)
{
	fail_set(f, FAIL_STORE, "the export cannot be read: %s (%s)", why ? why : "it is damaged", x->file);
	return fail_hint(f, EXPORT_UNREADABLE_HINT);
}

static int open_file(struct export_source *x, struct stat *st, struct fail *f)
{
	if (x->fd < 0)
		x->fd = open(x->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (x->fd < 0 || fstat(x->fd, st) < 0)
		return unreadable(x, errno == ELOOP ? "it is a link" : strerror(errno), f);
	return S_ISREG(st->st_mode) ? 0 : unreadable(x, "it is not a file", f);
}

/* ---- members */

static int open_tar(struct export_source *x, struct fail *f)
{
	struct stat st;
	if (libarchive_load(f) < 0 || open_file(x, &st, f) < 0)
		return -1;
	if (x->tar)
		libarchive.archive_read_free(x->tar);
	x->tar = libarchive.archive_read_new();
	if (lseek(x->fd, 0, SEEK_SET) < 0 || libarchive.archive_read_support_format_tar(x->tar) != ARCHIVE_OK ||
	    libarchive.archive_read_open_fd(x->tar, x->fd, BLOCK_BYTES) != ARCHIVE_OK)
		return unreadable(x, libarchive.archive_error_string(x->tar), f);
	return 0;
}

static int hostile(const char *name, const char *why, struct fail *f)
{
	return fail_set(f, FAIL_INVALID, "the archive holds '%.200s', which %s; nothing of it was imported", name, why);
}

static bool type_of(struct archive_entry *member, enum entry_type *ret)
{
	switch (libarchive.archive_entry_filetype(member)) {
	case AE_IFREG:
		*ret = ENTRY_FILE;
		return true;
	case AE_IFDIR:
		*ret = ENTRY_DIRECTORY;
		return true;
	case AE_IFLNK:
		*ret = ENTRY_SYMLINK;
		return true;
	default:
		return false;
	}
}

/* The name relative to the archived directory: without its first component and without a trailing slash. */
static int read_name(const char *name, char **ret, struct fail *f)
{
	if (!name)
		return hostile("?", "has no name", f);
	const char *slash = strchr(name, '/');
	AUTO(freep) char *rest = xstrdup(slash ? slash + 1 : "");
	size_t n = strlen(rest);
	if (n && rest[n - 1] == '/')
		rest[--n] = '\0';
	if (slash == name || !entry_path_valid(rest, n) ||
	    !entry_path_valid(name, slash ? (size_t)(slash - name) : strlen(name)))
		return hostile(name, "leads out of it", f);
	*ret = take_ptr(rest);
	return 0;
}

static int bad_link(const char *name, const char *why, const char *hint, struct fail *f)
{
	fail_set(f, FAIL_INVALID, "'%.200s' in the export is a hard link %s; nothing of it was imported", name, why);
	return fail_hint(f, "%s", hint);
}

/* The target of a hard link, relative to what is imported. */
static int read_link(struct export_source *x, struct archive_entry *member, const char *name, char **ret,
		     struct fail *f)
{
	AUTO(freep) char *target = NULL;
	if (read_name(libarchive.archive_entry_hardlink(member), &target, f) < 0)
		return -1;
	const char *seen = table_find(&x->targets, target, strlen(target));
	if (!seen || !*seen)
		return hostile(name, "is a hard link to a file that is not before it in the archive", f);
	if (!x->links)
		return bad_link(name, "which a session of an older Husk does not support",
				"Import it into a new session.", f);
	const char *below = *x->below ? names_below(target, x->below) : target;
	if (!below || !*below)
		return bad_link(name, "to a file outside the import", "Import the exported directory itself.", f);
	*ret = xstrdup(below);
	return 0;
}

/* Notes that the file was seen, so that later hard links may name it. */
static void see_file(struct export_source *x, const char *name)
{
	char *seen = table_find(&x->targets, name, strlen(name));
	if (seen)
		*seen = 1;
}

/* Returns 1 with *ret, 0 if the member is not selected, or -1 with f. *ret borrows *ret_name and, for a hard link,
 * *ret_first; the caller owns both. */
static int read_member(struct export_source *x, struct archive_entry *member, struct entry *ret, char **ret_name,
		       char **ret_first, struct fail *f)
{
	enum entry_type type = ENTRY_LINK;
	AUTO(freep) char *name = NULL, *first = NULL;
	bool link = libarchive.archive_entry_hardlink(member);
	if (read_name(libarchive.archive_entry_pathname(member), &name, f) < 0)
		return -1;
	if (!link && !type_of(member, &type))
		return hostile(name, "is neither file, directory nor link", f);
	if (!link && type == ENTRY_FILE)
		see_file(x, name);
	const char *path = *x->below ? names_below(name, x->below) : name;
	if (!path)
		return 0;
	if (link && read_link(x, member, name, &first, f) < 0)
		return -1;
	const char *target = link ? first : type == ENTRY_SYMLINK ? libarchive.archive_entry_symlink(member) : "";
	int64_t size = type == ENTRY_FILE ? libarchive.archive_entry_size(member) : 0;
	*ret = (struct entry){
		.type = type,
		.mode = (uint32_t)libarchive.archive_entry_perm(member) & ENTRY_MODE_MASK,
		.mtime = libarchive.archive_entry_mtime(member),
		.mtime_ns = (uint32_t)libarchive.archive_entry_mtime_nsec(member),
		.size = (uint64_t)size,
		.path = path,
		.path_len = strlen(path),
		.target = target ? target : "",
		.target_len = target ? strlen(target) : 0,
	};
	if (!entry_valid(ret))
		return hostile(name, "is not valid", f);
	*ret_name = take_ptr(name);
	*ret_first = take_ptr(first);
	return 1;
}

/* Returns 1 with a member, 0 at the end, or -1 with f. */
static int next_header(struct export_source *x, struct archive_entry **ret, struct fail *f)
{
	int r = libarchive.archive_read_next_header(x->tar, ret);
	if (r == ARCHIVE_EOF)
		return 0;
	if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
		return unreadable(x, libarchive.archive_error_string(x->tar), f);
	return 1;
}

/* ---- measuring */

static uint64_t room_of(struct archive_entry *member, uint64_t size)
{
	int64_t at, n;
	uint64_t room = 0;
	if (libarchive.archive_entry_sparse_reset(member) == 0)
		return source_pages(size);
	while (libarchive.archive_entry_sparse_next(member, &at, &n) == ARCHIVE_OK)
		room += source_pages((uint64_t)n);
	return room;
}

/* Finds the files that the archive's hard links name: only these are remembered when it is read. */
static int find_targets(struct export_source *x, struct fail *f)
{
	struct archive_entry *member;
	int r = open_tar(x, f);
	while (r == 0 && (r = next_header(x, &member, f)) == 1) {
		const char *link = libarchive.archive_entry_hardlink(member);
		AUTO(freep) char *name = NULL, *target = NULL;
		r = 0;
		if (atomic_load(&x->source.stop))
			return fail_set(f, FAIL_CANCELLED, "cancelled");
		if (!link)
			continue;
		if (read_name(libarchive.archive_entry_pathname(member), &name, f) < 0 ||
		    read_name(link, &target, f) < 0)
			return -1;
		/* The part to read is a hard link itself, so the file is read by its first name. */
		if (streq(name, x->below)) {
			free(x->below);
			x->below = xstrdup(target);
		}
		table_add(&x->targets, target, strlen(target), "", 1);
		if (x->targets.n > ENTRY_LINKED_MAX || x->targets.bytes > 2 * ENTRY_LINKED_BYTES_MAX)
			return hostile(target, "exceeds the limit of files with several names", f);
	}
	return r < 0 ? r : open_tar(x, f);
}

static int measure_tar(struct export_source *x, struct measure *ret, struct fail *f)
{
	struct archive_entry *member;
	int r;
	if (find_targets(x, f) < 0)
		return -1;
	while ((r = next_header(x, &member, f)) == 1) {
		AUTO(freep) char *name = NULL, *first = NULL;
		struct entry e;
		if (atomic_load(&x->source.stop))
			return fail_set(f, FAIL_CANCELLED, "cancelled");
		int fits = read_member(x, member, &e, &name, &first, f);
		if (fits < 0)
			return -1;
		if (!fits)
			continue;
		ret->directory = ret->directory || (!e.path_len && e.type == ENTRY_DIRECTORY);
		ret->size += e.size;
		ret->room += room_of(member, e.size);
		if (++ret->entries > SOURCE_ENTRIES_MAX)
			return hostile(name, "exceeds the limit of files", f);
	}
	if (r == 0 && !ret->entries && !*x->below)
		return unreadable(x, "the archive is empty", f);
	if (r == 0 && !ret->entries)
		return fail_set(f, FAIL_INVALID, "'%s' is not in the directory that was exported", x->below);
	return r < 0 ? r : open_tar(x, f);
}

static int export_measure(struct source *s, struct measure *ret, struct fail *f)
{
	struct export_source *x = container_of(s, struct export_source, source);
	struct stat st;
	*ret = (struct measure){ 0 };
	if (x->directory)
		return measure_tar(x, ret, f);
	if (open_file(x, &st, f) < 0)
		return -1;
	*ret = (struct measure){ .size = (uint64_t)st.st_size, .room = source_data_bytes(x->fd, &st), .entries = 1 };
	source_reader_start(&x->reader, x->fd, &st);
	return 0;
}

/* ---- sending */

static int send_file(struct export_source *x, uint32_t call, size_t max, struct buf *out, struct fail *f)
{
	int r = 1;
	if (!x->began)
		source_put_entry(out, call,
				 &(struct entry){ .type = ENTRY_FILE,
						  .mode = x->mode,
						  .mtime = (int64_t)(x->mtime_ms / 1000),
						  .mtime_ns = (uint32_t)(x->mtime_ms % 1000) * 1000000,
						  .size = x->reader.size,
						  .path = "",
						  .target = "" });
	x->began = true;
	while (r == 1 && out->len < max)
		r = source_read(&x->reader, call, out);
	return r < 0 ? unreadable(x, strerror(-r), f) : r;
}

static void send_block(struct export_source *x, uint32_t call, struct buf *out)
{
	size_t n = MIN(x->block_len, FILE_DATA_MAX);
	uint8_t *at = buf_reserve(out, FRAME_HEADER_SIZE + 8 + n);
	frame_header_write(at, &(struct frame_header){ .length = 8 + (uint32_t)n, .type = FRAME_DATA, .call = call });
	entry_put_number(at + FRAME_HEADER_SIZE, 8, x->block_at);
	memcpy(at + FRAME_HEADER_SIZE + 8, x->block, n);
	out->len += FRAME_HEADER_SIZE + 8 + n;
	x->block += n;
	x->block_len -= n;
	x->block_at += n;
}

static int next_block(struct export_source *x, struct fail *f)
{
	const void *data;
	int64_t at;
	int r = libarchive.archive_read_data_block(x->tar, &data, &x->block_len, &at);
	x->block = data;
	x->block_at = (uint64_t)at;
	x->in_file = r == ARCHIVE_OK || r == ARCHIVE_WARN;
	if (!x->in_file)
		x->block_len = 0;
	return x->in_file || r == ARCHIVE_EOF ? 0 : unreadable(x, libarchive.archive_error_string(x->tar), f);
}

static int next_member(struct export_source *x, uint32_t call, struct buf *out, struct fail *f)
{
	struct archive_entry *member;
	AUTO(freep) char *name = NULL, *first = NULL;
	struct entry e;
	int r = next_header(x, &member, f);
	if (r <= 0)
		return r;
	r = read_member(x, member, &e, &name, &first, f);
	if (r < 0)
		return -1;
	if (r == 1) {
		source_put_entry(out, call, &e);
		x->in_file = e.type == ENTRY_FILE && e.size > 0;
	}
	return 1;
}

static int export_produce(struct source *s, uint32_t call, size_t max, struct buf *out, struct fail *f)
{
	struct export_source *x = container_of(s, struct export_source, source);
	int r = 1;
	if (!x->directory)
		return send_file(x, call, max, out, f);
	while (r == 1 && out->len < max) {
		if (atomic_load(&s->stop))
			return fail_set(f, FAIL_CANCELLED, "cancelled");
		if (x->block_len)
			send_block(x, call, out);
		else if (x->in_file)
			r = next_block(x, f) < 0 ? -1 : 1;
		else
			r = next_member(x, call, out, f);
	}
	return r;
}

/* ---- life */

static void export_release(struct source *s)
{
	struct export_source *x = container_of(s, struct export_source, source);
	if (x->tar)
		libarchive.archive_read_free(x->tar);
	closep(&x->fd);
	free(x->file);
	free(x->below);
	table_release(&x->targets);
	free(x);
}

struct source *source_export(const struct source_export *e)
{
	static const struct source_ops ops = { export_measure, export_produce, export_release };
	struct export_source *x = new0(struct export_source);
	x->source.ops = &ops;
	x->file = xstrdup(e->file);
	x->below = xstrdup(e->below);
	x->directory = e->directory;
	x->links = e->links;
	x->mode = (uint32_t)e->mode & ENTRY_MODE_MASK;
	x->mtime_ms = e->mtime_ms;
	x->fd = -1;
	return &x->source;
}
