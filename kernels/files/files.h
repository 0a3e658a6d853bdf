/* The file transfers of the manager: imports and exports that run beside cells and commands, a little in each turn
 * of the loop. They are not replayed: when the stream ends they end too, and clean up. */
#ifndef HUSK_KERNELS_FILES_FILES_H
#define HUSK_KERNELS_FILES_FILES_H

#include "base/list.h"
#include "kernels/disk/disk.h"
#include "kernels/runs/sender.h"
#include "kernels/system/frames.h"

struct files {
	struct list list; /* of struct file_call */
	struct sender *sender;
	const struct disk *home;   /* watches the home directory; NULL = none */
	bool descriptors;	   /* the controller's stream can pass descriptors */
	struct file_call *passing; /* export whose file is about to be sent as a descriptor; NULL = none */
};

void files_init(struct files *f, struct sender *sender, const struct disk *home);

/* Takes IMPORT, EXPORT, ENTRY, DATA, CREDIT and DONE, and requests about files in place. 0, or -EPROTO if the stream
 * must be closed. The caller has checked that the number of a new call is free. */
int files_frame(struct files *f, const struct frame *frame);
/* True if there is such a transfer. It ends `interrupted`, unless an import is already being moved into place. */
bool files_interrupt(struct files *f, uint32_t call);
/* The controller has disconnected: the ends of transfers are not reported. */
void files_orphan(struct files *f);
/* Does a little of the work. True if more can be done without waiting; file data is only produced while the sender
 * has nothing else to send. */
bool files_step(struct files *f);

#endif
