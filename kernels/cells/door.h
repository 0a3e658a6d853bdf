/* Where a starting kernel says hello. Mostly it inherits its end of a socket pair, which nobody else has. A language that
 * can only dial TCP finds a listener, where a few strangers have a short time to prove themselves: by the one-use token that
 * the kernel reads from a pipe it inherits, and by being a connection of the kernel's own process. Whoever is not the kernel
 * is turned away without a word. */
#ifndef HUSK_KERNELS_CELLS_DOOR_H
#define HUSK_KERNELS_CELLS_DOOR_H

#include <sys/types.h>

#include "base/buf.h"
#include "kernels/system/poller.h"

#define DOOR_STRANGERS_MAX 8
#define DOOR_HELLO_MAX 4096
#define DOOR_PATIENCE_MS 5000
#define DOOR_TOKEN_LEN 32

struct door {
	struct poller *poller;
	int fd; /* the listener; -1 = a pair */
	struct watch watch;
	char address[128]; /* what HUSK_LINK says */
	int inherited_fd;  /* becomes LINK_FD of the kernel: its end of the pair, or the pipe with the token */
	char token[DOOR_TOKEN_LEN + 1];
	pid_t kernel; /* whose connection it must be */
	struct stranger {
		struct door *door;
		int fd;
		struct watch watch;
		struct timeout patience;
		struct buf in;
	} strangers[DOOR_STRANGERS_MAX];
	/* The kernel is in: takes the descriptor. The door is closed already. */
	void (*on_open)(struct door *d, int fd, const char *language_version);
	bool looks, queries; /* what the hello said; for on_open */
	/* The kernel does not speak the link as we do, or says something else first. */
	void (*on_refused)(struct door *d, const char *why);
};

/* tcp_port 0 = a socket pair. The callbacks are set by the caller before. 0 or -errno. */
int door_open(struct door *d, struct poller *p, uint16_t tcp_port);
/* The kernel is started and has its descriptor. */
void door_watch(struct door *d, pid_t kernel);
/* Idempotent, also on a zeroed door. */
void door_close(struct door *d);

#endif
