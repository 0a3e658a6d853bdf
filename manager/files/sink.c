#include "manager/files/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/sizes.h"
#include "base/table.h"
#include "kernels/entry.h"
#include "kernels/protocol.h"
#include "manager/files/names.h"
#include "manager/files/source.h"
#include "manager/files/tarball.h"
#include "manager/files/vault.h"

#define WRITE_BACK_BYTES (8u << 20)

struct sink {
	char *storage_dir, *name;
	struct sink_limits limits;
	struct vault_file *file;
	struct digest *digest;
	struct tarball *tar; /* for a directory */
	struct table linked; /* paths of its files that may have hard links */
	uint64_t written;    /* bytes in the vault */
	uint64_t on_its_way; /* end of the data whose write-back was started */
	bool full;	     /* the archive would exceed its limit */
	struct fail refused; /* why there is no room for the archive */

	/* The current entry. */
	struct entry entry; /* its strings are in `strings` */
	struct buf strings;
	bool is_open, header_written;
	struct tarball_piece *pieces;
	size_t n_pieces;
	bool sparse;
	uint64_t at;	 /* bytes of it that were written, including holes */
	uint64_t hashed; /* bytes hashed, including holes; only sink_hash() uses it until all data has arrived */

	uint64_t bytes, apparent;
	uint64_t declared; /* size of the archive's members, including zeros in place of missing data */
	struct sink_result result;
	atomic_bool stop, fell_short;
	uint64_t readable; /* size of a passed file when its descriptor arrived */
};

struct sink *sink_new(const char *storage_dir, const char *name, const struct sink_limits *limits)
{
	struct sink *s = new0(struct sink);
	s->storage_dir = xstrdup(storage_dir);
	s->name = xstrdup(name);
	s->limits = *limits;
	return s;
}

struct sink *sink_free(struct sink *s)
{
	if (!s)
		return NULL;
	tarball_free(s->tar);
	table_release(&s->linked);
	vault_free(s->file);
	digest_free(s->digest);
	buf_release(&s->strings);
	fail_release(&s->refused);
	free(s->pieces);
	free(s->storage_dir);
	free(s->name);
	free(s);
	return NULL;
}

void sink_stop(struct sink *s)
{
	atomic_store(&s->stop, true);
}

static bool is_stopped(struct sink *s, struct fail *f)
{
	if (!atomic_load(&s->stop))
		return false;
	fail_set(f, FAIL_CANCELLED, "cancelled");
	return true;
}

static int broken(struct fail *f)
{
	return fail_set(f, FAIL_INTERNAL, "the container sent a malformed list of files");
}

static int too_much(struct fail *f)
{
	fail_set(f, FAIL_LIMIT, "it is larger than the session's file systems can hold");
	return fail_hint(
		f,
		"Holes in files count, and so does a header per file: export less of it, or an archive made in the session.");
}

/* Replaces libarchive's own failure, which would only say that the file is too large. */
static int archived(struct sink *s, int r, struct fail *f)
{
	if (r < 0 && s->refused.kind) {
		fail_release(f);
		fail_move(f, &s->refused);
		return -1;
	}
	return r < 0 && s->full ? too_much(f) : r;
}

/* ---- limits */

/* Call it before n more bytes are written, from any thread. */
static int check_floor(const struct sink *s, uint64_t n, struct fail *f)
{
	return vault_check_floor(s->file, s->limits.floor, n, f);
}

static int check_most(const struct sink *s, uint64_t size, struct fail *f)
{
	if (!s->limits.most || size <= s->limits.most)
		return 0;
	char most[SIZES_TEXT];
	fail_set(f, FAIL_LIMIT, "it is larger than the limit for all exports of a conversation, %s",
		 sizes_text(s->limits.most, most));
	return fail_hint(
		f,
		"Export less of it. EXPORTS_MAX_SIZE_PER_CONVERSATION and EXPORTS_MAX_SIZE are the operator's settings.");
}

/* ---- the file in the vault */

static int write_at(int fd, const void *data, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = pwrite(fd, (const char *)data + done, n - done, (off_t)(at + done));
		if (r < 0 && errno != EINTR)
			return -errno;
		done += r > 0 ? (size_t)r : 0;
	}
	return 0;
}

/* Starts the write-back while more data arrives, so that the sync at the end is short. */
static void write_back(struct sink *s)
{
	uint64_t end = s->tar ? s->written : s->at;
	if (end - s->on_its_way < WRITE_BACK_BYTES)
		return;
	(void)sync_file_range(vault_fd(s->file), (off_t)s->on_its_way, (off_t)(end - s->on_its_way),
			      SYNC_FILE_RANGE_WRITE);
	s->on_its_way = end;
}

static int on_tar_bytes(void *ctx, const void *data, size_t n)
{
	struct sink *s = ctx;
	/* Headers count too: an empty member takes a kilobyte or more. */
	s->full = n > s->limits.bytes - MIN(s->written, s->limits.bytes);
	if (check_most(s, s->written + n, &s->refused) < 0 || check_floor(s, n, &s->refused) < 0)
		return -EFBIG;
	int r = s->full ? -EFBIG : write_at(vault_fd(s->file), data, n, s->written);
	if (r < 0)
		return r;
	digest_add(s->digest, data, n);
	s->written += n;
	return 0;
}

static int disk_failed(int error, struct fail *f)
{
	fail_set(f, FAIL_STORE, "cannot write to STORAGE_DIR: %s", strerror(-error));
	return fail_hint(f, "Check that STORAGE_DIR has free space.");
}

/* ---- one entry */

static const uint8_t zeros[1 << 18];

/* The archive needs zeros for holes; a file in the vault keeps the holes. */
static int put_zeros(struct sink *s, uint64_t n, struct fail *f)
{
	for (uint64_t left = s->tar ? n : 0; left;) {
		size_t piece = (size_t)MIN(left, sizeof(zeros));
		if (is_stopped(s, f) || archived(s, tarball_data(s->tar, zeros, piece, f), f) < 0)
			return -1;
		left -= piece;
	}
	s->at += n;
	return 0;
}

/* Hashes the zeros of a hole up to `end`. */
static int hash_zeros(struct sink *s, uint64_t end, struct fail *f)
{
	while (s->hashed < end) {
		size_t piece = (size_t)MIN(end - s->hashed, sizeof(zeros));
		if (is_stopped(s, f))
			return -1;
		digest_add(s->digest, zeros, piece);
		s->hashed += piece;
	}
	return 0;
}

static int write_header(struct sink *s, struct fail *f)
{
	if (s->header_written || !s->tar)
		return 0;
	s->header_written = true;
	/* A few bytes from the container must not become many on the disk. */
	if (!s->sparse)
		s->declared += s->entry.size;
	for (size_t i = 0; s->sparse && i < s->n_pieces; i++)
		s->declared += s->pieces[i].n;
	if (s->declared > s->limits.bytes)
		return too_much(f);
	return archived(s, tarball_entry(s->tar, &s->entry, s->sparse ? s->pieces : NULL, s->n_pieces, f), f);
}

static int end_entry(struct sink *s, struct fail *f)
{
	if (!s->is_open)
		return 0;
	s->is_open = false;
	if (write_header(s, f) < 0)
		return -1;
	return s->entry.type == ENTRY_FILE ? put_zeros(s, s->entry.size - s->at, f) : 0;
}

static void hold(struct sink *s, const struct entry *e)
{
	buf_reset(&s->strings);
	buf_add(&s->strings, e->path, e->path_len);
	buf_add(&s->strings, e->target, e->target_len);
	s->entry = *e;
	s->entry.path = buf_str(&s->strings);
	s->entry.target = s->entry.path + e->path_len;
	s->is_open = true;
	s->header_written = s->sparse = false;
	s->n_pieces = 0;
	s->at = 0;
}

static int begin(struct sink *s, const struct entry *e, struct fail *f)
{
	if (e->path_len || (e->type != ENTRY_FILE && e->type != ENTRY_DIRECTORY))
		return broken(f);
	s->file = vault_new(s->storage_dir, f);
	if (!s->file)
		return -1;
	s->result.directory = e->type == ENTRY_DIRECTORY;
	s->digest = digest_new(s->result.directory ? DIGEST_ANY_SIZE : e->size);
	s->result.mode = e->mode;
	s->result.mtime_ms = e->mtime < 0 ? 0 : (uint64_t)e->mtime * 1000 + e->mtime_ns / 1000000;
	if (!s->result.directory)
		return check_most(s, e->size, f);
	s->tar = tarball_new(s->name, on_tar_bytes, s, f);
	return s->tar ? 0 : -1;
}

/* A hard link must name a file in the archive, so that it cannot lead elsewhere when the archive is unpacked. */
static int check_links(struct sink *s, const struct entry *e, struct fail *f)
{
	if (e->type == ENTRY_LINK && !table_find(&s->linked, e->target, e->target_len))
		return broken(f);
	if (!e->linked || !s->tar)
		return 0;
	if (s->linked.n >= ENTRY_LINKED_MAX || s->linked.bytes + e->path_len > ENTRY_LINKED_BYTES_MAX ||
	    !table_add(&s->linked, e->path, e->path_len, NULL, 0))
		return broken(f);
	return 0;
}

static int take_entry(struct sink *s, const uint8_t *payload, size_t n, struct fail *f)
{
	struct entry e;
	if (!entry_read(payload, n, &e))
		return broken(f);
	if (end_entry(s, f) < 0)
		return -1;
	if (!s->file ? begin(s, &e, f) < 0 : !s->tar || !e.path_len)
		return f->kind ? -1 : broken(f);
	if (check_links(s, &e, f) < 0)
		return -1;
	s->apparent += e.size;
	s->result.size += e.size;
	if (++s->result.entries > SOURCE_ENTRIES_MAX || s->apparent > s->limits.apparent)
		return too_much(f);
	hold(s, &e);
	return 0;
}

static int take_map(struct sink *s, const uint8_t *payload, size_t n, struct fail *f)
{
	if (!s->is_open || s->entry.type != ENTRY_FILE || s->header_written || s->at || n % 16 ||
	    s->n_pieces + n / 16 > FILE_MAP_PIECES_MAX)
		return broken(f);
	s->sparse = true;
	s->pieces = xrealloc(s->pieces, (s->n_pieces + n / 16 + 1) * sizeof(*s->pieces));
	for (size_t i = 0; i < n; i += 16) {
		struct tarball_piece p = { entry_get_number(payload + i, 8), entry_get_number(payload + i + 8, 8) };
		uint64_t floor = s->n_pieces ? s->pieces[s->n_pieces - 1].at + s->pieces[s->n_pieces - 1].n : 0;
		if (p.at < floor || p.at > s->entry.size || p.n > s->entry.size - p.at)
			return broken(f);
		s->pieces[s->n_pieces++] = p;
	}
	return 0;
}

static int take_data(struct sink *s, const uint8_t *payload, size_t n, struct fail *f)
{
	if (n < 8 || !s->is_open || s->entry.type != ENTRY_FILE)
		return broken(f);
	uint64_t at = entry_get_number(payload, 8);
	const uint8_t *data = payload + 8;
	n -= 8;
	if (at < s->at || at > s->entry.size || n > s->entry.size - at)
		return broken(f);
	s->bytes += n;
	if (s->bytes > s->limits.bytes)
		return too_much(f);
	if (write_header(s, f) < 0 || put_zeros(s, at - s->at, f) < 0)
		return -1;
	if (s->tar) {
		if (archived(s, tarball_data(s->tar, data, n, f), f) < 0)
			return -1;
	} else {
		int r = check_floor(s, n, f) < 0 ? -1 : write_at(vault_fd(s->file), data, n, at);
		if (r < 0)
			return f->kind ? -1 : disk_failed(r, f);
	}
	s->at += n;
	write_back(s);
	return 0;
}

int sink_take(struct sink *s, const uint8_t *frames, size_t n, struct fail *f)
{
	while (n) {
		if (is_stopped(s, f))
			return -1;
		struct frame_header h = frame_header_read(frames);
		const uint8_t *payload = frames + FRAME_HEADER_SIZE;
		int r = h.type == FRAME_ENTRY ? take_entry(s, payload, h.length, f) :
			h.type == FRAME_MAP   ? take_map(s, payload, h.length, f) :
						take_data(s, payload, h.length, f);
		if (r < 0)
			return -1;
		frames += FRAME_HEADER_SIZE + h.length;
		n -= FRAME_HEADER_SIZE + h.length;
	}
	return 0;
}

bool sink_hashes(const struct sink *s)
{
	return s->file && !s->tar;
}

int sink_hash(struct sink *s, const uint8_t *frames, size_t n, struct fail *f)
{
	while (n) {
		struct frame_header h = frame_header_read(frames);
		const uint8_t *payload = frames + FRAME_HEADER_SIZE;
		if (h.type == FRAME_DATA) {
			if (hash_zeros(s, entry_get_number(payload, 8), f) < 0 || is_stopped(s, f))
				return -1;
			digest_add(s->digest, payload + 8, h.length - 8);
			s->hashed += h.length - 8;
		}
		frames += FRAME_HEADER_SIZE + h.length;
		n -= FRAME_HEADER_SIZE + h.length;
	}
	return 0;
}

/* ---- copying a passed file */

int64_t sink_open(struct sink *s, int file, struct fail *f)
{
	struct stat st;
	if (!s->is_open || s->entry.type != ENTRY_FILE || s->tar || s->sparse || s->at || !s->entry.size)
		return broken(f);
	/* A read of anything else may block forever. Files that /proc generates have no size. */
	if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return fail_set(f, FAIL_INTERNAL, "the container sent '%s', which is not a file", s->name);
	s->readable = (uint64_t)st.st_size;
	s->bytes = s->entry.size;
	if (s->bytes > s->limits.bytes)
		return too_much(f);
	if (check_floor(s, s->bytes, f) < 0)
		return -1;
	s->at = s->hashed = s->entry.size;
	return (int64_t)((s->entry.size + DIGEST_PIECE - 1) / DIGEST_PIECE);
}

/* Returns how many of the n bytes exist, or -1. The others are set to zero. */
static ssize_t read_at(struct sink *s, int file, uint8_t *data, size_t n, uint64_t at, struct fail *f)
{
	size_t done = 0, there = (size_t)MIN(n, s->readable - MIN(at, s->readable));
	while (done < there) {
		ssize_t r = pread(file, data + done, there - done, (off_t)(at + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fail_set(f, FAIL_INVALID, "'%s' cannot be read: %s", s->name, strerror(errno));
		if (r == 0)
			break;
		done += (size_t)r;
	}
	if (done < n)
		atomic_store(&s->fell_short, true);
	memset(data + done, 0, n - done);
	return (ssize_t)done;
}

int sink_copy(struct sink *s, int file, uint64_t piece, uint8_t *buffer, struct digest **ret, struct fail *f)
{
	uint64_t start = piece * DIGEST_PIECE, end = MIN(start + DIGEST_PIECE, s->entry.size);
	struct digest *digest = digest_new(s->entry.size);
	/* SINK_COPY_BYTES is small, so that data is still in the CPU's cache when it is written and hashed. */
	for (uint64_t at = start; at < end; at += SINK_COPY_BYTES) {
		size_t n = (size_t)MIN(end - at, SINK_COPY_BYTES);
		ssize_t there = is_stopped(s, f) || check_floor(s, n, f) < 0 ? -1 : read_at(s, file, buffer, n, at, f);
		/* The zeros for missing data are not written, so they stay a hole. */
		int r = there < 0 ? -1 : write_at(vault_fd(s->file), buffer, (size_t)there, at);
		if (r < 0) {
			digest_free(digest);
			return there < 0 ? -1 : disk_failed(r, f);
		}
		digest_add(digest, buffer, n);
	}
	(void)sync_file_range(vault_fd(s->file), (off_t)start, (off_t)(end - start), SYNC_FILE_RANGE_WRITE);
	*ret = digest;
	return 0;
}

void sink_put(struct sink *s, uint64_t piece, struct digest *digest)
{
	digest_put(s->digest, piece, digest);
}

uint64_t sink_size(const struct sink *s)
{
	return s->entry.size;
}

bool sink_fell_short(const struct sink *s)
{
	return atomic_load(&s->fell_short);
}

int sink_keep(struct sink *s, struct sink_result *ret, struct fail *f)
{
	if (!s->file)
		return broken(f);
	if (end_entry(s, f) < 0 || (s->tar && archived(s, tarball_end(s->tar, f), f) < 0))
		return -1;
	if (!s->tar) {
		s->written = s->entry.size;
		if (ftruncate(vault_fd(s->file), (off_t)s->written) < 0)
			return disk_failed(-errno, f);
		if (hash_zeros(s, s->written, f) < 0)
			return -1;
	}
	s->result.stored = s->written;
	digest_end(s->digest, s->result.hash);
	*ret = s->result;
	/* If the copy was cancelled, the file would stay in the vault without a record. */
	if (is_stopped(s, f))
		return -1;
	if (s->limits.temporary) {
		ret->content = fcntl(vault_fd(s->file), F_DUPFD_CLOEXEC, 3);
		return ret->content < 0 ? disk_failed(-errno, f) : 0;
	}
	AUTO(freep) char *file = names_host_file(s->name, ret->directory);
	return vault_keep(s->file, ret->hash, file, f);
}
