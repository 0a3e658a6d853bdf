/* manager/files: limits on the data that a hostile container makes the host write, and host files that it cannot
 * read. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "manager/files/exports.h"
#include "manager/files/sink.h"
#include "manager/files/source.h"
#include "manager/files/vault.h"
#include "manager/line/wire.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)

static char *folder;

static int make_folder(void **state)
{
	char name[] = "/tmp/husk-sink-XXXXXX";
	folder = xstrdup(mkdtemp(name));
	return 0;
}

static int remove_folder(void **state)
{
	(void)scratch_remove(folder);
	free(take_ptr(folder));
	return 0;
}

/* ---- zeros */

static void put_entry(struct buf *out, enum entry_type type, const char *path, uint64_t size)
{
	source_put_entry(out, 1,
			 &(struct entry){ .type = type,
					  .mode = 0644,
					  .size = size,
					  .path = path,
					  .path_len = strlen(path),
					  .target = "" });
}

static void put_piece(struct buf *out, uint64_t at, uint64_t n)
{
	uint8_t payload[16];
	entry_put_number(payload, 8, at);
	entry_put_number(payload + 8, 8, n);
	wire_put(out, FRAME_MAP, 1, payload, sizeof(payload));
}

static struct sink *new_sink(void)
{
	return sink_new(folder, "x", &(struct sink_limits){ .bytes = MIB, .apparent = 1024 * MIB });
}

/* Feeds the frames to a sink and keeps the file. Returns 0, or -1 with f filled. */
static int keep(const struct buf *frames, struct sink_result *ret, struct fail *f)
{
	struct sink *s = new_sink();
	int r = sink_take(s, frames->data, frames->len, f) < 0 ||
				(sink_hashes(s) && sink_hash(s, frames->data, frames->len, f) < 0) ||
				sink_keep(s, ret, f) < 0 ?
			-1 :
			0;
	sink_free(s);
	return r;
}

static void announced_sizes_are_limited_by_the_data(void **state)
{
	/* A file of this size in a directory. If it has a piece of data, the piece is announced but not sent. */
	static const struct {
		uint64_t size, at, n;
		bool has_piece, fits;
	} cases[] = {
		{ 2 * MIB, .fits = false },
		{ MIB / 2, .fits = true },
		{ 512 * MIB, 100 * MIB, 2 * MIB, .has_piece = true, .fits = false },
		{ 64 * MIB, 10 * MIB, 4096, .has_piece = true, .fits = true },
		{ 64 * MIB, 64 * MIB, 0, .has_piece = true, .fits = true },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf_release) struct buf in = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		struct sink_result kept;
		put_entry(&in, ENTRY_DIRECTORY, "", 0);
		put_entry(&in, ENTRY_FILE, "f", cases[i].size);
		if (cases[i].has_piece)
			put_piece(&in, cases[i].at, cases[i].n);
		int r = keep(&in, &kept, &f);
		assert_int_equal(r, cases[i].fits ? 0 : -1);
		assert_int_equal(f.kind, cases[i].fits ? FAIL_NONE : FAIL_LIMIT);
		if (cases[i].fits)
			assert_true(kept.size == cases[i].size && kept.stored < MIB + 65536);
	}
}

static int keep_limited(const struct buf *frames, const struct sink_limits *limits, struct fail *f)
{
	struct sink_result kept;
	struct sink *s = sink_new(folder, "x", limits);
	int r = sink_take(s, frames->data, frames->len, f) < 0 || sink_keep(s, &kept, f) < 0 ? -1 : 0;
	sink_free(s);
	return r;
}

/* evidence: exports-limits */
static void free_space_and_settings_limit_an_export(void **state)
{
	const struct {
		struct sink_limits limits;
		const char *words;
	} cases[] = {
		{ { .bytes = MIB, .apparent = MIB, .floor = 1ull << 60 }, "CONTAINER_DISK_FLOOR" },
		{ { .bytes = MIB, .apparent = MIB, .most = 100000 }, "larger than the limit for all exports" },
		{ { .bytes = MIB, .apparent = MIB, .most = MIB, .floor = 1 }, NULL },
	};
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		AUTO(buf_release) struct buf in = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		uint8_t data[8 + 200000] = { 0 };
		const char *words = cases[i / 2].words;
		/* A file, and one in a directory. */
		if (i % 2)
			put_entry(&in, ENTRY_DIRECTORY, "", 0);
		put_entry(&in, ENTRY_FILE, i % 2 ? "f" : "", 200000);
		wire_put(&in, FRAME_DATA, 1, data, sizeof(data));
		assert_int_equal(keep_limited(&in, &cases[i / 2].limits, &f), words ? -1 : 0);
		assert_int_equal(f.kind, words ? FAIL_LIMIT : FAIL_NONE);
		if (words)
			assert_non_null(strstr(f.message, words));
	}
}

static void many_files_share_the_limit(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	put_entry(&in, ENTRY_DIRECTORY, "", 0);
	put_entry(&in, ENTRY_FILE, "a", MIB / 2);
	put_entry(&in, ENTRY_FILE, "b", MIB / 2);
	put_entry(&in, ENTRY_FILE, "c", 1);
	assert_int_equal(keep(&in, &kept, &f), -1);
	assert_int_equal(f.kind, FAIL_LIMIT);
}

/* Empty files take a header each. */
static void headers_count_against_the_limit(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	put_entry(&in, ENTRY_DIRECTORY, "", 0);
	for (int i = 0; i < 2100; i++) {
		AUTO(freep) char *name = xasprintf("f%d", i);
		put_entry(&in, ENTRY_FILE, name, 0);
	}
	assert_int_equal(keep(&in, &kept, &f), -1);
	assert_int_equal(f.kind, FAIL_LIMIT);
	assert_non_null(strstr(f.hint, "header"));
}

static void a_stopped_sink_keeps_nothing(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	struct sink *s = new_sink();
	put_entry(&in, ENTRY_FILE, "", 1000 * MIB);
	assert_int_equal(sink_take(s, in.data, in.len, &f), 0);
	sink_stop(s);
	assert_int_equal(sink_keep(s, &kept, &f), -1);
	assert_int_equal(f.kind, FAIL_CANCELLED);
	sink_free(s);
	/* Only the folder for incoming files is there, and it is empty. */
	AUTO(freep) char *incoming = xasprintf("%s/exports/incoming", folder), *vault = xasprintf("%s/exports", folder);
	assert_int_equal(rmdir(incoming), 0);
	assert_int_equal(rmdir(vault), 0);
}

/* ---- the file itself */

#define LARGE (2 * DIGEST_PIECE + 12345)
/* In Python: d = bytes(i * 7 % 251 for i in range(8400953)), p = [d[i:i + (4 << 20)] for i in range(0, len(d), 4 << 20)],
 * sha256(b"".join(sha256(x).digest() for x in p)).hexdigest() */
#define LARGE_HASH "6a72c6d4ead46500bdf27b0f59d0c9a9df58f3cbc103a82d38f7c205d1544af9"

static uint8_t *large_content(void)
{
	uint8_t *data = xmalloc(LARGE);
	for (size_t i = 0; i < LARGE; i++)
		data[i] = (uint8_t)(i * 7 % 251);
	return data;
}

static int file_with(const void *data, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t at = 0; at < n;)
		at += (size_t)write(fd, (const uint8_t *)data + at, n - at);
	return fd;
}

/* A sink that has taken the ENTRY of a file of this size. */
static struct sink *sink_for(uint64_t size)
{
	AUTO(buf_release) struct buf in = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink *s = sink_new(folder, "x", &(struct sink_limits){ .bytes = 16 * MIB, .apparent = 1024 * MIB });
	put_entry(&in, ENTRY_FILE, "", size);
	assert_int_equal(sink_take(s, in.data, in.len, &f), 0);
	return s;
}

static int copy_piece(struct sink *s, int file, uint64_t piece, struct fail *f)
{
	static uint8_t buffer[SINK_COPY_BYTES];
	struct digest *digest = NULL;
	if (sink_copy(s, file, piece, buffer, &digest, f) < 0)
		return -1;
	sink_put(s, piece, digest);
	return 0;
}

static void a_file_can_come_as_a_descriptor(void **state)
{
	AUTO(freep) uint8_t *content = large_content(), *kept_content = xmalloc(LARGE);
	AUTO(closep) int file = file_with(content, LARGE);
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	struct sink *s = sink_for(LARGE);
	assert_int_equal(sink_open(s, file, &f), 3);
	static const uint64_t order[] = { 2, 0, 1 };
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		assert_int_equal(copy_piece(s, file, order[i], &f), 0);
	assert_false(sink_fell_short(s));
	assert_int_equal(sink_keep(s, &kept, &f), 0);
	sink_free(s);
	assert_string_equal(kept.hash, LARGE_HASH);
	assert_int_equal(kept.stored, LARGE);
	AUTO(freep) char *path = vault_path(folder, kept.hash, "x");
	AUTO(closep) int again = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(again, kept_content, LARGE, 0), LARGE);
	assert_memory_equal(kept_content, content, LARGE);
}

static void hash_data(const uint8_t *content, size_t n, uint64_t declared, char ret[DIGEST_SIZE])
{
	struct digest *d = digest_new(declared);
	for (size_t at = 0; at < n; at += 100000)
		digest_add(d, content + at, MIN(n - at, (size_t)100000));
	digest_end(d, ret);
	digest_free(d);
}

/* Content gets the same name however it was sent, even if it ends at the end of a piece. */
static void data_and_a_descriptor_give_the_same_hash(void **state)
{
	AUTO(freep) uint8_t *content = large_content();
	static const size_t sizes[] = { 1, DIGEST_PIECE - 1, DIGEST_PIECE, DIGEST_PIECE + 1, 2 * DIGEST_PIECE, LARGE };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		AUTO(closep) int file = file_with(content, sizes[i]);
		AUTO(fail_release) struct fail f = { 0 };
		struct sink_result kept;
		struct sink *s = sink_for(sizes[i]);
		int64_t pieces = sink_open(s, file, &f);
		for (int64_t p = 0; p < pieces; p++)
			assert_int_equal(copy_piece(s, file, (uint64_t)p, &f), 0);
		assert_int_equal(sink_keep(s, &kept, &f), 0);
		sink_free(s);
		char hash[DIGEST_SIZE];
		hash_data(content, sizes[i], sizes[i], hash);
		assert_string_equal(kept.hash, hash);
		hash_data(content, sizes[i], DIGEST_ANY_SIZE, hash);
		assert_string_equal(kept.hash, hash);
		assert_string_equal(digest_kind(sizes[i]), sizes[i] <= DIGEST_PIECE ? "blake2b-256" : "sha256-4m");
	}
}

static void a_file_that_shrank_is_padded_with_zeros(void **state)
{
	AUTO(closep) int file = file_with("abc", 3);
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	struct sink *s = sink_for(10);
	assert_int_equal(sink_open(s, file, &f), 1);
	assert_int_equal(copy_piece(s, file, 0, &f), 0);
	assert_true(sink_fell_short(s));
	assert_int_equal(sink_keep(s, &kept, &f), 0);
	sink_free(s);
	char content[11] = { 0 };
	AUTO(freep) char *path = vault_path(folder, kept.hash, "x");
	AUTO(closep) int again = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(again, content, sizeof(content), 0), 10);
	assert_memory_equal(content, "abc\0\0\0\0\0\0", 10);
}

/* evidence: descriptors */
static void an_unreadable_descriptor_is_rejected(void **state)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	AUTO(closep) int reader = ends[0], writer = ends[1];
	AUTO(closep) int directory = open(folder, O_RDONLY | O_CLOEXEC),
			 device = open("/dev/zero", O_RDONLY | O_CLOEXEC), path = open(folder, O_PATH | O_CLOEXEC);
	const int descriptors[] = { reader, writer, directory, device, path, -1 };
	for (size_t i = 0; i < ARRAY_LEN(descriptors); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct sink *s = sink_for(100);
		assert_int_equal(sink_open(s, descriptors[i], &f), -1);
		assert_int_equal(f.kind, FAIL_INTERNAL);
		sink_free(s);
	}
	AUTO(freep) char *name = xasprintf("%s/only-written", folder);
	AUTO(closep) int written = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	AUTO(fail_release) struct fail f = { 0 };
	struct sink *s = sink_for(100);
	assert_int_equal(ftruncate(written, 100), 0);
	assert_int_equal(sink_open(s, written, &f), 1);
	assert_int_equal(copy_piece(s, written, 0, &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
	sink_free(s);
}

static void a_descriptor_comes_once_and_without_data(void **state)
{
	AUTO(closep) int file = file_with("abc", 3);
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf data = { 0 };
	uint8_t payload[9] = { 0 };
	wire_put(&data, FRAME_DATA, 1, payload, sizeof(payload));

	struct sink *s = new_sink(); /* no ENTRY */
	assert_int_equal(sink_open(s, file, &f), -1);
	sink_free(s);
	s = sink_for(3);
	assert_int_equal(sink_take(s, data.data, data.len, &f), 0);
	assert_int_equal(sink_open(s, file, &f), -1);
	sink_free(s);
	s = sink_for(3);
	assert_int_equal(sink_open(s, file, &f), 1);
	assert_int_equal(sink_open(s, file, &f), -1);
	assert_int_equal(sink_take(s, data.data, data.len, &f), -1);
	sink_free(s);
	s = sink_for(17 * MIB);
	fail_release(&f);
	assert_int_equal(sink_open(s, file, &f), -1);
	assert_int_equal(f.kind, FAIL_LIMIT);
	sink_free(s);
}

/* ---- the vault */

static void a_damaged_copy_is_replaced(void **state)
{
	AUTO(buf_release) struct buf in = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct sink_result kept;
	char first = 'x';
	put_entry(&in, ENTRY_FILE, "", 5);
	assert_int_equal(keep(&in, &kept, &f), 0);
	AUTO(freep) char *path = vault_path(folder, kept.hash, "x");
	assert_int_equal(chmod(path, 0600), 0);
	AUTO(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "damage", 5, 0), 5);
	assert_int_equal(keep(&in, &kept, &f), 0);
	AUTO(closep) int again = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(again >= 0 && pread(again, &first, 1, 0) == 1 && first == '\0');
}

#define REST_OF_HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define GOOD_HASH "ab" REST_OF_HASH

static void a_damaged_record_gives_a_harmless_path(void **state)
{
	static const char *const hashes[] = { "", "a", "../../../etc/passwd",
					      "/../../aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
					      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
		AUTO(freep) char *path = vault_path("/s", hashes[i], "a.csv"),
				 *old = vault_old_path("/s", hashes[i], ".csv");
		assert_string_equal(path, "/s/exports/no-hash/damaged-record");
		assert_string_equal(old, "/s/exports/no-hash/damaged-record");
	}
	static const char *const files[] = { "", ".", "..", "/etc/passwd", "../a", "a/b" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		AUTO(freep) char *path = vault_path("/s", GOOD_HASH, files[i]);
		assert_string_equal(path, "/s/exports/no-hash/damaged-record");
	}
}

static void an_older_export_keeps_its_path(void **state)
{
	struct config config = { .storage_dir = (char *)"/s" };
	static const struct {
		struct export_record record;
		const char *path;
	} cases[] = {
		{ { .hash = GOOD_HASH, .name = "a.csv" }, "/s/exports/ab/" REST_OF_HASH ".csv" },
		{ { .hash = GOOD_HASH, .name = "d", .directory = true }, "/s/exports/ab/" REST_OF_HASH ".tar" },
		{ { .hash = GOOD_HASH, .name = "a.csv", .file = "a.csv" }, "/s/exports/ab/" GOOD_HASH "/a.csv" },
		{ { .hash = GOOD_HASH, .name = "a.csv", .file = "../a.csv" }, "/s/exports/no-hash/damaged-record" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *path = export_file(&config, &cases[i].record);
		assert_string_equal(path, cases[i].path);
	}
}

static void make_file(const char *name, mode_t mode);

static void an_archive_that_cannot_be_read_says_what_to_do(void **state)
{
	AUTO(freep) char *empty = xasprintf("%s/empty", folder), *none = xasprintf("%s/none", folder);
	make_file("empty", 0600);
	for (int i = 0; i < 2; i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct measure all;
		struct source *s = source_export(
			&(struct source_export){ .file = i ? none : empty, .directory = true, .below = "" });
		assert_int_equal(s->ops->measure(s, &all, &f), -1);
		assert_non_null(strstr(f.message, "cannot be read"));
		assert_non_null(strstr(f.hint, "Export it again"));
		source_free(s);
	}
}

/* ---- files of the host */

static void make_file(const char *name, mode_t mode)
{
	AUTO(freep) char *path = xasprintf("%s/%s", folder, name);
	AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	assert_true(fd >= 0);
}

static void make_directory(const char *name, mode_t mode)
{
	AUTO(freep) char *path = xasprintf("%s/%s", folder, name);
	assert_int_equal(mkdir(path, mode), 0);
}

static struct source *open_host(const char *storage, const char *state_dir, const char *path)
{
	struct host_rules rules = { .storage_dir = xasprintf("%s/%s", folder, storage),
				    .state_dir = xasprintf("%s/%s", folder, state_dir) };
	return source_host(&rules, path);
}

static void unreadable_files_are_left_out(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct measure all;
	make_directory("storage", 0755);
	make_directory("storage/d", 0755);
	make_directory("storage/d/closed", 0);
	make_file("storage/d/secret", 0);
	make_file("storage/d/plain", 0644);
	struct source *s = open_host("storage", "none", "d");
	/* Root may read everything. */
	bool root = geteuid() == 0;
	assert_true(!root || (chmod(folder, 0755) == 0 && seteuid(65534) == 0));
	assert_int_equal(s->ops->measure(s, &all, &f), 0);
	assert_int_equal(s->ops->produce(s, 1, 100000, &out, &f), 0);
	assert_true(!root || seteuid(0) == 0);
	assert_int_equal(all.entries, 2);
	assert_int_equal(s->notices.n, 2);
	assert_non_null(strstr(s->notices.v[0], "may not be read"));
	source_free(s);
}

static bool host_reads(const char *storage, const char *state_dir, const char *name)
{
	AUTO(freep) char *path = xasprintf("%s/%s", folder, name);
	AUTO(fail_release) struct fail f = { 0 };
	struct measure all;
	struct source *s = open_host(storage, state_dir, path);
	bool read = s->ops->measure(s, &all, &f) == 0;
	source_free(s);
	return read;
}

static void storage_may_lie_in_the_state_folder(void **state)
{
	make_directory("state", 0700);
	make_directory("state/storage", 0700);
	make_directory("state/storage/exports", 0700);
	make_file("state/husk.db", 0600);
	make_file("state/storage/mine", 0600);
	make_file("state/storage/exports/theirs", 0600);
	assert_true(host_reads("state/storage", "state", "state/storage/mine"));
	assert_false(host_reads("state/storage", "state", "state/storage/exports/theirs"));
	assert_false(host_reads("state/storage", "state", "state/husk.db"));
	AUTO(freep) char *db = xasprintf("%s/state/husk.db", folder),
			 *hard = xasprintf("%s/state/storage/hard", folder);
	assert_int_equal(link(db, hard), 0);
	assert_false(host_reads("state/storage", "state", "state/storage/hard"));
	/* The same in the other direction. */
	make_file("state/plain", 0600);
	assert_true(host_reads("state", "state/storage", "state/plain"));
	assert_false(host_reads("state", "state/storage", "state/storage/mine"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(announced_sizes_are_limited_by_the_data),
		WITH_FOLDER(free_space_and_settings_limit_an_export),
		WITH_FOLDER(many_files_share_the_limit),
		WITH_FOLDER(headers_count_against_the_limit),
		WITH_FOLDER(a_stopped_sink_keeps_nothing),
		WITH_FOLDER(a_file_can_come_as_a_descriptor),
		WITH_FOLDER(data_and_a_descriptor_give_the_same_hash),
		WITH_FOLDER(a_file_that_shrank_is_padded_with_zeros),
		WITH_FOLDER(an_unreadable_descriptor_is_rejected),
		WITH_FOLDER(a_descriptor_comes_once_and_without_data),
		WITH_FOLDER(a_damaged_copy_is_replaced),
		cmocka_unit_test(a_damaged_record_gives_a_harmless_path),
		cmocka_unit_test(an_older_export_keeps_its_path),
		WITH_FOLDER(an_archive_that_cannot_be_read_says_what_to_do),
		WITH_FOLDER(unreadable_files_are_left_out),
		WITH_FOLDER(storage_may_lie_in_the_state_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
