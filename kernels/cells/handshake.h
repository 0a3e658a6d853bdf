/* Where a starting kernel says hello. Mostly it inherits its end of a socket pair, which nobody else has. A language that
 * can only dial TCP finds a listener, where a few candidates have a short time to prove themselves: by the one-use token that
 * the kernel reads from a pipe it inherits, and by being a connection of the kernel'c own process. Whoever is not the kernel
 * is turned away without a word. */
#ifndef HUSK_KERNELS_CELLS_HANDSHAKE_H
#define HUSK_KERNELS_CELLS_HANDSHAKE_H

#include <sys/types.h>

#include "base/buf.h"
#include "kernels/system/poller.h"

#define HANDSHAKE_CANDIDATES_MAX 8
#define HANDSHAKE_HELLO_MAX 4096
#define HANDSHAKE_PATIENCE_MS 5000
#define HANDSHAKE_TOKEN_LEN 32

struct handshake {
	struct poller *poller;
	int fd; /* the listener; -1 = a pair */
	struct watch watch;
	char address[128]; /* what HUSK_LINK says */
	int inherited_fd;  /* becomes LINK_FD of the kernel: its end of the pair, or the pipe with the token */
	char token[HANDSHAKE_TOKEN_LEN + 1];
	pid_t kernel; /* whose connection it must be */
	struct candidate {
		struct handshake *handshake;
		int fd;
		struct watch watch;
		struct timeout patience;
		struct buf in;
	} candidates[HANDSHAKE_CANDIDATES_MAX];
	/* The kernel is in: takes the descriptor. The handshake is closed already. */
	void (*on_open)(struct handshake *h, int fd, const char *language_version);
	bool looks, queries; /* what the hello said; for on_open */
	/* The kernel does not speak the link as we do, or says something else first. */
	void (*on_refused)(struct handshake *h, const char *why);
};

/* tcp_port 0 = a socket pair. The callbacks are set by the caller before. 0 or -errno. */
int handshake_start(struct handshake *h, struct poller *p, uint16_t tcp_port);
/* The kernel is started and has its descriptor. */
void handshake_watch(struct handshake *h, pid_t kernel);
/* Idempotent, also on a zeroed handshake. */
void handshake_stop(struct handshake *h);

#endif
