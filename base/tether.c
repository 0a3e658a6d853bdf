#include "base/tether.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

int tether_run(const char *parent, char *const *argv)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
		fprintf(stderr, "cannot be tied to the parent process: %s\n", strerror(errno));
		return TETHER_NO_PROGRAM;
	}
	/* The parent may have ended before that. */
	char own[16];
	snprintf(own, sizeof(own), "%d", (int)getppid());
	if (!streq(own, parent))
		return 1;
	execvp(argv[0], argv);
	fprintf(stderr, "%s\n", strerror(errno));
	return TETHER_NO_PROGRAM;
}
