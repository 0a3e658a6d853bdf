/* kernels/cells/tcp-owner: the other end of a connection is found among the descriptors of its process, and of no other. */
/* evidence: kernel-link */
#include "kernels/cells/tcp-owner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

/* A child that owns neither end. */
static pid_t start_bystander(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void finds_the_owner_of_a_connection(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	pid_t bystander = start_bystander();
	AUTO(closep) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &n), 0);
	AUTO(closep) int dialled = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(dialled, (struct sockaddr *)&sa, sizeof(sa)), 0);
	AUTO(closep) int accepted = accept(listener, NULL, NULL);
	assert_true(accepted >= 0);

	assert_true(tcp_belongs_to(accepted, getpid()));
	assert_false(tcp_belongs_to(accepted, bystander));
	assert_false(tcp_belongs_to(listener, getpid()));
	closep(&dialled);
	assert_false(tcp_belongs_to(accepted, getpid()));
	kill(bystander, SIGKILL);
	waitpid(bystander, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_owner_of_a_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
