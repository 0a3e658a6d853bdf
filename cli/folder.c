#include "cli/folder.h"

#include "base/alloc.h"

bool folder_is_too_much(const char *folder)
{
	const char *home = getenv("HOME");
	AUTO(freep) char *real_home = home ? realpath(home, NULL) : NULL;
	return streq(folder, "/") || (real_home && streq(folder, real_home));
}
