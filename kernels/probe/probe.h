/* A forbidden act: what it is called and how it is tried. Each is tried in a process of its own. */
#ifndef HUSK_KERNELS_PROBE_PROBE_H
#define HUSK_KERNELS_PROBE_PROBE_H

#include "base/defs.h"

/* It was possible and did nothing that it must not do. */
#define NO_EFFECT 4000

struct probe {
	const char *group, *name;
	/* 0 = it worked, which it must not; else why it did not: an errno, or NO_EFFECT. */
	int (*try)(const struct probe *p);
	const char *path; /* a file or an address, where one is meant */
	long call, a, b, c, d;
};

/* One of each kind (acts.c). */
int try_call(const struct probe *p);	/* a system call: call, a, b, c, d */
int try_read(const struct probe *p);	/* a byte of a file */
int try_write(const struct probe *p);	/* to open a file for writing */
int try_list(const struct probe *p);	/* a directory */
int try_unix(const struct probe *p);	/* to connect to a socket in the file system */
int try_connect(const struct probe *p); /* to an address, port in `a`; an answer is enough */
int try_gateway(
	const struct probe
		*p); /* likewise to the machine that the way out leads through; port 0 counts, b: beside ourselves */
int try_socket(const struct probe *p); /* of family a, type b, protocol c */

/* What takes more than a line (escapes.c). */
int try_mount(const struct probe *p);
int try_mknod(const struct probe *p);
int try_setns(const struct probe *p);
int try_release_agent(const struct probe *p);
int try_leaked_directory(const struct probe *p);
int try_handle(const struct probe *p);
int try_dirty_pipe(const struct probe *p);
int try_dirty_cow(const struct probe *p);
int try_root(const struct probe *p);
int try_capabilities(const struct probe *p);
int try_foreign_call(const struct probe *p);
int try_host_processes(const struct probe *p);

extern const struct probe probes[];
extern const size_t probes_n;

#endif
