#include "tests/unit/http-server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

static _Noreturn void serve(int listener, void (*answer)(const char *request, int fd))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		char request[8192] = "";
		size_t n = 0;
		int fd = accept(listener, NULL, NULL);
		for (ssize_t got = 1; got > 0 && !strstr(request, "\r\n\r\n") && n < sizeof(request) - 1;
		     n += (size_t)got)
			if ((got = read(fd, request + n, sizeof(request) - 1 - n)) <= 0)
				break;
		answer(request, fd);
		close(fd);
	}
}

void http_server_start(struct http_server *s, void (*answer)(const char *request, int fd))
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	AUTO(closep) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
	s->port = ntohs(sa.sin_port);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0)
		serve(listener, answer);
}

void http_server_stop(struct http_server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}
