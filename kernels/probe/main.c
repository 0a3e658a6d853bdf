/* husk-probe: tries everything that a session must not be able to do, and reports each result. It runs in a session, as
 * its user, and does no harm even if an act succeeds. Output is tab-separated: verdict, group, name, reason; the last
 * line has the totals. kernels/protocol.h defines the verdicts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "kernels/probe/probe.h"
#include "kernels/probe/trial.h"
#include "kernels/protocol.h"

/* An act that takes longer counts as hanging. */
#define SECONDS 5
#define BATCH 16
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct attempt {
	pid_t pid;
	int fd; /* a pipe for the result, since an errno may be larger than an exit status */
};

static struct attempt begin(const struct probe *p)
{
	struct attempt a = { .pid = -1, .fd = -1 };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return a;
	a.fd = ends[0];
	a.pid = fork();
	if (a.pid == 0) {
		alarm(SECONDS);
		int error = p->try(p);
		_exit(write(ends[1], &error, sizeof(error)) < 0);
	}
	close(ends[1]);
	return a;
}

static struct trial end(struct attempt a)
{
	struct trial t = { .error = NOT_TRIED };
	int status = 0;
	if (a.pid > 0 && read(a.fd, &t.error, sizeof(t.error)) != (ssize_t)sizeof(t.error))
		t.error = NOT_TRIED;
	closep(&a.fd);
	if (a.pid > 0 && waitpid(a.pid, &status, 0) == a.pid && WIFSIGNALED(status))
		t.signal = WTERMSIG(status);
	return t;
}

static const char *report(const struct probe *p, struct trial t)
{
	char name[TRIAL_NAME_SIZE];
	trial_name(t, name);
	const char *verdict = trial_judge(t, p->held, p->open);
	printf("%s\t%s\t%s\t%s\n", verdict, p->group, p->name, name);
	return verdict;
}

/* True for acts that wait for an answer that may never come. They do not disturb each other, so acts that follow each
 * other in the table wait together. */
static bool is_patient(const struct probe *p)
{
	return p->try == try_connect || p->try == try_gateway || p->try == try_neighbour;
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
	size_t held = 0, open = 0;
	if (argc == 2 && streq(argv[1], "boot"))
		return print_boot();
	if (argc != 1) {
		fputs("usage: husk-probe [boot]\n", stderr);
		return 2;
	}
	for (size_t first = 0, next; first < probes_n; first = next) {
		struct attempt attempts[BATCH];
		fflush(stdout);
		next = first;
		do {
			attempts[next - first] = begin(&probes[next]);
			next++;
		} while (next < probes_n && next - first < BATCH && is_patient(&probes[next - 1]) &&
			 is_patient(&probes[next]));
		for (size_t i = first; i < next; i++) {
			const char *verdict = report(&probes[i], end(attempts[i - first]));
			held += streq(verdict, PROBE_HELD);
			open += streq(verdict, PROBE_OPEN);
		}
	}
	printf("%s\t%zu\t%zu\t%zu\n", PROBE_DONE, probes_n, open, probes_n - held - open);
	return 0;
}
