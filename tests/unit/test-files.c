/* manager/files: names, which host files may be read, and a tree that is packed into vault and tar and unpacked
 * again. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "manager/files/names.h"
#include "manager/files/sink.h"
#include "manager/files/source.h"
#include "manager/files/unpack.h"
#include "manager/files/vault.h"
#include "manager/line/wire.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static char *folder;

static int make_folder(void **state)
{
	char name[] = "/tmp/husk-files-XXXXXX";
	folder = xstrdup(mkdtemp(name));
	return 0;
}

static int remove_folder(void **state)
{
	(void)scratch_remove(folder);
	free(take_ptr(folder));
	return 0;
}

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static void write_file(const char *path, const char *text)
{
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* ---- names */

static void paths_in_a_session_are_normalised(void **state)
{
	static const struct {
		const char *given, *path; /* NULL = rejected */
	} cases[] = {
		{ "a.txt", "/workspace/a.txt" },
		{ "./a//b/", "/workspace/a/b" },
		{ "/workspace", "/workspace" },
		{ "", "/workspace" },
		{ "/tmp/x/../y", "/tmp/y" },
		{ "/home/sandbox/.cache", "/home/sandbox/.cache" },
		{ "../tmp/x", "/tmp/x" },
		{ "a/../../etc/passwd", NULL },
		{ "/etc/passwd", NULL },
		{ "/workspacex", NULL },
		{ "/home/sandboxes", NULL },
		{ "/", NULL },
		{ "/workspace/../..", NULL },
		{ "~", "/home/sandbox" },
		{ "~/a/../b", "/home/sandbox/b" },
		{ "$HOME/a", "/home/sandbox/a" },
		{ "${HOME}", "/home/sandbox" },
		{ "$HOMES", "/workspace/$HOMES" },
		{ "~other/a", "/workspace/~other/a" },
		{ "a/~", "/workspace/a/~" },
		{ "./~", "/workspace/~" },
		{ "~/../x", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(freep) char *path = names_session_path(cases[i].given, &f);
		if (!cases[i].path)
			assert_null(path);
		else
			assert_string_equal(path, cases[i].path);
		assert_int_equal(f.kind, path ? FAIL_NONE : FAIL_INVALID);
		assert_true(path || strstr(f.message, "outside /workspace, /tmp and /home/sandbox (~): "));
	}
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *name = xcalloc(1, 300);
	memset(name, 'x', 256);
	assert_null(names_session_path(name, &f));
}

static void extension_and_type_follow_from_the_name(void **state)
{
	static const struct {
		const char *name, *extension, *mime;
	} cases[] = {
		{ "a.csv", ".csv", "text/csv" },
		{ "A.PNG", ".PNG", "image/png" },
		{ ".bashrc", "", "application/octet-stream" },
		{ "no", "", "application/octet-stream" },
		{ "x.", "", "application/octet-stream" },
		{ "evil./../x", "", "application/octet-stream" },
		{ "long.abcdefghijk", "", "application/octet-stream" },
		{ "a b\n?#\xff.md", ".md", "text/markdown" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_string_equal(names_extension(cases[i].name), cases[i].extension);
		assert_string_equal(names_mime(cases[i].name), cases[i].mime);
	}
	AUTO(freep) char *base = names_base("/a/b//");
	assert_string_equal(base, "b");
}

static void names_on_the_host(void **state)
{
	char many[300] = { 0 }, cut[256] = { 0 };
	memset(many, 'x', 290);
	memset(cut, 'x', 251);
	memcpy(cut + 251, ".tar", 4);
	const struct {
		const char *name;
		bool directory;
		const char *file;
	} cases[] = {
		{ "a.csv", false, "a.csv" },
		{ "out", true, "out.tar" },
		{ ".bashrc", false, ".bashrc" },
		{ "\xc3\xa9 t.md", false, "\xc3\xa9 t.md" },
		{ "a\nb\tc", false, "a_b_c" },
		{ "", false, "export" },
		{ "..", true, "export.tar" },
		{ "a/b", false, "a_b" },
		{ many, true, cut },
		{ "\x1b[31mred", false, "red" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *file = names_host_file(cases[i].name, cases[i].directory);
		assert_string_equal(file, cases[i].file);
	}
	/* A character is not cut in the middle. */
	for (int i = 0; i < 294; i += 2)
		memcpy(many + i, "\xc3\xa9", 2);
	AUTO(freep) char *file = names_host_file(many, false);
	assert_int_equal(strlen(file), 254);
}

/* ---- the host */

static int open_host(const char *source, struct fail *f)
{
	struct host_forbidden forbidden;
	struct host_rules rules = { .storage_dir = in_folder("storage"), .state_dir = in_folder("state") };
	AUTO(freep) char *allowed = in_folder("allowed");
	strv_add(&rules.allowed, allowed);
	int fd = host_open(&rules, source, &forbidden, f);
	host_rules_release(&rules);
	return fd;
}

static void check_host(const char *name, const char *error)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = *name == '/' ? xstrdup(name) : in_folder(name);
	AUTO(closep) int fd = open_host(path, &f);
	if (!error)
		assert_true(fd >= 0);
	else if (fd >= 0 || !strstr(f.message, error))
		fail_msg("%s: %s instead of %s", name, f.message ? f.message : "opened", error);
}

/* evidence: paths-host */
static void only_files_in_allowed_folders_open(void **state)
{
	static const char *const dirs[] = { "storage",	 "storage/exports", "storage/exports/ab", "state", "allowed",
					    "allowed/d", "outside" };
	static const char *const plain[] = { "storage/mine", "storage/exports/ab/cd", "state/husk.db",
					     "allowed/a",    "allowed/d/b",	      "outside/secret" };
	static const struct {
		const char *name, *target;
	} links[] = { { "allowed/out", "../outside" },
		      { "allowed/in", "d/b" },
		      { "outside/back", "../allowed/a" },
		      { "allowed/state", "../state" },
		      { "allowed/loop", "loop" } };
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		AUTO(freep) char *path = in_folder(dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		AUTO(freep) char *path = in_folder(plain[i]);
		write_file(path, "x");
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		AUTO(freep) char *path = in_folder(links[i].name);
		assert_int_equal(symlink(links[i].target, path), 0);
	}
	AUTO(freep) char *db = in_folder("state/husk.db"), *hard = in_folder("allowed/hard"),
			 *pipe = in_folder("allowed/pipe");
	assert_int_equal(link(db, hard), 0);
	assert_int_equal(mkfifo(pipe, 0600), 0);

	check_host("allowed/a", NULL);
	check_host("allowed", NULL);
	check_host("allowed/in", NULL);
	check_host("outside/back", NULL); /* although its target may be read */
	check_host("storage/mine", NULL);
	check_host("allowed/d/../a", NULL);
	check_host("outside/secret", "denied");
	check_host("outside/secret", "/allowed");
	check_host("outside/nothing", "denied");
	check_host("allowed/out/secret", "denied");
	check_host("allowed/../outside/secret", "denied");
	check_host("/etc/passwd", "denied");
	check_host("allowed/nothing", "not found");
	check_host("allowed/loop", "not found");
	check_host("allowed/pipe", "neither");
	check_host("allowed/hard", "keeps its own");
	check_host("allowed/state/husk.db", "denied");
	check_host("storage/exports", "keeps its own");
	check_host("storage/exports/ab/cd", "keeps its own");
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(closep) int fd = open_host("mine", &f);
	assert_true(fd >= 0);
}

/* evidence: paths-host */
/* A person may name any file, but Husk's key is never copied into a container. */
static void a_person_may_name_any_file_except_husks_own(void **state)
{
	AUTO(freep) char *outside = in_folder("outside"), *db = in_folder("state/husk.db"), *pipe = in_folder("pipe"),
			 *missing = in_folder("missing");
	const char *const good[] = { "/etc/passwd", outside, "/etc/../etc" }, *const bad[] = { db, pipe, missing };
	struct host_forbidden forbidden;
	struct host_rules rules = { .storage_dir = in_folder("storage"), .state_dir = in_folder("state"), .own = true };
	assert_int_equal(mkdir(rules.storage_dir, 0700) | mkdir(rules.state_dir, 0700) | mkdir(outside, 0700), 0);
	write_file(db, "x");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(closep) int fd = host_open(&rules, good[i], &forbidden, &f);
		assert_true(fd >= 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		assert_int_equal(host_open(&rules, bad[i], &forbidden, &f), -1);
		assert_non_null(strstr(f.message, bad[i]));
	}
	/* The descriptor that the caller opened is used, whatever its path is. */
	AUTO(fail_release) struct fail f = { 0 };
	rules.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	AUTO(closep) int fd = host_open(&rules, missing, &forbidden, &f);
	assert_true(fd >= 0);
	host_rules_release(&rules);
}

/* ---- vault, tar and back */

/* Measures the folder as `husk run` does. */
static void check_project(const char *error)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct host_rules rules = {
		.storage_dir = in_folder("s"), .state_dir = in_folder("t"), .own = true, .project = true
	};
	struct measure found;
	struct source *s = source_host(&rules, folder);
	assert_int_equal(s->ops->measure(s, &found, &f), error ? -1 : 0);
	source_free(s);
	assert_true(!error || (cause_of(&f) == CAUSE_FOLDER_TOO_LARGE && strstr(f.message, error)));
}

static void a_project_is_limited_in_files_and_bytes(void **state)
{
	AUTO(freep) char *rules = in_folder(".gitignore"), *git = in_folder(".git"), *pack = in_folder(".git/pack"),
			 *ignored = in_folder("ignored"), *data = in_folder("data");
	write_file(rules, "ignored\n");
	assert_int_equal(mkdir(git, 0700), 0);
	write_file(pack, "");
	write_file(ignored, "");
	write_file(data, "");
	assert_int_equal(truncate(pack, 65 << 20) | truncate(ignored, 65 << 20) | truncate(data, 63 << 20), 0);
	check_project(NULL);
	assert_int_equal(truncate(data, 65 << 20), 0);
	check_project("has more than 64 MB");
	assert_int_equal(truncate(data, 0), 0);
	for (int i = 0; i < 1000; i++) {
		AUTO(freep) char *path = xasprintf("%s/%d", folder, i);
		write_file(path, "");
	}
	check_project("has more than 1000 files");
}

static void put_entry(struct buf *out, enum entry_type type, const char *path, size_t path_len, uint64_t size,
		      const char *target)
{
	source_put_entry(out, 1,
			 &(struct entry){ .type = type,
					  .mode = 0640,
					  .mtime = 1600000000,
					  .mtime_ns = 250000000,
					  .size = size,
					  .path = path,
					  .path_len = path_len,
					  .target = target,
					  .target_len = strlen(target) });
}

static void put_data(struct buf *out, uint64_t at, const char *text)
{
	AUTO(buf_release) struct buf payload = { 0 };
	uint8_t offset[8];
	entry_put_number(offset, 8, at);
	buf_add(&payload, offset, 8);
	buf_add_str(&payload, text);
	wire_put(out, FRAME_DATA, 1, payload.data, payload.len);
}

static struct sink *new_sink(const char *name)
{
	return sink_new(folder, name, &(struct sink_limits){ .bytes = 1 << 20, .apparent = 1 << 30 });
}

static void keep(const struct buf *frames, const char *name, struct sink_result *ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct sink *s = new_sink(name);
	assert_int_equal(sink_take(s, frames->data, frames->len, &f), 0);
	assert_true(!sink_hashes(s) || sink_hash(s, frames->data, frames->len, &f) == 0);
	assert_int_equal(sink_keep(s, ret, &f), 0);
	sink_free(s);
}

static struct source *open_export(const struct sink_result *kept, const char *name, const char *below)
{
	AUTO(freep) char *file = vault_path(folder, kept->hash, name);
	return source_export(&(struct source_export){ .file = file,
						      .directory = kept->directory,
						      .below = below,
						      .mode = kept->mode,
						      .mtime_ms = kept->mtime_ms,
						      .links = true });
}

static void a_file_is_stored_by_hash_and_name(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	struct sink_result first, second;
	put_entry(&in, ENTRY_FILE, "", 0, 11, "");
	put_data(&in, 0, "hello ");
	put_data(&in, 6, "world");
	keep(&in, "a.txt", &first);
	keep(&in, "b.txt", &second);
	/* python3 -c 'import hashlib; print(hashlib.blake2b(b"hello world", digest_size=32).hexdigest())' */
	assert_string_equal(first.hash, "256c83b297114d201b30179f3f0ef0cace9783622da5974326b436178aeef610");
	assert_string_equal(first.hash, second.hash);
	assert_int_equal(first.size, 11);
	assert_false(first.directory);
	AUTO(freep) char *path = vault_path(folder, first.hash, "a.txt");
	AUTO(freep) char *other = vault_path(folder, first.hash, "b.txt");
	assert_int_equal(access(other, R_OK), 0);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	assert_int_equal(st.st_size, 11);
	AUTO(freep) char *incoming = in_folder("exports/incoming");
	assert_int_equal(rmdir(incoming), 0); /* it is empty */
}

#define ODD "odd \n\xff\xfe name"

static void a_tree_survives_a_round_trip(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	struct measure all;
	put_entry(&in, ENTRY_DIRECTORY, "", 0, 0, "");
	put_entry(&in, ENTRY_DIRECTORY, "d", 1, 0, "");
	put_entry(&in, ENTRY_FILE, "d/" ODD, strlen("d/" ODD), 5, "");
	put_data(&in, 0, "hello");
	put_entry(&in, ENTRY_FILE, "e", 1, 0, "");
	put_entry(&in, ENTRY_SYMLINK, "l", 1, 0, "/etc/passwd");
	keep(&in, "top", &kept);
	assert_true(kept.directory);
	assert_int_equal(kept.entries, 5);
	struct source *s = open_export(&kept, "top.tar", "");
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	assert_int_equal(all.entries, 5);
	assert_int_equal(all.room, 4096);
	assert_true(all.directory);
	int r;
	do {
		AUTO(buf_release) struct buf piece = { 0 };
		r = s->ops->produce(s, 1, 10, &piece, &f);
		buf_add(&out, piece.data, piece.len);
	} while (r == 1);
	assert_int_equal(r, 0);
	assert_int_equal(out.len, in.len);
	assert_memory_equal(out.data, in.data, in.len);
	source_free(s);
	/* Only the directory `d` of it. */
	s = open_export(&kept, "top.tar", "d");
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	assert_int_equal(all.entries, 2);
	source_free(s);
	s = open_export(&kept, "top.tar", "nothing");
	assert_int_equal(s->ops->measure(s, &all, &f), -1);
	source_free(s);
}

/* Adds a file to which hard links may follow. */
static void put_linked(struct buf *out, const char *path, uint64_t size)
{
	source_put_entry(out, 1,
			 &(struct entry){ .type = ENTRY_FILE,
					  .mode = 0640,
					  .linked = true,
					  .mtime = 1600000000,
					  .size = size,
					  .path = path,
					  .path_len = strlen(path),
					  .target = "" });
}

static void produce_all(struct source *s, struct buf *out)
{
	AUTO(fail_release) struct fail f = { 0 };
	int r = 1;
	while (r == 1) {
		AUTO(buf_release) struct buf piece = { 0 };
		r = s->ops->produce(s, 1, 10, &piece, &f);
		buf_add(out, piece.data, piece.len);
	}
	assert_int_equal(r, 0);
}

/* evidence: hard-links */
/* 65,000 names of half a megabyte count as one file in limits, sizes, the archive and imports. */
static void hard_links_are_one_file(void **state)
{
	enum { NAMES = 65000, SIZE = 512 << 10 };
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 }, one = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *data = xcalloc(1, SIZE / 16 + 1);
	char name[32];
	struct sink_result kept;
	struct measure all;
	memset(data, 'x', SIZE / 16);
	put_entry(&in, ENTRY_DIRECTORY, "", 0, 0, "");
	put_entry(&in, ENTRY_DIRECTORY, "d", 1, 0, "");
	put_linked(&in, "d/first", SIZE);
	for (unsigned i = 0; i < 16; i++)
		put_data(&in, i * (SIZE / 16), data);
	for (unsigned i = 0; i < NAMES; i++) {
		int n = snprintf(name, sizeof(name), "%u", i);
		put_entry(&in, ENTRY_LINK, name, (size_t)n, 0, "d/first");
	}
	struct sink *sink = sink_new(folder, "top", &(struct sink_limits){ .bytes = 128u << 20, .apparent = SIZE });
	assert_int_equal(sink_take(sink, in.data, in.len, &f), 0);
	assert_int_equal(sink_keep(sink, &kept, &f), 0);
	sink_free(sink);
	assert_int_equal(kept.size, SIZE);
	assert_int_equal(kept.entries, NAMES + 3);
	/* Three blocks of headers for each name. */
	assert_true(kept.stored < (NAMES + 10) * 1536ull + SIZE + 65536);
	struct source *s = open_export(&kept, "top.tar", "");
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	assert_int_equal(all.size, SIZE);
	assert_int_equal(all.room, SIZE);
	assert_int_equal(all.entries, NAMES + 3);
	produce_all(s, &out);
	assert_true(out.len < in.len + 4096 && out.len + 4096 > in.len);
	size_t last = FRAME_HEADER_SIZE + ENTRY_FIXED + strlen("64999d/first");
	assert_memory_equal(out.data + out.len - last, in.data + in.len - last, last);
	source_free(s);
	/* A single name is enough to get the file. */
	s = open_export(&kept, "top.tar", "777");
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	assert_int_equal(all.size, SIZE);
	produce_all(s, &one);
	assert_true(one.len > SIZE);
	source_free(s);
}

static void a_session_that_cannot_link_gets_no_links(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	struct sink_result kept;
	struct measure all;
	put_entry(&in, ENTRY_DIRECTORY, "", 0, 0, "");
	put_linked(&in, "a", 0);
	put_entry(&in, ENTRY_DIRECTORY, "d", 1, 0, "");
	put_entry(&in, ENTRY_LINK, "d/b", 3, 0, "a");
	keep(&in, "top", &kept);
	AUTO(freep) char *file = vault_path(folder, kept.hash, "top.tar");
	for (int i = 0; i < 2; i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct source *s = source_export(&(struct source_export){
			.file = file, .directory = true, .below = i ? "d" : "", .links = i == 1 });
		assert_int_equal(s->ops->measure(s, &all, &f), -1);
		assert_non_null(strstr(f.message, i ? "outside" : "older Husk"));
		source_free(s);
	}
	/* On the host they are links again. */
	AUTO(freep) char *to = in_folder("to"), *a = in_folder("to/a"), *b = in_folder("to/d/b");
	AUTO(strv_release) struct strv notices = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct stat st[2];
	assert_int_equal(unpack_folder(file, to, &notices, &f), 0);
	assert_int_equal(stat(a, &st[0]) | stat(b, &st[1]), 0);
	assert_int_equal(st[0].st_ino, st[1].st_ino);
	assert_int_equal(notices.n, 0);
}

/* evidence: hard-links, hostile-archives */
static void invalid_entries_from_a_container_are_rejected(void **state)
{
	for (int i = 0; i < 10; i++) {
		AUTO(buf_release) struct buf in = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		put_entry(&in,
			  i == 0 ? ENTRY_SYMLINK :
			  i < 4	 ? ENTRY_FILE :
				   ENTRY_DIRECTORY,
			  "", 0,
			  i == 3 ? 1ull << 31 :
			  i < 4	 ? 3 :
				   0,
			  i == 0 ? "x" : "");
		if (i == 1)
			put_data(&in, 0, "four");
		if (i == 2)
			put_entry(&in, ENTRY_FILE, "f", 1, 0, "");
		if (i == 4)
			put_entry(&in, ENTRY_DIRECTORY, "", 0, 0, "");
		if (i == 5)
			put_entry(&in, ENTRY_FILE, "../x", 4, 0, "");
		if (i == 6)
			put_data(&in, 0, "of a directory");
		if (i == 7)
			put_entry(&in, ENTRY_LINK, "l", 1, 0, "not there");
		if (i >= 8)
			put_entry(&in, ENTRY_FILE, "f", 1, 0, "");
		/* The file was not announced with other names, and no link leads outside. */
		if (i >= 8)
			put_entry(&in, ENTRY_LINK, "l", 1, 0, i == 8 ? "f" : "../f");
		struct sink *s = new_sink("x");
		assert_int_equal(sink_take(s, in.data, in.len, &f), -1);
		assert_non_null(f.message);
		sink_free(s);
	}
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	struct sink *s = new_sink("x");
	assert_int_equal(sink_keep(s, &kept, &f), -1); /* no frames came */
	sink_free(s);
}

/* ---- tar members that Husk did not write */

struct member {
	const char *name, *hardlink, *symlink;
	unsigned type;
};

static void write_tar(const char *path, const struct member *m)
{
	struct archive *a = archive_write_new();
	archive_write_set_format_pax(a);
	assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
	for (int i = 0; i < 2; i++) {
		struct archive_entry *e = archive_entry_new();
		archive_entry_set_pathname(e, i ? m->name : "top/");
		archive_entry_set_filetype(e, i ? m->type : AE_IFDIR);
		archive_entry_set_perm(e, 0755);
		if (i && m->hardlink)
			archive_entry_set_hardlink(e, m->hardlink);
		if (i && m->symlink)
			archive_entry_set_symlink(e, m->symlink);
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		archive_entry_free(e);
	}
	archive_write_free(a);
}

/* evidence: hard-links, hostile-archives */
static void hostile_members_are_refused(void **state)
{
	static const struct member bad[] = {
		{ "top/../../etc/x", .type = AE_IFREG },
		{ "/etc/x", .type = AE_IFREG },
		{ "../x", .type = AE_IFREG },
		{ "..", .type = AE_IFREG },
		{ "top//x", .type = AE_IFREG },
		{ "top/./x", .type = AE_IFREG },
		{ "top/dev", .type = AE_IFCHR },
		{ "top/blk", .type = AE_IFBLK },
		{ "top/pipe", .type = AE_IFIFO },
		{ "top/hard", "/etc/passwd", NULL, AE_IFREG },
		{ "top/hard", "top/other", NULL, AE_IFREG },
		{ "top/hard", "top/hard", NULL, AE_IFREG },
		{ "top/hard", "top/../x", NULL, AE_IFREG },
	};
	AUTO(freep) char *path = in_folder("hostile.tar");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct measure all;
		write_tar(path, &bad[i]);
		struct source *s = source_export(
			&(struct source_export){ .file = path, .directory = true, .below = "", .links = true });
		if (s->ops->measure(s, &all, &f) == 0)
			fail_msg("%s was taken", bad[i].name);
		source_free(s);
	}
	/* A link that points outside is kept as a link and never followed. */
	AUTO(fail_release) struct fail f = { 0 };
	struct measure all;
	write_tar(path, &(struct member){ "top/link", NULL, "/etc/passwd", AE_IFLNK });
	struct source *s =
		source_export(&(struct source_export){ .file = path, .directory = true, .below = "", .links = true });
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	source_free(s);
	write_file(path, "this is no archive");
	s = source_export(&(struct source_export){ .file = path, .directory = true, .below = "", .links = true });
	assert_int_equal(s->ops->measure(s, &all, &f), -1);
	source_free(s);
}

/* evidence: hard-links */
static void unpacking_stays_inside(void **state)
{
	static const struct member bad[] = {
		{ "top/../../x", .type = AE_IFREG }, { "top//x", .type = AE_IFREG },
		{ "top/out/x", .type = AE_IFREG },   { "top/out/x", .type = AE_IFDIR },
		{ "top/in/../x", .type = AE_IFREG },
	};
	static const struct member left_out[] = {
		{ "top/pipe", .type = AE_IFIFO },
		{ "top/hard", "/etc/passwd", NULL, AE_IFREG },
		{ "top/hard", "top/out/x", NULL, AE_IFREG },
		{ "top/hard", "top/out", NULL, AE_IFREG },
		{ "top/link", NULL, "/etc/passwd", AE_IFLNK },
		{ "top/d/link", NULL, "../../x", AE_IFLNK },
	};
	AUTO(freep) char *path = in_folder("x.tar"), *to = in_folder("to"), *link = in_folder("to/out"),
			 *outside = in_folder("outside"), *x = in_folder("outside/x"), *up = in_folder("x"),
			 *file = in_folder("to/file");
	AUTO(strv_release) struct strv notices = { 0 };
	assert_int_equal(mkdir(to, 0700) | mkdir(outside, 0700) | symlink(outside, link), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		write_tar(path, &bad[i]);
		if (unpack_folder(path, to, &notices, &f) == 0)
			fail_msg("%s was taken", bad[i].name);
		assert_true(access(x, F_OK) < 0 && access(up, F_OK) < 0);
	}
	assert_int_equal(notices.n, 0);
	AUTO(fail_release) struct fail f = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		write_tar(path, &left_out[i]);
		assert_int_equal(unpack_folder(path, to, &notices, &f), 0);
		assert_int_equal(notices.n, i + 1);
	}
	/* A link in place of a file is replaced, not followed. */
	assert_int_equal(symlink(x, file), 0);
	write_tar(path, &(struct member){ "top/file", .type = AE_IFREG });
	assert_int_equal(unpack_folder(path, to, &notices, &f), 0);
	struct stat st;
	assert_true(lstat(file, &st) == 0 && S_ISREG(st.st_mode) && access(x, F_OK) < 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_in_a_session_are_normalised),
		cmocka_unit_test(extension_and_type_follow_from_the_name),
		cmocka_unit_test(names_on_the_host),
		WITH_FOLDER(only_files_in_allowed_folders_open),
		WITH_FOLDER(a_person_may_name_any_file_except_husks_own),
		WITH_FOLDER(a_project_is_limited_in_files_and_bytes),
		WITH_FOLDER(a_file_is_stored_by_hash_and_name),
		WITH_FOLDER(a_tree_survives_a_round_trip),
		WITH_FOLDER(invalid_entries_from_a_container_are_rejected),
		WITH_FOLDER(hostile_members_are_refused),
		WITH_FOLDER(hard_links_are_one_file),
		WITH_FOLDER(a_session_that_cannot_link_gets_no_links),
		WITH_FOLDER(unpacking_stays_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
