/* husk-jupyter: a stock Jupyter kernel below, PID 1's kernel link above. */
#ifndef HUSK_KERNELS_JUPYTER_ADAPTER_H
#define HUSK_KERNELS_JUPYTER_ADAPTER_H

#include "base/fail.h"

struct adapter_options {
	const char *spec;   /* a kernelspec: the folder or its kernel.json */
	const char *folder; /* where the connection's own folder goes */
	bool tcp;
	bool shows_raw;	      /* what the kernel's process itself prints is output of the cell (raw.h) */
	bool displays_values; /* outputs.h */
	uint64_t beat_ms;     /* between two heartbeats */
};

/* Runs until the kernel or PID 1 is gone, and ends the process as the kernel ended. Returns only if it could not start. */
int adapter_run(const struct adapter_options *options, struct fail *f);

#endif
