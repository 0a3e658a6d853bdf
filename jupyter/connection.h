/* How to reach a kernel: five endpoints, a key, and the connection file that contains both. */
#ifndef HUSK_JUPYTER_CONNECTION_H
#define HUSK_JUPYTER_CONNECTION_H

#include "base/fail.h"
#include "jupyter/message.h"

/* The start of the name of a connection's folder, and the name of the file in it. */
#define CONNECTION_FOLDER "husk-jupyter-"
#define CONNECTION_FILE "connection.json"

enum channel { CHANNEL_SHELL, CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_HEARTBEAT, CHANNELS };

struct connection {
	char *folder; /* mode 0700, removed on release; NULL = another program wrote the file */
	char *file;   /* mode 0600, in that folder */
	char *endpoints[CHANNELS];
};

/* Makes the folder below `parent` and writes the file. The endpoints are sockets in the folder (ipc://), or with `tcp`
 * free ports on 127.0.0.1. The caller calls connection_release(), even after a failure, which removes the folder with
 * the file and the sockets. */
int connection_make(struct connection *ret, const char *parent, bool tcp, const struct sender_id *id,
		    const char *kernel_name, struct fail *f);
/* Reads a connection file that another program wrote. Its endpoints must be on this machine (ipc:// or 127.0.0.1). It
 * must have a key, since without one every program that reaches the kernel could run code. The caller calls
 * connection_release(), also after a failure. */
int connection_read(struct connection *ret, const char *file, struct sender_id *ret_id, struct fail *f);
void connection_release(struct connection *c);

#endif
