/* kernels/system/creds: the process at the other end of a socket, also on systems that report the calling process
 * instead. */
/* evidence: control-gvisor */
#include "kernels/system/creds.h"

#include <errno.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static void make_pair(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

/* This process created both ends of the pair, so each end reports this process. gVisor does so for every socket. */
static void our_own_pid_as_the_peer_is_unsupported(void **state)
{
	struct ucred peer;
	int ends[2];
	make_pair(ends);
	assert_int_equal(creds_of_peer(ends[0], &peer), -ENOTSUP);
	assert_int_equal(creds_of_peer(-1, &peer), -EBADF);
	pid_t child = fork();
	if (child == 0)
		_exit(creds_of_peer(ends[1], &peer) == 0 && peer.pid == getppid() ? 0 : 1);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
}

static void a_credentials_message_shows_its_sender(void **state)
{
	struct ucred peer;
	int ends[2];
	make_pair(ends);
	assert_int_equal(creds_expect(ends[0]), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(creds_send(ends[1]) == 0 ? 0 : 1);
	assert_int_equal(creds_receive(ends[0], &peer), 0);
	assert_int_equal(peer.pid, child);
	assert_int_equal(peer.uid, getuid());
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* Only the message is read. */
	assert_int_equal(send(ends[1], "frame", 5, 0), 5);
	assert_int_equal(creds_receive(ends[0], &peer), 0);
	char rest[8];
	assert_int_equal(recv(ends[0], rest, sizeof(rest), 0), 4);
	close(ends[1]);
	assert_int_equal(creds_receive(ends[0], &peer), -ECONNRESET);
	close(ends[0]);
}

static void unexpected_credentials_are_refused(void **state)
{
	struct ucred peer;
	int ends[2];
	make_pair(ends);
	assert_int_equal(creds_send(ends[1]), 0);
	assert_int_equal(creds_receive(ends[0], &peer), -EPERM);
	close(ends[0]);
	close(ends[1]);
}

static void send_with_descriptor(int to, int fd)
{
	char byte = 'x';
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &message, 0), 1);
}

/* Descriptors that come with a message do not fill the table of open files. */
static void descriptors_are_not_kept(void **state)
{
	struct ucred peer;
	int ends[2];
	make_pair(ends);
	int next = dup(0);
	close(next);
	for (int expected = 0; expected < 2; expected++) {
		send_with_descriptor(ends[1], 0);
		assert_int_equal(creds_receive(ends[0], &peer), expected ? 0 : -EPERM);
		assert_int_equal(creds_expect(ends[0]), 0);
		int fd = dup(0);
		assert_int_equal(fd, next);
		close(fd);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_pid_as_the_peer_is_unsupported),
		cmocka_unit_test(a_credentials_message_shows_its_sender),
		cmocka_unit_test(unexpected_credentials_are_refused),
		cmocka_unit_test(descriptors_are_not_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
