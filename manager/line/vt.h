/* A terminal as a person would see it, by libvterm: bytes of a command in, the text that is new out. Sequences that would cost far
 * more than their length are bounded in time. */
#ifndef HUSK_MANAGER_LINE_VT_H
#define HUSK_MANAGER_LINE_VT_H

#include "base/buf.h"

struct vt;

enum vt_key {
	VT_UP,
	VT_DOWN,
	VT_LEFT,
	VT_RIGHT,
	VT_INSERT,
	VT_DELETE,
	VT_HOME,
	VT_END,
	VT_PAGE_UP,
	VT_PAGE_DOWN,
	VT_F1, /* to VT_F1 + 11 */
};

/* Rows and columns must be positive. */
struct vt *vt_new(int rows, int cols);
/* Accepts NULL, returns NULL. */
struct vt *vt_free(struct vt *t);
void vt_feed(struct vt *t, const void *data, size_t n);
/* The lines that have changed since the last call, those that have left the screen too; in a program that draws on the whole screen
 * all that it shows. Clean text, the caller's. */
char *vt_take(struct vt *t);
/* The line on which somebody would type, up to where: clean text, the caller's. */
char *vt_prompt(struct vt *t);
/* Appends what the key sends in the mode that the program has asked for. */
void vt_press(struct vt *t, enum vt_key key, struct buf *out);

#endif
