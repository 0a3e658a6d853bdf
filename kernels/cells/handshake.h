/* Receives the hello of a starting kernel. Usually the kernel inherits its end of a socket pair, which no other process
 * has. A language that can only dial TCP gets a listener instead. The listener gives a few candidates a short time to
 * prove that they are the kernel: with the one-use token that the kernel reads from an inherited pipe, and by
 * connecting from the kernel's own process. Any other candidate is disconnected without a reply. */
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
	int fd; /* the listener; -1 = a socket pair */
	struct watch watch;
	char address[128]; /* the value of HUSK_LINK */
	int inherited_fd;  /* becomes the kernel's LINK_FD: its end of the pair, or the pipe with the token */
	char token[HANDSHAKE_TOKEN_LEN + 1];
	pid_t kernel; /* the process that must own the connection */
	struct candidate {
		struct handshake *handshake;
		int fd;
		struct watch watch;
		struct timeout patience;
		struct buf in;
	} candidates[HANDSHAKE_CANDIDATES_MAX];
	/* The kernel is connected. Takes the descriptor; the handshake is already closed. */
	void (*on_open)(struct handshake *h, int fd, const char *language_version);
	bool lists_variables, queries, forks; /* from the hello, for on_open */
	/* The kernel speaks another version of the link, or its first message was not a hello. */
	void (*on_refused)(struct handshake *h, const char *why);
};

/* tcp_port 0 = a socket pair. The caller has set the callbacks. 0 or -errno. */
int handshake_start(struct handshake *h, struct poller *p, uint16_t tcp_port);
/* The kernel has been started and has its descriptor. */
void handshake_watch(struct handshake *h, pid_t kernel);
/* Idempotent; also works on a zeroed handshake. */
void handshake_stop(struct handshake *h);

#endif
