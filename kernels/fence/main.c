/* husk-fence: restricts the network traffic of sessions with firewall rules. It runs for a moment in a container
 * with the network of the engine's machine and NET_ADMIN, and needs no files, no name service and no libraries.
 * docs/design/network-fence.md has the reasons. */
#include <errno.h>
#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/proc.h"
#include "kernels/fence/rules.h"
#include "kernels/fence/table.h"
#include "kernels/protocol.h"

/* Retries while other programs (engines, firewalls, husk-fence of another server) change rules. */
#define TRIES 50
#define RETRY_NS 20000000

struct request {
	bool change;
	const char *owner;
	uint64_t seconds; /* duration of its openings */
	struct openings openings;
};

static uint64_t now_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec;
}

static bool is_kept(const struct table *t, const struct openings *openings)
{
	for (enum refusal refusal = REFUSE_REJECT; refusal <= REFUSE_DROP; refusal++) {
		AUTO(buf_release) struct buf wanted = { 0 };
		rules_write(&wanted, openings, refusal);
		if (table_is(t, &wanted))
			return true;
	}
	return false;
}

/* A Linux kernel without `reject` answers with ENOENT. */
static int replace(int fd, const struct table *t, const struct openings *openings)
{
	int r = 0;
	for (enum refusal refusal = REFUSE_REJECT; refusal <= REFUSE_DROP; refusal++) {
		AUTO(buf_release) struct buf wanted = { 0 };
		rules_write(&wanted, openings, refusal);
		r = table_replace(fd, t, &wanted);
		if (r != -ENOENT)
			return r;
	}
	return r;
}

static int attempt(const struct request *q, const char **ret_word)
{
	static struct openings old, wanted;
	AUTO(closep) int fd = table_open();
	AUTO(table_release) struct table t = { 0 };
	if (fd < 0)
		return fd;
	int r = table_read(fd, &t);
	if (r == 0)
		r = table_openings(&t, &old);
	if (r == 0)
		r = openings_merge(&wanted, &old, &q->openings, now_seconds(), q->seconds);
	if (r < 0)
		return r;
	/* `look` compares the table with the rules for the openings that it already has. */
	if (is_kept(&t, q->change ? &wanted : &old)) {
		*ret_word = FENCE_KEPT;
		return 0;
	}
	*ret_word = !q->change ? (t.is_there ? FENCE_CHANGED : FENCE_MISSING) : t.is_there ? FENCE_RESET : FENCE_SET;
	return q->change ? replace(fd, &t, &wanted) : 0;
}

/* Lets the server see whether containers share its Linux kernel. */
static void print_kernel(void)
{
	char id[PROC_BOOT_ID_SIZE];
	if (proc_boot_id(id))
		printf(FENCE_KERNEL "%s\n", id);
}

static int run(const struct request *q)
{
	const char *word = NULL;
	int r = -ERESTART;
	for (int i = 0; i < TRIES && (r == -ERESTART || r == -EINTR); i++) {
		if (i)
			nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
		r = attempt(q, &word);
	}
	if (r == 0) {
		puts(word);
		if (q->change)
			print_kernel();
		return FENCE_EXIT_DONE;
	}
	fprintf(stderr, "husk-fence: %s\n", strerror(-r));
	/* Errors that a retry cannot fix. */
	bool never = r == -EPERM || r == -ENOENT || r == -EOPNOTSUPP || r == -EPROTONOSUPPORT || r == -EAFNOSUPPORT ||
		     r == -EINVAL || r == -ENOSYS;
	return never ? FENCE_EXIT_NEVER : FENCE_EXIT_FAILED;
}

static int usage(void)
{
	fputs("usage: husk-fence look\n"
	      "       husk-fence keep --owner ID --seconds N [ADDRESS/PREFIX[,PORT]]...\n",
	      stderr);
	return FENCE_EXIT_USAGE;
}

static int read_options(struct request *q, int argc, char **argv)
{
	static const struct option options[] = { { "owner", required_argument, NULL, 'o' },
						 { "seconds", required_argument, NULL, 's' },
						 { 0 } };
	int c;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'o')
			q->owner = optarg;
		else if (c != 's' || parse_u64(optarg, &q->seconds) < 0 || q->seconds > UINT32_MAX)
			return -EINVAL;
	}
	if (!q->owner || !*q->owner || strlen(q->owner) > OWNER_MAX || strpbrk(q->owner, " \"\n"))
		return -EINVAL;
	for (int i = optind; i < argc; i++) {
		struct opening o = { 0 };
		if (opening_parse(&o, argv[i]) < 0)
			return -EINVAL;
		snprintf(o.owner, sizeof(o.owner), "%s", q->owner);
		if (openings_add(&q->openings, &o) < 0)
			return -ENOSPC;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct request q;
	if (argc == 2 && streq(argv[1], "look"))
		return run(&q);
	if (argc < 2 || !streq(argv[1], "keep"))
		return usage();
	q.change = true;
	return read_options(&q, argc - 1, argv + 1) < 0 ? usage() : run(&q);
}
