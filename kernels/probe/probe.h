/* A forbidden act: what it is called, how it is tried and what its outcomes mean. Each is tried in a process of its own.
 *
 * An error proves nothing by itself: an act that fails for want of a good argument would fail without any protection. So each act
 * names the errors that mean a refusal, and those that arise only after every check has let it through. Its arguments are such that
 * it succeeds without the protection or, where success would do harm, fails with one of the latter. Any other error proves neither:
 * the act cannot tell. */
#ifndef HUSK_KERNELS_PROBE_PROBE_H
#define HUSK_KERNELS_PROBE_PROBE_H

#include "base/defs.h"

/* Outcomes beside the errors of the system; probe_outcome_name() has their names. */
enum outcome {
	OUTCOME_FIRST = 4000,
	NO_EFFECT =
		OUTCOME_FIRST, /* it was possible and did nothing that it must not do, or what it looks for is not so */
	FILTERED,	       /* a firewall's message came back, or nothing from somebody who is known to be there */
	NO_ANSWER,	       /* nothing came back, which nobody can tell from nobody being there */
	NO_NEIGHBOUR,	       /* there is no other session to try it on */
	NOT_TRIED,	       /* no process or pipe for it */
	OUTCOME_END,
};

struct probe {
	const char *group, *name;
	/* 0 = it worked, which it must not; else why it did not: an errno or an outcome. */
	int (*try)(const struct probe *p);
	/* Names of outcomes, errors and signals, separated by spaces. held: refused, or there is nothing of the kind here. open: past
	 * every refusal, and failed for another reason. */
	const char *held, *open;
	const char *path; /* a file or an address, where one is meant */
	long call, a, b, c, d, e;
};

/* One of each kind (acts.c). */
int try_call(const struct probe *p);   /* a system call: call, a, b, c, d, e */
int try_open(const struct probe *p);   /* to open a file for reading */
int try_read(const struct probe *p);   /* a byte of a file */
int try_write(const struct probe *p);  /* to open a file for writing */
int try_list(const struct probe *p);   /* a directory */
int try_there(const struct probe *p);  /* whether a path exists */
int try_socket(const struct probe *p); /* of family a, type b, protocol c */

/* The network (network.c). */
int try_connect(const struct probe *p);	  /* to an address, port in `a`; an answer is enough */
int try_gateway(const struct probe *p);	  /* likewise to the machine that the way out leads through */
int try_neighbour(const struct probe *p); /* to the addresses beside ours, upwards if `a` is 1, downwards if it is -1 */

/* How the container was made (state.c): each "works" if a protection is missing. */
int try_user(const struct probe *p);	   /* we are user a */
int try_group(const struct probe *p);	   /* group a is one of ours */
int try_capability(const struct probe *p); /* capability a is in some set of ours */
int try_flag(const struct probe *p);	   /* prctl(a) answers 0 */
int try_namespace(const struct probe *p);  /* we are in the machine's first namespace of this kind, whose number is a */
int try_unflagged(const struct probe *p);  /* the mount of this path lacks flag a (of statvfs) */
int try_strange_mount(const struct probe *p);
int try_strange_device(const struct probe *p);
int try_unlimited(const struct probe *p); /* one of the cgroup files in `path` (version 1, then 2) sets no limit */
int try_swap(const struct probe *p);
int try_rlimit(const struct probe *p); /* the hard limit of resource a is larger than b */
int try_host_processes(const struct probe *p);
int try_interpreter(const struct probe *p);

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
int try_kcmp(const struct probe *p);
int try_fallocate(const struct probe *p);

extern const struct probe probes[];
extern const size_t probes_n;

#endif
