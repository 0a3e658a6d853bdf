/* Shared by the files of wire. */
#ifndef HUSK_MANAGER_LINE_WIRE_PRIVATE_H
#define HUSK_MANAGER_LINE_WIRE_PRIVATE_H

#include "manager/line/wire.h"

struct json_t;

/* Appends a frame with JSON. -1 if payload is NULL or too long. */
int wire_put_json(struct buf *out, enum frame_type type, uint32_t call, struct json_t *payload);
/* The payload of a frame, a new reference; NULL if it is not JSON. */
struct json_t *wire_json(const struct wire_frame *frame);
/* A text for people, bounded and cleaned; NULL if it is not a string. The caller owns it. */
char *wire_sentence(const struct json_t *text);

#endif
