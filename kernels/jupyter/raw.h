/* Output that a kernel's process writes to its own stdout and stderr, beside the messages with the output of
 * cells. A notebook never shows it: most kernels write their log there, or the same text a second time. So it is
 * read and dropped; only its end is kept, in case the kernel dies. For kernels that do not capture the output of
 * child programs, it can be shown. */
#ifndef HUSK_KERNELS_JUPYTER_RAW_H
#define HUSK_KERNELS_JUPYTER_RAW_H

#include "base/fail.h"

#define RAW_KEPT 2048

struct raw {
	int read_fds[2]; /* -1 = closed, or the kernel has the adapter's own stdout and stderr */
	int write_fds[2];
	struct raw_tail {
		char bytes[RAW_KEPT];
		size_t n;
	} tails[2];
};

/* Call raw_release() even after a failure. */
int raw_open(struct raw *r, struct fail *f);
void raw_release(struct raw *r);
/* The kernel has been started and has its ends of the pipes. */
void raw_started(struct raw *r);
/* Reads what has arrived. */
void raw_read(struct raw *r);
/* Drops the kept output. */
void raw_forget(struct raw *r);
/* Writes the kept output to stderr. */
void raw_show(const struct raw *r);

#endif
