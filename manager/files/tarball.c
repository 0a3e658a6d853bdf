#include "manager/files/tarball.h"

#include <errno.h>

#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/files/libarchive.h"

struct tarball {
	char *top;
	int (*fn)(void *ctx, const void *data, size_t n);
	void *ctx;
	struct archive *archive;
	int error; /* error of fn; later data is dropped */
};

static la_ssize_t write_block(struct archive *a UNUSED, void *ctx, const void *data, size_t n)
{
	struct tarball *t = ctx;
	/* The error is hidden from libarchive, which leaks memory of an archive that has failed. */
	if (!t->error)
		t->error = t->fn(t->ctx, data, n);
	return (la_ssize_t)n;
}

struct tarball *tarball_new(const char *top, int (*fn)(void *ctx, const void *data, size_t n), void *ctx,
			    struct fail *f)
{
	if (libarchive_load(f) < 0)
		return NULL;
	struct tarball *t = new0(struct tarball);
	t->top = xstrdup(top);
	t->fn = fn;
	t->ctx = ctx;
	t->archive = libarchive.archive_write_new();
	/* Names are treated as bytes, whatever the locale. */
	if (libarchive.archive_write_set_format_pax(t->archive) != ARCHIVE_OK ||
	    libarchive.archive_write_set_options(t->archive, "hdrcharset=BINARY") != ARCHIVE_OK ||
	    libarchive.archive_write_set_bytes_per_block(t->archive, 65536) != ARCHIVE_OK ||
	    libarchive.archive_write_set_bytes_in_last_block(t->archive, 1) != ARCHIVE_OK ||
	    libarchive.archive_write_open(t->archive, t, NULL, write_block, NULL) != ARCHIVE_OK)
		abort();
	return t;
}

struct tarball *tarball_free(struct tarball *t)
{
	if (!t)
		return NULL;
	/* An archive that was not finished need not be flushed. */
	if (!t->error)
		t->error = -ECANCELED;
	libarchive.archive_write_free(t->archive);
	free(t->top);
	free(t);
	return NULL;
}

static int cannot(const struct tarball *t, struct fail *f)
{
	const char *why = t->error ? strerror(-t->error) : libarchive.archive_error_string(t->archive);
	fail_set(f, FAIL_STORE, "cannot write the archive: %s", why ? why : "no reason given");
	return fail_hint(f, "Check that STORAGE_DIR has free space.");
}

static void set_name(const struct tarball *t, struct archive_entry *member, const struct entry *e)
{
	AUTO(freep) char *name = xasprintf("%s%s%.*s%s", t->top, e->path_len ? "/" : "", (int)e->path_len, e->path,
					   e->type == ENTRY_DIRECTORY ? "/" : "");
	libarchive.archive_entry_copy_pathname(member, name);
	if (e->type == ENTRY_SYMLINK) {
		AUTO(freep) char *target = xstrndup(e->target, e->target_len);
		libarchive.archive_entry_copy_symlink(member, target);
	}
	if (e->type == ENTRY_LINK) {
		AUTO(freep) char *target = xasprintf("%s/%.*s", t->top, (int)e->target_len, e->target);
		libarchive.archive_entry_copy_hardlink(member, target);
	}
}

int tarball_entry(struct tarball *t, const struct entry *e, const struct tarball_piece *pieces, size_t n,
		  struct fail *f)
{
	struct archive_entry *member = libarchive.archive_entry_new();
	libarchive.archive_entry_set_filetype(member, e->type == ENTRY_FILE	 ? AE_IFREG :
						      e->type == ENTRY_LINK	 ? AE_IFREG :
						      e->type == ENTRY_DIRECTORY ? AE_IFDIR :
										   AE_IFLNK);
	set_name(t, member, e);
	libarchive.archive_entry_set_perm(member, (mode_t)e->mode);
	libarchive.archive_entry_set_mtime(member, e->mtime, (long)e->mtime_ns);
	libarchive.archive_entry_set_uid(member, SANDBOX_UID);
	libarchive.archive_entry_set_gid(member, SANDBOX_GID);
	libarchive.archive_entry_set_size(member, (int64_t)e->size);
	for (size_t i = 0; pieces && i < n; i++)
		libarchive.archive_entry_sparse_add_entry(member, (int64_t)pieces[i].at, (int64_t)pieces[i].n);
	/* An empty piece at the end of a file marks the whole file as one hole. */
	if (pieces && !n)
		libarchive.archive_entry_sparse_add_entry(member, (int64_t)e->size, 0);
	int r = libarchive.archive_write_header(t->archive, member);
	libarchive.archive_entry_free(member);
	return (r == ARCHIVE_OK || r == ARCHIVE_WARN) && !t->error ? 0 : cannot(t, f);
}

int tarball_data(struct tarball *t, const void *data, size_t n, struct fail *f)
{
	for (size_t done = 0; done < n;) {
		la_ssize_t r = libarchive.archive_write_data(t->archive, (const char *)data + done, n - done);
		if (r <= 0 || t->error)
			return cannot(t, f);
		done += (size_t)r;
	}
	return 0;
}

int tarball_end(struct tarball *t, struct fail *f)
{
	return libarchive.archive_write_close(t->archive) == ARCHIVE_OK && !t->error ? 0 : cannot(t, f);
}
