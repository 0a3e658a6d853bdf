/* PID 1's side of the frames: the types that a controller may send, and JSON as a payload. */
#ifndef HUSK_KERNELS_SYSTEM_FRAMES_H
#define HUSK_KERNELS_SYSTEM_FRAMES_H

#include <jansson.h>

#include "kernels/protocol.h"

/* The longest payload that a controller may send in a frame of this type; -1 if it may not send this type. */
int64_t controller_payload_max(uint8_t type);

/* Does not take the reference. -EMSGSIZE beyond FRAME_PAYLOAD_MAX (nothing was appended). */
int frame_append_json(struct buf *out, uint8_t type, uint32_t call, const json_t *payload);

#endif
