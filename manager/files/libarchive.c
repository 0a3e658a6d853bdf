#include "manager/files/libarchive.h"

struct libarchive libarchive;

#define lib libarchive
static struct library library =
	LIBRARY(LIBARCHIVE_FUNCTIONS, "libhusk-archive.so.13", "libarchive.so.13", "libarchive.13.dylib");
#undef lib

int libarchive_load(struct fail *f)
{
	if (library_load(&library))
		return 0;
	fail_set(f, FAIL_STORE, "libarchive cannot be loaded (libarchive.so.13)");
	return fail_hint(f, "Install libarchive 13 on the machine that runs Husk.");
}
