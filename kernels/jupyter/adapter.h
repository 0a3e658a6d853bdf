/* husk-jupyter: connects a stock Jupyter kernel to PID 1's kernel link. */
#ifndef HUSK_KERNELS_JUPYTER_ADAPTER_H
#define HUSK_KERNELS_JUPYTER_ADAPTER_H

#include "base/fail.h"

struct adapter_options {
	const char *spec;   /* a kernelspec: the folder or its kernel.json */
	const char *folder; /* where to create the folder of the connection file */
	bool tcp;
	bool shows_raw;	      /* output of the kernel's process itself becomes output of the cell (raw.h) */
	bool displays_values; /* outputs.h */
	uint64_t beat_ms;     /* time between two heartbeats */
};

/* Runs until the kernel exits or PID 1 closes the link. Then ends this process in the same way as the kernel ended.
 * Returns only if it could not start. */
int adapter_run(const struct adapter_options *options, struct fail *f);

#endif
