/* A fuzz target without a fuzzer: runs it once over each file that is named, or that is in a folder that is named. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

static unsigned done;

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

static int run_file(const char *path, size_t size)
{
	AUTO(filep) FILE *f = fopen(path, "rb");
	/* Exactly as long as the input, so that a sanitizer sees a read past its end. */
	AUTO(freep) uint8_t *data = malloc(size ? size : 1);
	if (!f || !data || fread(data, 1, size, f) != size)
		return fail(path);
	/* Before it runs: the last line of a run that crashed names the input. */
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	done++;
	return 0;
}

static int run_path(const char *path);

static int run_folder(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), r = n < 0 ? fail(path) : 0;
	for (int i = 0; i < n; i++) {
		AUTO(freep) char *below = xasprintf("%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && run_path(below) < 0)
			r = -1;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return r;
}

static int run_path(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return fail(path);
	return S_ISDIR(st.st_mode) ? run_folder(path) : run_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	int r = 0;
	for (int i = 1; i < argc; i++)
		if (run_path(argv[i]) < 0)
			r = 1;
	printf("%u inputs\n", done);
	/* An empty corpus shows nothing. */
	return r || !done;
}
