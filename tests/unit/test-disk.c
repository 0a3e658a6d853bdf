/* kernels/disk/disk, kernels/disk/usage, kernels/disk/unlinked: what is counted, and what counts as hidden. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/proc.h"
#include "kernels/disk/disk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)

static char folder[PATH_MAX];

static int set_up(void **state)
{
	(void)snprintf(folder, sizeof(folder), "%s/husk-disk-XXXXXX", P_tmpdir);
	return mkdtemp(folder) ? 0 : -1;
}

/* Uses a file system that few other processes use, because files of other processes are counted too. */
static int set_up_in_memory(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/dev/shm/husk-disk-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	return scratch_remove(folder);
}

static int make_file(int dir, const char *name, size_t written, off_t length)
{
	AUTO(freep) char *data = xcalloc(1, written + 1);
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, written), written);
	if (length)
		assert_return_code(ftruncate(fd, length), errno);
	return fd;
}

static struct usage count(int steps)
{
	AUTO(freep) struct usage_walk *walk = new0(struct usage_walk);
	assert_return_code(usage_begin(walk, folder), 0);
	while (usage_step(walk, steps))
		continue;
	return walk->sum;
}

static void trees_are_counted_to_their_bottom(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 100; i++) {
		assert_return_code(mkdirat(dir, "d", 0700), errno);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	close(make_file(dir, "deep", MIB, 0));
	struct usage all = count(7);
	assert_true(all.bytes >= MIB && all.bytes < 3 * MIB);
	assert_int_equal(all.names, 101);
	assert_false(all.deep);
}

static void trees_that_are_too_deep_are_reported(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < USAGE_DEPTH_MAX + 10; i++) {
		assert_return_code(mkdirat(dir, "d", 0700), errno);
		int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	assert_true(count(1000).deep);
}

static void counts_links_holes_and_empty_files(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(make_file(dir, "linked", MIB, 0));
	for (char name[] = "0"; name[0] < '9'; name[0]++)
		assert_return_code(linkat(dir, "linked", dir, name, 0), errno);
	struct usage all = count(1000);
	assert_int_equal(all.names, 10);
	assert_true(all.bytes > MIB - 4096 && all.bytes <= MIB + 4096);
	close(make_file(dir, "sparse", 0, (off_t)(100 * MIB)));
	close(make_file(dir, "empty", 0, 0));
	all = count(1000);
	assert_int_equal(all.names, 12);
	assert_true(all.bytes <= MIB + 8192 && all.apparent >= 101 * MIB - 4096);
}

static void a_process_s_unlinked_files_are_counted_once(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(closep) int fd = make_file(dir, "gone", 3 * MIB, 0);
	AUTO(closep) int again = dup(fd);
	AUTO(closep) int kept = make_file(dir, "kept", MIB, 0);
	struct unlinked_walk walk;
	struct stat st;
	assert_return_code(unlinkat(dir, "gone", 0), errno);
	assert_return_code(fstat(fd, &st), errno);
	assert_return_code(unlinked_begin(&walk, st.st_dev), 0);
	while (unlinked_step(&walk, 100))
		continue;
	assert_true(walk.bytes >= 3 * MIB);
	assert_null(walk.seen);
}

static struct unlinked_walk walk_processes(void)
{
	struct unlinked_walk walk;
	struct stat st;
	assert_return_code(stat(folder, &st), errno);
	assert_return_code(unlinked_begin(&walk, st.st_dev), 0);
	while (unlinked_step(&walk, 100))
		continue;
	return walk;
}

static void send_fd(int socket, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 'x';
	struct msghdr message = {
		.msg_iov = &(struct iovec){ .iov_base = &byte, .iov_len = 1 },
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_return_code(sendmsg(socket, &message, 0), errno);
}

/* evidence: container-disk */
static void descriptors_in_flight_are_counted(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(closep) int fd = make_file(dir, "file", 1, 0);
	int ends[2];
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), errno);
	uint64_t others = walk_processes().in_flight;
	for (int i = 0; i < 100; i++)
		send_fd(ends[0], fd);
	uint64_t all = walk_processes().in_flight;
	close(ends[0]);
	close(ends[1]);
	assert_true(all >= others + 50 && all <= others + 150);
}

static void *hold(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	_exit(0);
}

/* evidence: container-disk */
static void a_child_s_unlinked_files_are_found_without_its_first_thread(void **state)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t before = walk_processes().bytes;
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;
		(void)make_file(dir, "gone", 16 * MIB, 0);
		unlinkat(dir, "gone", 0);
		pthread_mutex_lock(&mutex);
		pthread_create(&thread, NULL, hold, &mutex);
		syscall(SYS_exit, 0);
	}
	struct proc_stat stat = { 0 };
	while (stat.state != 'Z')
		assert_return_code(proc_stat(child, &stat), 0);
	uint64_t after = walk_processes().bytes;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(after >= before + 12 * MIB);
}

/* evidence: container-disk */
static void a_file_that_is_only_mapped_has_an_unknown_size(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = make_file(dir, "mapped", 3 * MIB, 0);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(page != MAP_FAILED);
	close(fd);
	assert_return_code(unlinkat(dir, "mapped", 0), errno);
	assert_true(walk_processes().partial);
	munmap(page, 4096);
}

static void a_directory_without_a_name_counts(void **state)
{
	AUTO(closep) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(mkdirat(dir, "d", 0700), errno);
	AUTO(closep) int held = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unlinked_walk before = walk_processes();
	assert_return_code(unlinkat(dir, "d", AT_REMOVEDIR), errno);
	struct stat st;
	assert_return_code(fstat(held, &st), errno);
	if (st.st_blocks)
		assert_true(walk_processes().bytes > before.bytes);
}

static void lines_of_maps(void **state)
{
	uint64_t inode = 0, bytes = 0;
	dev_t device = makedev(0xfe, 1);
	assert_true(unlinked_parse_map("7f0000000000-7f0000100000 rw-s 00000000 fe:01 4711   /volume/x (deleted)\nrest",
				       device, &inode, &bytes));
	assert_int_equal(inode, 4711);
	assert_int_equal(bytes, MIB);
	static const char *const others[] = {
		"",
		"\n",
		" (deleted)",
		"7f0000000000-7f0000100000 rw-s 00000000 fe:01 4711   /volume/x\n",
		"7f0000000000-7f0000100000 rw-s 00000000 fe:02 4711   /volume/x (deleted)\n",
		"7f0000100000-7f0000000000 rw-s 00000000 fe:01 4711   /volume/x (deleted)\n",
		"nonsense that ends with (deleted)\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(unlinked_parse_map(others[i], device, &inode, &bytes));
}

/* evidence: container-disk */
static void written_bytes_that_are_not_found_are_hidden(void **state)
{
	struct disk_round before = { .used = 0, .free = 1000, .written = 0 };
	/* All written bytes are found. */
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .used = 300, .free = 700, .written = 300 }), 0);
	/* A part of the written bytes is not found. */
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .used = 100, .free = 700, .written = 300 }),
			 200);
	/* Another program fills the disk. */
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .used = 0, .free = 100, .written = 0 }), 0);
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .used = 300, .free = 100, .written = 300 }), 0);
	/* Files were written and removed again and again, but the disk has lost no space. */
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .used = 0, .free = 1000, .written = 900 }), 0);
	/* If written bytes are hidden, all lost space counts. */
	assert_int_equal(disk_hidden(0, &before, &(struct disk_round){ .free = 400, .secretive = true }), 600);
	/* Space that is free again is no longer hidden. */
	assert_int_equal(disk_hidden(500, &before, &(struct disk_round){ .used = 0, .free = 1200, .written = 0 }), 300);
	assert_int_equal(disk_hidden(100, &before, &(struct disk_round){ .used = 0, .free = 1200, .written = 0 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(trees_are_counted_to_their_bottom, set_up, tear_down),
		cmocka_unit_test_setup_teardown(trees_that_are_too_deep_are_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_links_holes_and_empty_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_s_unlinked_files_are_counted_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(descriptors_in_flight_are_counted, set_up_in_memory, tear_down),
		cmocka_unit_test_setup_teardown(a_child_s_unlinked_files_are_found_without_its_first_thread,
						set_up_in_memory, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_only_mapped_has_an_unknown_size, set_up_in_memory,
						tear_down),
		cmocka_unit_test_setup_teardown(a_directory_without_a_name_counts, set_up, tear_down),
		cmocka_unit_test(lines_of_maps),
		cmocka_unit_test(written_bytes_that_are_not_found_are_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
