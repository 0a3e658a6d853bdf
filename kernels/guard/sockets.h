/* Bounds what a container's sockets take of the host's memory. cgroup v1 does not count buffers of TCP, UDP, ping and netlink sockets
 * towards the container's limit, nor does any version count the flows that the kernel tracks in the container's network namespace,
 * or locks of files.
 * (Buffers of unix sockets and pipes are counted everywhere.) No setting of the kernel limits their sum for a namespace, so PID 1
 * looks at it again and again and ends processes. The first question costs one short read: what all TCP and UDP sockets of the
 * machine take together. Only if that is more than this container may have is each socket of the namespace asked. */
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

/* What is said of a kernel that was ended for them. */
#define SOCKETS_KILLED                                                                                                 \
	"was ended since its sockets held more data, or made more connections, than they may, or it held too many locks of files"

struct sockets {
	struct poller *poller;
	int diag;	/* from sockets_open_diag() */
	uint64_t limit; /* bytes */
	/* After each look that found too much; `times` in a row. `why` completes "The session's processes …". */
	void (*on_over)(struct sockets *s, unsigned times, const char *why);

	uint64_t bytes, flows; /* at the last look */
	bool busy;	       /* the machine's sockets take much */
	unsigned times;
	uint64_t locks_ms; /* when locks were counted */
	struct timeout timer;
};

/* A descriptor that asks the kernel for sockets, or -errno. Before the guard is installed, which refuses it. */
int sockets_open_diag(void);
/* What sockets of a container with this much memory may take beside it. */
uint64_t sockets_limit(uint64_t memory);
/* Begins to look; poller, diag, limit and on_over are set by the caller. */
void sockets_start(struct sockets *s);
/* No looks until sockets_resume(), while nothing of the container can run. */
void sockets_pause(struct sockets *s);
void sockets_resume(struct sockets *s);

/* Exposed for tests. Bytes of all TCP and UDP sockets of the machine, and the number of sockets in the namespace. */
void sockets_parse_stat(const char *text, uint64_t *ret_bytes, uint64_t *ret_sockets);
/* The buffers of a line of /proc/net/netlink, icmp or icmp6. */
uint64_t sockets_parse_netlink(const char *line);
uint64_t sockets_parse_icmp(const char *line);
/* What TCP and UDP sockets of this namespace take, counted no further than `enough`. UINT64_MAX if the kernel does not tell. */
uint64_t sockets_measure(int diag, uint64_t enough);

#endif
