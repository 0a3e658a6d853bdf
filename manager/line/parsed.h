/* What a DISPLAY, RESULT or ERROR frame says: parsed, cleaned and cut. Reading it touches nothing but its arguments, so a worker job
 * can do it for a frame that is too much for the loop. */
#ifndef HUSK_MANAGER_LINE_PARSED_H
#define HUSK_MANAGER_LINE_PARSED_H

#include "manager/line/wire.h"
#include "manager/model/config.h"

struct parsed {
	bool valid; /* else the frame is not a JSON object, and the rest is empty */
	/* Of a display. */
	bool clear, update;
	bool picture;		   /* it shows one */
	char *id;		   /* NULL = none */
	struct mime_bundle bundle; /* of a result, too */
	/* Of an error. */
	char *error_type, *error_message, *error_traceback;
};

/* Once, on the loop, before the first parsed_read(). */
void parsed_init(void);
/* True if reading it takes the loop less than a millisecond: it is short and holds few values. */
bool parsed_is_light(const struct wire_frame *frame);
void parsed_read(struct parsed *ret, const struct wire_frame *frame, const struct config *config);
void parsed_release(struct parsed *p);

/* Text of a JSON string: cleaned, and cut to max_chars (0 = whole). What is far longer than that is cut before it is cleaned. */
char *parsed_text(const char *s, size_t n, uint64_t max_chars);

#endif
