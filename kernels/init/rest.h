/* Lets PID 1 sleep while its session is idle: it then wakes every ten seconds instead of five times a second.
 *
 * PID 1 checks disk and sockets so often because processes in the container can fill them within a moment. A waiting
 * thread looks the same whether it waits for the next cell or for a moment to start writing, so a check cannot show
 * that it is safe to check less often. Therefore the interpreter is stopped (SIGSTOP) before PID 1 rests, and
 * continued before anything else happens: a frame, a dead child, another signal. A stopped process cannot write.
 *
 * A session must not notice this. So PID 1 rests only if the interpreter is the container's only process, each of
 * its threads is in a system call that waits without a time limit, none has run for a second, and no timer, signal
 * handler or network socket could wake it. If something cannot be checked, for example because /proc hides it, PID
 * 1 does not rest. */
#ifndef HUSK_KERNELS_INIT_REST_H
#define HUSK_KERNELS_INIT_REST_H

#include "kernels/disk/disk.h"
#include "kernels/guard/sockets.h"

/* The longest sleep. */
#define REST_WAKE_MS 10000
/* Sockets of a link over TCP: its two ends and the listener. */
#define REST_LINK_SOCKETS 3

enum rest_state {
	REST_AWAKE,
	REST_STOPPING, /* SIGSTOP is sent; disk and sockets are watched until every thread has stopped */
	REST_RESTING,
};

struct rest {
	struct disk *disk;
	struct sockets *sockets;
	unsigned own_sockets; /* how many TCP sockets of the link may be open */
	/* The interpreter's pid if nothing that PID 1 knows of is under way in the container; else 0. */
	pid_t (*idle_kernel)(const struct rest *r);

	enum rest_state state;
	pid_t pid; /* the stopped process */
	uint64_t due_ms, pause_ms;
	uint64_t switches; /* context switches of the kernel's threads at the last check; 0 = no check yet */
};

/* Something happened: continues the stopped process at once, and watches disk and sockets as often as before. */
void rest_wake(struct rest *r, uint64_t now_ms);
/* A child was stopped or continued. */
void rest_child_changed(struct rest *r, uint64_t now_ms);
/* Once per turn of the loop. */
void rest_turn(struct rest *r, uint64_t now_ms);

/* Exposed for tests: true if /proc/PID/task/TID/syscall shows a system call that waits without a time limit.
 * *ret_fd is the descriptor that it reads, or -1. */
bool rest_waits_without_limit(const char *syscall, int *ret_fd);
/* True if /proc/PID/status shows no handler for a signal that the system may send. */
bool rest_has_no_alarm(const char *status);
/* How many sockets of this user a table such as /proc/net/tcp lists. */
unsigned rest_count_sockets(const char *table, unsigned uid);

#endif
