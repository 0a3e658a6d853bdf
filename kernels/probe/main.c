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
/* How often acts without an answer are tried again. */
#define ROUNDS_MAX 8
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

static bool has_outcome(struct trial t, int outcome)
{
	return !t.signal && t.error == outcome;
}

static void try_all(const struct probe *p, size_t n, struct trial *trials)
{
	struct attempt attempts[BATCH];
	for (size_t i = 0; i < n; i++)
		attempts[i] = begin(&p[i]);
	for (size_t i = 0; i < n; i++)
		trials[i] = end(attempts[i]);
}

/* Linux sends an address six ICMP errors at once, and then one per second, so a firewall leaves some of many attempts
 * without an answer. If it answered others, those without an answer are tried again. */
static void try_unanswered(const struct probe *p, size_t n, struct trial *trials, bool *firewall)
{
	for (size_t i = 0; i < n; i++)
		*firewall |= has_outcome(trials[i], FILTERED);
	bool again = *firewall;
	for (size_t round = 0; again && round < ROUNDS_MAX; round++) {
		struct attempt attempts[BATCH];
		again = false;
		for (size_t i = 0; i < n; i++) {
			bool unanswered = has_outcome(trials[i], NO_ANSWER);
			attempts[i] = unanswered ? begin(&p[i]) : (struct attempt){ .pid = -1, .fd = -1 };
			again |= unanswered;
		}
		for (size_t i = 0; i < n; i++)
			if (attempts[i].fd >= 0)
				trials[i] = end(attempts[i]);
	}
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
	bool firewall = false;
	if (argc == 2 && streq(argv[1], "boot"))
		return print_boot();
	if (argc != 1) {
		fputs("usage: husk-probe [boot]\n", stderr);
		return 2;
	}
	for (size_t first = 0, n; first < probes_n; first += n) {
		struct trial trials[BATCH];
		fflush(stdout);
		for (n = 1; n < BATCH && first + n < probes_n; n++)
			if (!is_patient(&probes[first + n - 1]) || !is_patient(&probes[first + n]))
				break;
		try_all(&probes[first], n, trials);
		try_unanswered(&probes[first], n, trials, &firewall);
		for (size_t i = 0; i < n; i++) {
			const char *verdict = report(&probes[first + i], trials[i]);
			held += streq(verdict, PROBE_HELD);
			open += streq(verdict, PROBE_OPEN);
		}
	}
	printf("%s\t%zu\t%zu\t%zu\n", PROBE_DONE, probes_n, open, probes_n - held - open);
	return 0;
}
