/* A terminal as a person would see it, by libvterm: bytes of a command in, the text that is new out. Output that is expensive to draw
 * is left out, but a single sequence can still take long, and libvterm may have bugs: only husk-emulator runs this (emulator.h). */
#ifndef HUSK_MANAGER_LINE_VT_H
#define HUSK_MANAGER_LINE_VT_H

#include "base/buf.h"

struct vt;

/* Rows and columns must be positive. */
struct vt *vt_new(int rows, int cols);
/* Accepts NULL, returns NULL. */
struct vt *vt_free(struct vt *t);
void vt_feed(struct vt *t, const void *data, size_t n);
/* So many bytes were dropped before the next ones: the text says so. */
void vt_leave_out(struct vt *t, size_t n);
/* The lines that have changed since the last call, those that have left the screen too; in a program that draws on the whole screen
 * all that it shows. Clean text, the caller's. */
char *vt_take(struct vt *t);
/* The line on which somebody would type, up to where: clean text, the caller's. */
char *vt_prompt(struct vt *t);
/* The program has asked for the other codes of the cursor keys (DECCKM). */
bool vt_application_keys(struct vt *t);

#endif
