/* Processes one feed in husk-emulator: draws it and builds the answer. */
#ifndef HUSK_MANAGER_LINE_EMULATOR_DRAW_H
#define HUSK_MANAGER_LINE_EMULATOR_DRAW_H

#include "base/frames.h"
#include "manager/line/vt.h"

/* Appends the frames of the answer (emulator-protocol.h). */
void emulator_draw(struct vt *t, const struct frame *feed, struct buf *out);

#endif
