/* The result of an act that was tried, and what it proves. */
#ifndef HUSK_KERNELS_PROBE_TRIAL_H
#define HUSK_KERNELS_PROBE_TRIAL_H

#include "base/defs.h"

#define TRIAL_NAME_SIZE 32

struct trial {
	int error;  /* as in struct probe */
	int signal; /* the signal that killed it instead */
};

/* One word: "EPERM", "SIGSEGV", "filtered". */
void trial_name(struct trial t, char name[TRIAL_NAME_SIZE]);
/* One of the verdicts in kernels/protocol.h. held, open: as in struct probe. */
const char *trial_judge(struct trial t, const char *held, const char *open);

#endif
