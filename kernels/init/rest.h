/* Lets PID 1 sleep while its session does nothing: it then wakes every ten seconds instead of five times a second.
 *
 * PID 1 looks at disk and sockets so often because whatever runs in the container can fill them within a moment. A thread that
 * waits looks the same whether it waits for the next cell or for a moment to start writing, so a look cannot tell that it is safe
 * to look less often. Therefore the interpreter is stopped (SIGSTOP) before PID 1 rests, and continued before anything else happens:
 * a frame, a dead child, another signal. What is stopped cannot write.
 *
 * A session must not notice. So PID 1 rests only if the interpreter is the container's only process, each of its threads is in a
 * system call that waits without a time limit and none has run for a second, and no timer, signal handler or network socket could
 * wake it. A look that cannot be made counts as a reason not to rest: where /proc does not tell, everything stays as it was. */
#ifndef HUSK_KERNELS_INIT_REST_H
#define HUSK_KERNELS_INIT_REST_H

#include "kernels/disk/disk.h"
#include "kernels/guard/sockets.h"

/* The longest sleep. */
#define REST_WAKE_MS 10000
/* Of a link over TCP: its two ends and what listens for it. */
#define REST_LINK_SOCKETS 3

enum rest_state {
	REST_AWAKE,
	REST_STOPPING, /* SIGSTOP is sent; disk and sockets are watched until every thread has stopped */
	REST_RESTING,
};

struct rest {
	struct disk *disk;
	struct sockets *sockets;
	unsigned own_sockets; /* TCP sockets that may be open: those of the link */
	/* The interpreter, if nothing is under way in the container that PID 1 knows of; else 0. */
	pid_t (*idle_kernel)(const struct rest *r);

	enum rest_state state;
	pid_t pid; /* what is stopped */
	uint64_t due_ms, pause_ms;
	uint64_t switches; /* of the kernel's threads at the last look; 0 = none was made */
};

/* Something happened: continues what was stopped, at once, and watches as before. */
void rest_wake(struct rest *r, uint64_t now_ms);
/* A child was stopped or continued. */
void rest_child_changed(struct rest *r, uint64_t now_ms);
/* Once a turn of the loop. */
void rest_turn(struct rest *r, uint64_t now_ms);

/* Exposed for tests: true if /proc/PID/task/TID/syscall shows a call that waits without a time limit. *ret_fd is the descriptor that it
 * reads, or -1. */
bool rest_waits_without_limit(const char *syscall, int *ret_fd);
/* True if /proc/PID/status shows no handler for a signal that comes by itself. */
bool rest_has_no_alarm(const char *status);
/* The TCP, UDP and raw sockets that /proc/net/sockstat or sockstat6 shows; UINT64_MAX if it does not. */
uint64_t rest_count_sockets(const char *sockstat);

#endif
