/* Contents of a DISPLAY, RESULT or ERROR frame: parsed, cleaned and cut. Parsing touches only its arguments, so a
 * worker job can do it for frames that are too large for the loop. */
#ifndef HUSK_MANAGER_LINE_PARSED_H
#define HUSK_MANAGER_LINE_PARSED_H

#include "manager/line/wire.h"
#include "manager/model/config.h"

struct parsed {
	bool valid; /* false: the frame is not a JSON object, and the rest is empty */
	/* Display: */
	bool clear, update;
	bool picture;		   /* contains an image other than SVG */
	char *id;		   /* NULL = no id */
	struct mime_bundle bundle; /* also for a result */
	/* Error: */
	char *error_type, *error_message, *error_traceback;
};

/* Call it on the loop before the first parsed_read(). */
void parsed_init(void);
/* True if the loop can parse the frame in less than a millisecond: it is short and has few values. */
bool parsed_is_light(const struct wire_frame *frame);
void parsed_read(struct parsed *ret, const struct wire_frame *frame, const struct config *config);
void parsed_release(struct parsed *p);

/* The text of a JSON string: cleaned, and cut to max_chars (0 = no limit). Much longer strings are cut before they
 * are cleaned. */
char *parsed_text(const char *s, size_t n, uint64_t max_chars);

#endif
