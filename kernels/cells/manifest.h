/* Reads runtime.json, the description of an image's language: only the fields that PID 1 needs. */
#ifndef HUSK_KERNELS_CELLS_MANIFEST_H
#define HUSK_KERNELS_CELLS_MANIFEST_H

#include "base/fail.h"
#include "base/strv.h"

struct manifest {
	char *name;
	struct strv kernel; /* argument vector, kernel.v[0] is an absolute path */
	uint16_t tcp_port;  /* 0 = socket pair */
	int interrupt;	    /* signal */
	struct strv env;    /* NAME=value */
	struct strv late;   /* names of variables that must not be set when the kernel starts, see kernel.c */
	/* Argument vectors of the program that installs packages, and of the one that lists the installed versions
	 * afterwards; both empty if the runtime has none. */
	struct strv installer, installed;
};

/* Ignores fields for other readers (title, aliases, …). On failure *ret is empty. */
int manifest_load(struct manifest *ret, const char *path, struct fail *f);
int manifest_parse(struct manifest *ret, const char *text, size_t n, struct fail *f);
void manifest_release(struct manifest *m);

#endif
