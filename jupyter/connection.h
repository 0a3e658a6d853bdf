/* Where a kernel is to be reached: five endpoints, a key, and the file that tells both. */
#ifndef HUSK_JUPYTER_CONNECTION_H
#define HUSK_JUPYTER_CONNECTION_H

#include "base/fail.h"
#include "jupyter/message.h"

/* How the folder of one begins, and the file in it. */
#define CONNECTION_FOLDER "husk-jupyter-"
#define CONNECTION_FILE "connection.json"

enum channel { CHANNEL_SHELL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_HEARTBEAT, CHANNELS };

struct connection {
	char *folder; /* 0700, ours alone; NULL = the file is somebody else's */
	char *file;   /* 0600, in it */
	char *endpoints[CHANNELS];
};

/* Makes the folder below `parent` and writes the file: sockets in the folder (ipc://), or free ports of 127.0.0.1 where
 * `tcp`. connection_release() it, also after a failure; that removes folder, file and sockets. */
int connection_make(struct connection *ret, const char *parent, bool tcp, const struct sender_id *id,
		    const char *kernel_name, struct fail *f);
/* Reads a file that somebody else has written: where a kernel is to be, and with which key. It has to be on this machine (ipc://, or
 * 127.0.0.1) and to have a key, since whoever reaches a kernel without one runs code. connection_release() it, also after a failure. */
int connection_read(struct connection *ret, const char *file, struct sender_id *ret_id, struct fail *f);
void connection_release(struct connection *c);

#endif
