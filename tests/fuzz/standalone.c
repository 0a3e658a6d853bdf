/* A fuzz target without a fuzzer: runs it once on each named file and each file of a named folder. Options come first:
 *   --seconds N  then continues for N seconds of CPU time (at most four times that by the clock) with mutations of these inputs
 *   --seed N     seed of the mutations; without it each run has its own
 *   --words FILE words that mutations insert, in libFuzzer's format
 *   --keep FILE  always holds the current input, and is removed at the end: if the process dies, the input is there */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

struct options {
	const char *keep, *words;
	unsigned long seconds;
	uint64_t seed;
};

static unsigned long done;
static int kept = -1;

static int fail(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return -1;
}

static void filep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static void run(const uint8_t *data, size_t n)
{
	if (kept >= 0 && (pwrite(kept, data, n, 0) != (ssize_t)n || ftruncate(kept, (off_t)n) < 0))
		fail("--keep");
	LLVMFuzzerTestOneInput(data, n);
	done++;
}

static int run_file(const char *path, size_t size, struct seeds *inputs)
{
	AUTO(filep) FILE *f = fopen(path, "rb");
	/* Exactly as long as the input, so that a sanitizer sees a read past its end. */
	AUTO(freep) uint8_t *data = malloc(size ? size : 1);
	if (!f || !data || fread(data, 1, size, f) != size)
		return fail(path);
	/* Printed before it runs, so the last line of a run that crashed names the input. */
	printf("%s\n", path);
	fflush(stdout);
	run(data, size);
	seeds_add(inputs, data, size);
	return 0;
}

static int run_path(const char *path, struct seeds *inputs);

static int run_folder(const char *path, struct seeds *inputs)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), r = n < 0 ? fail(path) : 0;
	for (int i = 0; i < n; i++) {
		AUTO(freep) char *below = xasprintf("%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && run_path(below, inputs) < 0)
			r = -1;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return r;
}

static int run_path(const char *path, struct seeds *inputs)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return fail(path);
	return S_ISDIR(st.st_mode) ? run_folder(path, inputs) : run_file(path, (size_t)st.st_size, inputs);
}

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* False if a word list cannot be read. */
static bool run_mutations(const struct options *o, const struct seeds *inputs)
{
	AUTO(seeds_release) struct seeds words = { 0 };
	AUTO(buf_release) struct buf input = { 0 };
	uint64_t state = o->seed;
	unsigned long before = done;
	if (o->words && seeds_read_words(&words, o->words) < 0)
		return fail(o->words) == 0;
	while (!state)
		if (getrandom(&state, sizeof(state), 0) < 0)
			return fail("getrandom") == 0;
	printf("--seed %llu\n", (unsigned long long)state);
	fflush(stdout);
	double began = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID), seconds = (double)o->seconds;
	while (now(CLOCK_PROCESS_CPUTIME_ID) - used < seconds && now(CLOCK_MONOTONIC) - began < 4 * seconds) {
		mutate_next(&input, inputs, &words, &state);
		AUTO(freep) uint8_t *exact = xmalloc(input.len ? input.len : 1);
		if (input.len)
			memcpy(exact, input.data, input.len);
		run(exact, input.len);
	}
	printf("%lu fresh inputs\n", done - before);
	return true;
}

static int read_options(char **argv, struct options *ret)
{
	int i = 1;
	for (; argv[i] && strncmp(argv[i], "--", 2) == 0 && argv[i + 1]; i += 2) {
		if (streq(argv[i], "--seconds"))
			ret->seconds = strtoul(argv[i + 1], NULL, 10);
		else if (streq(argv[i], "--seed"))
			ret->seed = strtoull(argv[i + 1], NULL, 10);
		else if (streq(argv[i], "--words"))
			ret->words = argv[i + 1];
		else if (streq(argv[i], "--keep"))
			ret->keep = argv[i + 1];
	}
	return i;
}

int main(int argc UNUSED, char **argv)
{
	AUTO(seeds_release) struct seeds inputs = { 0 };
	struct options o = { 0 };
	bool fine = true;
	int first = read_options(argv, &o);
	if (o.keep && (kept = open(o.keep, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) < 0)
		fine = fail(o.keep) == 0;
	for (int i = first; argv[i]; i++)
		fine &= run_path(argv[i], &inputs) == 0;
	printf("%lu inputs\n", done);
	/* An empty corpus counts as a failure, because it would test nothing. */
	fine &= done > 0;
	if (fine && o.seconds)
		fine = run_mutations(&o, &inputs);
	if (fine && o.keep)
		unlink(o.keep);
	return fine ? 0 : 1;
}
