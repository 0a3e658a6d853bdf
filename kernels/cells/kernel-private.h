/* Shared by the files of kernel. */
#ifndef HUSK_KERNELS_CELLS_KERNEL_PRIVATE_H
#define HUSK_KERNELS_CELLS_KERNEL_PRIVATE_H

#include "kernels/cells/kernel.h"

/* ---- kernel.c */

/* The kernel can take a run or a query. */
void kernel_tell_idle(struct kernel *k);
void kernel_send_event(struct kernel *k, const char *event, const char *name, const char *value);
/* Takes the note, which the END of the next run has. */
void kernel_set_note(struct kernel *k, char *note);
/* The known variables are lost. The END of this run or the next lists them. */
void kernel_lose_variables(struct kernel *k);
/* A working kernel clears the record of failed starts. */
void kernel_note_well(struct kernel *k);

/* ---- kernel-fork.c */

/* Takes the kernel's answer to a `fork`. -1 if there was none. */
int kernel_forked(struct kernel *k, const struct link_message *m);

/* ---- kernel-start.c */

/* Sets the callbacks of the handshake. */
void kernel_init_start(struct kernel *k);
/* The kernel died before its hello. `cause` completes "the kernel …", here and below. */
void kernel_start_failed(struct kernel *k, const char *cause);
/* Kills all processes of the session, because only they can keep a kernel from starting, and starts it again. Done
 * once; then the kernel has failed. */
void kernel_recover(struct kernel *k, const char *cause);
void kernel_fail(struct kernel *k, const char *cause);

#endif
