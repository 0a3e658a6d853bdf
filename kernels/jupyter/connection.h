/* Where a kernel is to be reached: five endpoints, a key, and the file that tells the kernel both. */
#ifndef HUSK_KERNELS_JUPYTER_CONNECTION_H
#define HUSK_KERNELS_JUPYTER_CONNECTION_H

#include "base/fail.h"
#include "kernels/jupyter/message.h"

enum channel { CHANNEL_SHELL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_HEARTBEAT, CHANNELS };

struct connection {
	char *folder; /* 0700, ours alone */
	char *file;   /* 0600, in it */
	char *endpoints[CHANNELS];
};

/* Makes the folder below `parent` and writes the file: sockets in the folder (ipc://), or free ports of 127.0.0.1 where
 * `tcp`. connection_release() it, also after a failure; that removes folder, file and sockets. */
int connection_make(struct connection *ret, const char *parent, bool tcp, const struct sender_id *id,
		    const char *kernel_name, struct fail *f);
void connection_release(struct connection *c);

#endif
