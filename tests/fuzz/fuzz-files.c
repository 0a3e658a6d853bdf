/* Both ends of file transfers: a manager's frames become files below one directory only, and PID 1's frames become
 * an export that can be read again. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/files/import.h"
#include "kernels/system/frames.h"
#include "manager/files/sink.h"
#include "manager/files/source.h"
#include "manager/files/vault.h"
#include "manager/line/wire.h"
#include "tests/fuzz/fuzz.h"

static char folder[] = "/tmp/husk-fuzz-XXXXXX";

static int remove_one(const char *path, const struct stat *st UNUSED, int kind UNUSED, struct FTW *at UNUSED)
{
	return remove(path);
}

static void unlock_one(const char *path)
{
	(void)chmod(path, 0700);
}

static int unlock(const char *path, const struct stat *st UNUSED, int kind, struct FTW *at UNUSED)
{
	if (kind == FTW_D || kind == FTW_DNR)
		unlock_one(path);
	return 0;
}

static void clean(void)
{
	(void)nftw(folder, unlock, 16, FTW_PHYS);
	(void)nftw(folder, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static void prepare(void)
{
	static bool made;
	if (!made) {
		CHECK(mkdtemp(folder));
		atexit(clean);
		made = true;
	}
	clean();
	CHECK(mkdir(folder, 0700) == 0);
}

/* ---- PID 1's end */

/* No component of a path is empty or leads elsewhere; "x.." is an ordinary name. */
static bool stays_below(const char *path, size_t n)
{
	AUTO(freep) char *framed = xasprintf("/%.*s/", (int)n, path);
	return n == 0 || (!strstr(framed, "//") && !strstr(framed, "/./") && !strstr(framed, "/../"));
}

static int take(struct import *im, const struct frame *f)
{
	struct entry e;
	if (f->header.type == FRAME_ENTRY) {
		if (!entry_read(f->payload, f->header.length, &e))
			return -EPROTO;
		CHECK(e.path_len <= ENTRY_PATH_MAX && stays_below(e.path, e.path_len));
		/* This machine's disk cannot hold every size that a frame can name. */
		return e.size > 1 << 20 ? -EFBIG : import_entry(im, &e);
	}
	if (f->header.type != FRAME_DATA || f->header.length < 8)
		return 0;
	return import_data(im, entry_get_number(f->payload, 8), f->payload + 8, f->header.length - 8);
}

static void import(const uint8_t *data, size_t n)
{
	AUTO(frame_reader_release) struct frame_reader reader = { 0 };
	struct pieces pieces = pieces_of(data, n);
	struct import *im;
	const uint8_t *piece;
	size_t size;
	int r = 0;
	AUTO(freep) char *root = xasprintf("%s/root", folder);
	CHECK(mkdir(root, 0700) == 0);
	AUTO(closep) int dir = open(root, O_RDONLY | O_DIRECTORY);
	CHECK(dir >= 0 && import_open(dir, n % 2 ? "a/b" : "a", &im) == 0);
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		struct frame frame;
		frame_reader_feed(&reader, piece, size);
		while (r >= 0 && (r = frame_reader_next(&reader, controller_payload_max, &frame)) > 0)
			r = take(im, &frame);
	}
	while (r >= 0 && (r = import_commit(im, 3)) > 0)
		;
	if (r < 0)
		free(import_explain(im, r));
	while (import_clear(im, 3))
		;
	import_free(im);
	/* There is nothing outside the root, and the staging directory is gone. */
	CHECK(rmdir(folder) < 0 && faccessat(AT_FDCWD, root, F_OK, 0) == 0);
	DIR *listing = opendir(root);
	for (const struct dirent *d; (d = readdir(listing));)
		CHECK(streq(d->d_name, ".") || streq(d->d_name, "..") || streq(d->d_name, "a"));
	closedir(listing);
}

/* ---- the manager's end */

static void read_back(const char *storage, const struct sink_result *kept)
{
	AUTO(freep) char *file = vault_path(storage, kept->hash, kept->directory ? "name.x.tar" : "name.x");
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf out = { 0 };
	struct measure all;
	struct source *s =
		source_export(&(struct source_export){ .file = file, .directory = kept->directory, .below = "" });
	CHECK(s->ops->measure(s, &all, &f) == 0);
	CHECK(all.size == kept->size && all.entries == kept->entries && all.directory == kept->directory);
	int r;
	while ((r = s->ops->produce(s, 1, 1000, &out, &f)) == 1)
		buf_reset(&out);
	CHECK(r == 0);
	source_free(s);
}

static void export(const uint8_t *data, size_t n)
{
	AUTO(wire_release) struct wire wire = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *storage = xasprintf("%s/storage", folder);
	struct sink *s = sink_new(storage, "name.x", &(struct sink_limits){ .bytes = 1 << 20, .apparent = 1 << 20 });
	struct wire_frame frame;
	struct sink_result kept;
	int r = 0;
	wire_feed(&wire, data + (n > 0), n - (n > 0));
	while (r >= 0 && wire_next(&wire, &frame) == 1) {
		AUTO(buf_release) struct buf one = { 0 };
		AUTO(strv_release) struct strv notices = { 0 };
		if (frame.type == FRAME_END && wire_read_files_end(&frame, &notices, NULL, &f) < 0)
			break;
		if (frame.type != FRAME_ENTRY && frame.type != FRAME_MAP && frame.type != FRAME_DATA)
			continue;
		wire_put(&one, (enum frame_type)frame.type, frame.call, frame.payload, frame.n);
		r = sink_take(s, one.data, one.len, &f);
		if (r >= 0 && sink_hashes(s))
			r = sink_hash(s, one.data, one.len, &f);
	}
	if (r >= 0 && !f.kind)
		r = sink_keep(s, &kept, &f);
	CHECK(r >= 0 || f.message);
	if (r >= 0 && !f.kind)
		read_back(storage, &kept);
	sink_free(s);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	prepare();
	import(data, n);
	export(data, n);
	return 0;
}
