/* husk-probe: tries everything that a session must not be able to do, and says of each how it went. Runs in a session, as its user; it
 * harms nothing even where it succeeds. Tab-separated: "held" or "OPEN", group, name, why. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "kernels/probe/probe.h"

/* One that takes longer hangs, and that is no success either. */
#define SECONDS 5
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct outcome {
	int error;  /* as struct probe says */
	int signal; /* it died of that instead */
};

/* The child tells by a pipe, since an errno may be larger than an exit status. */
static struct outcome attempt(const struct probe *p)
{
	struct outcome outcome = { .error = EIO };
	int ends[2], status = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return outcome;
	pid_t pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		int error = p->try(p);
		_exit(write(ends[1], &error, sizeof(error)) < 0);
	}
	close(ends[1]);
	if (pid > 0 && read(ends[0], &outcome.error, sizeof(outcome.error)) != (ssize_t)sizeof(outcome.error))
		outcome.error = EIO;
	close(ends[0]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		outcome.signal = WTERMSIG(status);
	return outcome;
}

static bool report(const struct probe *p, struct outcome o)
{
	bool open = !o.signal && o.error == 0;
	printf("%s\t%s\t%s\t", open ? "OPEN" : "held", p->group, p->name);
	if (o.signal)
		printf("%s\n", o.signal == SIGALRM ? "no answer" : strsignal(o.signal));
	else if (open)
		puts("it worked");
	else if (o.error == NO_EFFECT)
		puts("no effect");
	else
		puts(strerrorname_np(o.error) ? strerrorname_np(o.error) : "unknown error");
	return open;
}

static int print_boot(void)
{
	char id[64] = "";
	AUTO(closep) int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, id, sizeof(id) - 1) <= 0)
		return 1;
	fputs(id, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	size_t open = 0;
	if (argc == 2 && streq(argv[1], "boot"))
		return print_boot();
	if (argc != 1) {
		fputs("usage: husk-probe [boot]\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < probes_n; i++) {
		fflush(stdout);
		open += report(&probes[i], attempt(&probes[i]));
	}
	printf("done\t%zu\t%zu\n", probes_n, open);
	return 0;
}
