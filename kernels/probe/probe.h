/* A forbidden act: its name, how it is tried and what its outcomes mean. Each is tried in a separate process.
 *
 * An error alone proves nothing: an act that fails because of a bad argument would fail without any protection. So
 * each act names the errors that mean a refusal, and those that occur only after every check has passed. Its
 * arguments are chosen so that it succeeds without the protection or, if success would do harm, fails with one of
 * the latter. Any other error proves neither: the result is unknown. */
#ifndef HUSK_KERNELS_PROBE_PROBE_H
#define HUSK_KERNELS_PROBE_PROBE_H

#include "base/defs.h"

/* Outcomes besides the system's errors; trial_name() names them. */
enum outcome {
	OUTCOME_FIRST = 4000,
	NO_EFFECT =
		OUTCOME_FIRST, /* it worked without a forbidden effect, or the state that it looks for is not present */
	FILTERED,	       /* a firewall's message came back, or nothing from a machine that is known to exist */
	NO_ANSWER,	       /* nothing came back: perhaps nothing exists at that address */
	NO_NEIGHBOUR,	       /* there is no other session to try it on */
	NOT_TRIED,	       /* no process or pipe available */
	OUTCOME_END,
};

struct probe {
	const char *group, *name;
	/* 0 = it worked, which is a failure of the protection; else why it did not work: an errno or an outcome. */
	int (*try)(const struct probe *p);
	/* Names of outcomes, errors and signals, separated by spaces. held: refused, or there is nothing of this
	 * kind here. open: passed every check, and failed for another reason. */
	const char *held, *open;
	const char *path; /* a file or an address, if the act needs one */
	long call, a, b, c, d, e;
};

/* General acts (acts.c). */
int try_call(const struct probe *p);   /* a system call: call, a, b, c, d, e */
int try_open(const struct probe *p);   /* opens a file for reading */
int try_read(const struct probe *p);   /* reads a byte of a file */
int try_write(const struct probe *p);  /* opens a file for writing */
int try_list(const struct probe *p);   /* lists a directory */
int try_there(const struct probe *p);  /* whether a path exists */
int try_socket(const struct probe *p); /* a socket of family a, type b, protocol c */

/* The network (network.c). */
int try_connect(const struct probe *p); /* connects to an address, port in `a`; an answer is enough */
int try_gateway(const struct probe *p); /* likewise to the gateway */
int try_neighbour(
	const struct probe *p); /* likewise to addresses next to ours, upwards if `a` is 1, downwards if it is -1 */

/* The gate (gate.c), where a session has one: only the names of its rules lead anywhere. */
int try_resolve(const struct probe *p); /* asks for records of type a of a name that no rule has */
int try_unasked(const struct probe *p); /* connects to an address that belongs to no name */

/* How the container was made (state.c): each "works" if a protection is missing. */
int try_user(const struct probe *p);	   /* this process runs as user a */
int try_group(const struct probe *p);	   /* this process is in group a */
int try_capability(const struct probe *p); /* capability a is in some set of this process */
int try_flag(const struct probe *p);	   /* prctl(a) answers 0 */
int try_namespace(
	const struct probe *p); /* this process is in the machine's first namespace of this kind, whose number is a */
int try_unflagged(const struct probe *p); /* the mount of this path lacks flag a (of statvfs) */
int try_strange_mount(const struct probe *p);
int try_strange_device(const struct probe *p);
int try_unlimited(const struct probe *p); /* one of the cgroup files in `path` (version 1, then 2) sets no limit */
int try_swap(const struct probe *p);
int try_rlimit(const struct probe *p); /* the hard limit of resource a is larger than b */
int try_host_processes(const struct probe *p);
int try_interpreter(const struct probe *p);

/* Acts that take more than a line (escapes.c). */
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
