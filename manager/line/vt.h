/* Draws the output of a command on a terminal, with libvterm, and returns the new text as a person would see it.
 * Output that is expensive to draw is left out, but a single sequence can still take long, and libvterm may have
 * bugs. So only husk-emulator runs this code (emulator.h). */
#ifndef HUSK_MANAGER_LINE_VT_H
#define HUSK_MANAGER_LINE_VT_H

#include "base/frames.h"

struct vt;

/* Rows and columns must be positive. */
struct vt *vt_new(int rows, int cols);
/* Accepts NULL, returns NULL. */
struct vt *vt_free(struct vt *t);
void vt_feed(struct vt *t, const void *data, size_t n);
/* Makes the text mention that n bytes were dropped before the next feed. */
void vt_leave_out(struct vt *t, size_t n);
/* The lines that changed since the last call, including those that scrolled off. For a full-screen program,
 * everything on the screen. Clean text; the caller owns it. */
char *vt_take(struct vt *t);
/* The line where a user would type, up to the cursor: clean text; the caller owns it. */
char *vt_prompt(struct vt *t);
/* True in application cursor mode (DECCKM). */
bool vt_application_keys(struct vt *t);
/* Draws one feed in husk-emulator, and appends the frames of the answer (emulator-protocol.h). */
void vt_answer(struct vt *t, const struct frame *feed, struct buf *out);

#endif
