/* Bounds the host memory that a container's sockets use. cgroup v1 does not count buffers of TCP, UDP, ping and
 * netlink sockets towards the container's limit. No version counts the flows that the kernel tracks in the
 * container's network namespace, or file locks. (Buffers of unix sockets and pipes are counted everywhere.) No
 * kernel setting limits their sum for a namespace, so PID 1 checks it again and again and kills processes. The
 * first check is one short read: the memory of all TCP and UDP sockets of the machine. Only if that exceeds this
 * container's limit is each socket of the namespace checked. */
#ifndef HUSK_KERNELS_GUARD_SOCKETS_H
#define HUSK_KERNELS_GUARD_SOCKETS_H

#include "kernels/system/poller.h"

#define SOCKETS_INTERVAL_MS 200
#define SOCKETS_BUSY_MS 50
/* About 25 MB. */
#define SOCKETS_FLOWS_MAX 65536u
/* About 13 MB. They are counted once a second. */
#define SOCKETS_LOCKS_MAX 65536u
#define SOCKETS_LOCKS_MS 1000

/* The reason that is given when a kernel was killed for its sockets or locks. */
#define SOCKETS_KILLED                                                                                                 \
	"was ended since its sockets held too much data or made too many connections, or it held too many file locks"

struct sockets {
	struct poller *poller;
	int diag;	/* from sockets_open_diag() */
	uint64_t limit; /* bytes */
	/* Called after each check that found too much; `times` counts such checks in a row. `why` completes "The
	 * session's processes …". */
	void (*on_over)(struct sockets *s, unsigned times, const char *why);

	uint64_t bytes, flows; /* at the last check */
	bool busy;	       /* the machine's sockets use much memory */
	unsigned times;
	uint64_t locks_ms; /* time of the last count of locks */
	struct timeout timer;
};

/* A descriptor for asking the kernel about sockets, or -errno. Must be called before the guard is installed, because
 * the guard rejects such sockets. */
int sockets_open_diag(void);
/* Socket memory that a container may use in addition to this memory limit. */
uint64_t sockets_limit(uint64_t memory);
/* Starts to watch; the caller has set poller, diag, limit and on_over. */
void sockets_start(struct sockets *s);
/* Stops the checks until sockets_start(); for a time in which nothing in the container can run. */
void sockets_pause(struct sockets *s);

/* Exposed for tests. Bytes of all TCP and UDP sockets of the machine, and the number of sockets in the namespace. */
void sockets_parse_stat(const char *text, uint64_t *ret_bytes, uint64_t *ret_sockets);
/* The buffers in a line of /proc/net/netlink, icmp or icmp6. */
uint64_t sockets_parse_netlink(const char *line);
uint64_t sockets_parse_icmp(const char *line);
/* Bytes of the TCP and UDP sockets of this namespace, counted up to `enough`. UINT64_MAX if unknown. */
uint64_t sockets_measure(int diag, uint64_t enough);

#endif
