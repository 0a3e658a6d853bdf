/* What a kernel's process writes to its own stdout and stderr, beside the messages in which it tells what cells print. A notebook
 * never shows it: most kernels write their log there, or the same text a second time. So it is read and put away; only the end of it
 * is kept, for the case that the kernel dies. Kernels that do not see what child programs print can have theirs shown. */
#ifndef HUSK_KERNELS_JUPYTER_RAW_H
#define HUSK_KERNELS_JUPYTER_RAW_H

#include "base/fail.h"

#define RAW_KEPT 2048

struct raw {
	int read_fds[2]; /* -1 = the kernel has our own */
	int write_fds[2];
	struct raw_tail {
		char bytes[RAW_KEPT];
		size_t n;
	} tails[2];
};

/* raw_release() it in any case. */
int raw_open(struct raw *r, struct fail *f);
void raw_release(struct raw *r);
/* The kernel has its ends. */
void raw_started(struct raw *r);
/* Takes what is there. */
void raw_read(struct raw *r);
/* What was kept is no longer of interest. */
void raw_forget(struct raw *r);
/* Writes what was kept to our stderr. */
void raw_show(const struct raw *r);

#endif
