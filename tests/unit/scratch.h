/* Files of tests: removes a scratch folder, and reads a file. */
#ifndef HUSK_TESTS_SCRATCH_H
#define HUSK_TESTS_SCRATCH_H

#include <ftw.h>

#include "base/buf.h"
#include "tests/unit/unit.h"

UNUSED static int scratch_remove_entry(const char *path, const struct stat *st UNUSED, int type UNUSED,
				       struct FTW *at UNUSED)
{
	return remove(path);
}

/* Removes the folder and everything below it. 0 or -1. */
UNUSED static int scratch_remove(const char *folder)
{
	return nftw(folder, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Appends the content of the file. */
UNUSED static void scratch_read(const char *path, struct buf *text)
{
	FILE *f = fopen(path, "re");
	if (!f)
		fail_msg("cannot read %s", path);
	char chunk[4096];
	for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
		buf_add(text, chunk, n);
	fclose(f);
}

#endif
