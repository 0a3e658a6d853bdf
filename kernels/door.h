/* Where a starting kernel dials in: a listener, and a few strangers that have a short time to prove themselves by the
 * one-use token. Whoever is not the kernel is turned away without a word. */
#ifndef HUSK_KERNELS_DOOR_H
#define HUSK_KERNELS_DOOR_H

#include <sys/types.h>

#include "base/buf.h"
#include "kernels/poller.h"

#define DOOR_STRANGERS_MAX 8
#define DOOR_HELLO_MAX 4096
#define DOOR_PATIENCE_MS 5000
#define DOOR_TOKEN_LEN 32

struct door {
	struct poller *poller;
	int fd;
	struct watch watch;
	char address[128]; /* what HUSK_LINK says */
	char token[DOOR_TOKEN_LEN + 1];
	/* Once set, a unix peer must belong to this session: a token read from somebody's environment is not enough. */
	pid_t session;
	struct stranger {
		struct door *door;
		int fd;
		struct watch watch;
		struct timeout patience;
		struct buf in;
	} strangers[DOOR_STRANGERS_MAX];
	/* The kernel is in: takes the descriptor. The door is closed already. */
	void (*on_open)(struct door *d, int fd, const char *language_version);
	/* Somebody with the right token speaks another version of the link. The door is closed already. */
	void (*on_refused)(struct door *d, const char *why);
};

/* Listens: tcp_port 0 = an abstract unix socket with a random name. The callbacks are set by the caller before.
 * 0 or -errno. */
int door_open(struct door *d, struct poller *p, uint16_t tcp_port);
/* Idempotent, also on a zeroed door. */
void door_close(struct door *d);

#endif
