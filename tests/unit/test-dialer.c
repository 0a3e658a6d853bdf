/* line/dialer and line/folder: which process may dial a session's socket, and where the socket is. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "manager/line/dialer.h"
#include "manager/line/folder.h"
#include "tests/unit/unit.h"

#define ID "6099f0607bc31d0734095b92a22e311ef34c423411e1ec8ac819f47a490573fa"
#define LONG                                                                                                           \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* evidence: socket-peer */
static void status_shows_whether_a_process_is_pid_1(void **state)
{
	static const struct {
		const char *text;
		bool known, first;
	} cases[] = {
		{ "Name:\tx\nPPid:\t3117\nNSpid:\t3168\t1\n", true, true },
		{ "PPid:\t1\nNSpid:\t9\t3168\t1\n", true, true },
		{ "PPid:\t1\nNSpid:\t3168\t11\n", true, false },
		{ "PPid:\t0\nNSpid:\t1\n", true, false }, /* PID 1 of our own namespace */
		{ "PPid:\t3117\nPid:\t3168\n", false, false },
		{ "Name:\tNSpid:\nPPid:\t3117\n", false, false },
		{ "", false, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool first = false;
		pid_t parent = -1;
		assert_int_equal(dialer_read_status(cases[i].text, &first, &parent), cases[i].known);
		assert_int_equal(first, cases[i].first);
	}
}

/* evidence: socket-peer */
static void the_container_is_found_in_every_cgroup_layout(void **state)
{
	assert_true(dialer_in_container("9:name=systemd:/docker/" ID "\n8:pids:/docker/" ID "\n", ID));
	assert_true(dialer_in_container("0::/system.slice/docker-" ID ".scope\n", ID));
	assert_true(dialer_in_container("0::/../" ID, ID));
	assert_true(dialer_in_container("0::/user.slice/user-1000.slice/libpod-" ID ".scope/container\n", ID));
	assert_false(dialer_in_container("0::/docker/f" ID "\n", ID));
	assert_false(dialer_in_container("0::/docker/" ID "0\n", ID));
	assert_false(dialer_in_container("0::/\n", ID));
	assert_false(dialer_in_container("0::/\n", ""));
}

static void a_process_that_is_not_pid_1_is_rejected(void **state)
{
	assert_int_equal(dialer_check(getpid(), ""), DIALER_IS_OTHER);
	assert_int_equal(dialer_check(0, ID), DIALER_IS_UNKNOWN);
}

static int dial(const char *folder)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX, .sun_path = "line.sock" };
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(chdir(folder), 0);
	return connect(fd, (struct sockaddr *)&sa, sizeof(sa));
}

static unsigned mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* evidence: container-mountinfo */
static void a_socket_path_may_be_long(void **state)
{
	char root[] = "/tmp/husk-test-line-XXXXXX", id[CONTAINER_ID_SIZE];
	assert_non_null(mkdtemp(root));
	AUTO(freep) char *state_dir = xasprintf("%s/" LONG, root);
	struct config config = { .state_dir = state_dir };
	AUTO(freep) char *path = folder_path(&config, "husk-a");
	AUTO(freep) char *parent = xasprintf("%s/lines", state_dir);
	AUTO(freep) char *name = xasprintf("%s/line.sock", path);
	uint64_t first, second;
	mode_t old = umask(077);
	assert_false(folder_read_id(path, id));
	assert_int_equal(folder_make(path), 0);
	AUTO(closep) int a = folder_listen(path, &first);
	assert_true(a >= 0);
	umask(old);
	struct stat st;
	assert_int_equal(stat(parent, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* The path that a container can read. */
	AUTO(freep) char *real = realpath(path, NULL);
	assert_non_null(real);
	assert_null(strstr(real, LONG));
	assert_int_equal(mode_of(path), 0755);
	assert_int_equal(mode_of(name), 0666);
	assert_int_equal(dial(path), 0);

	/* The next server's socket replaces the first server's. The first server does not remove the new socket. */
	AUTO(closep) int b = folder_listen(path, &second);
	folder_hide(path, first);
	assert_int_equal(dial(path), 0);
	folder_hide(path, second);
	assert_int_equal(access(name, F_OK), -1);

	assert_true(folder_read_id(path, id));
	assert_string_equal(id, "");
	folder_write_id(path, ID);
	assert_true(folder_read_id(path, id));
	assert_string_equal(id, ID);
	assert_int_equal(chdir("/"), 0);
	folder_remove(path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(real, F_OK), -1);
	assert_int_equal(lstat(parent, &st), -1);
	/* A folder of an older Husk. */
	assert_int_equal(mkdir(parent, 0700), 0);
	assert_int_equal(folder_make(path), 0);
	assert_int_equal(lstat(parent, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* The machine was restarted. */
	AUTO(freep) char *gone = realpath(parent, NULL);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(gone), 0);
	assert_int_equal(folder_make(path), 0);
	assert_int_equal(access(path, F_OK), 0);
	folder_remove(path);
	rmdir(state_dir);
	rmdir(root);
}

/* evidence: container-mountinfo */
static void a_temporary_folder_below_the_home_is_not_used(void **state)
{
	char home[] = "/tmp/husk-test-home-XXXXXX";
	assert_non_null(mkdtemp(home));
	AUTO(freep) char *state_dir = xasprintf("%s/state", home), *tmp = xasprintf("%s/tmp", home);
	struct config config = { .state_dir = state_dir };
	AUTO(freep) char *path = folder_path(&config, "husk-a");
	assert_int_equal(mkdir(tmp, 0700), 0);
	setenv("HOME", home, 1);
	setenv("TMPDIR", tmp, 1);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(folder_make(path), 0);
	AUTO(freep) char *real = realpath(path, NULL);
	assert_non_null(real);
	assert_null(strstr(real, home));
	folder_remove(path);
	assert_int_equal(rmdir(tmp), 0);
	rmdir(state_dir);
	rmdir(home);
	unsetenv("TMPDIR");
}

/* Another user may have put a folder where the link of a restarted machine leads. */
static void a_link_to_a_folder_of_others_is_replaced(void **state)
{
	char root[] = "/tmp/husk-test-link-XXXXXX";
	assert_non_null(mkdtemp(root));
	AUTO(freep) char *readable = xasprintf("%s/readable", root), *foreign = xasprintf("%s/foreign", root);
	assert_int_equal(mkdir(readable, 0755), 0);
	assert_int_equal(chmod(readable, 0755), 0);
	assert_int_equal(mkdir(foreign, 0700), 0);
	bool is_root = chown(foreign, 1, 1) == 0;
	const char *const targets[] = { readable, is_root ? foreign : "/root" };
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct config config = { .state_dir = root };
		AUTO(freep) char *path = folder_path(&config, "husk-a"), *lines = xasprintf("%s/lines", root);
		assert_int_equal(symlink(targets[i], lines), 0);
		assert_int_equal(folder_make(path), 0);
		AUTO(freep) char *real = realpath(lines, NULL);
		assert_string_not_equal(real, targets[i]);
		folder_remove(path);
		assert_int_equal(access(lines, F_OK), -1);
	}
	rmdir(readable);
	rmdir(foreign);
	assert_int_equal(rmdir(root), 0);
}

static void a_name_cannot_leave_the_state_folder(void **state)
{
	struct config config = { .state_dir = (char *)"/state" };
	assert_null(folder_path(&config, "husk-../../x"));
	assert_null(folder_path(&config, ".."));
	assert_null(folder_path(&config, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_shows_whether_a_process_is_pid_1),
		cmocka_unit_test(the_container_is_found_in_every_cgroup_layout),
		cmocka_unit_test(a_process_that_is_not_pid_1_is_rejected),
		cmocka_unit_test(a_socket_path_may_be_long),
		cmocka_unit_test(a_temporary_folder_below_the_home_is_not_used),
		cmocka_unit_test(a_link_to_a_folder_of_others_is_replaced),
		cmocka_unit_test(a_name_cannot_leave_the_state_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
