/* Publishes a cell's output to all clients as it arrives. Text is held for some milliseconds, so that many small prints
 * become one message. The order of text and other output is kept. */
#ifndef HUSK_JUPYTER_FACE_PUBLISHER_H
#define HUSK_JUPYTER_FACE_PUBLISHER_H

#include "jupyter/face/request.h"
#include "manager/manager.h"

struct publisher;

struct publisher *publisher_new(struct loop *loop, struct channels *channels);
/* Drops held text. Accepts NULL, returns NULL. */
struct publisher *publisher_free(struct publisher *p);

/* The following output belongs to this request, which must live until publisher_end(). quiet: publish only its
 * states. */
void publisher_begin(struct publisher *p, const struct request *request, bool quiet);
void publisher_end(struct publisher *p);

/* Publishes held text now. */
void publisher_flush(struct publisher *p);

void publisher_code(struct publisher *p, const char *code, uint64_t count);
void publisher_text(struct publisher *p, int stream, const char *text, size_t n);
void publisher_display(struct publisher *p, const struct shown_display *display);
void publisher_result(struct publisher *p, const struct mime_bundle *bundle, uint64_t count);
/* The content of an `error`: ename, evalue, traceback. */
void publisher_error(struct publisher *p, const json_t *error);

/* Publishes "busy", "idle" or "starting" with the request as its parent; NULL = without one. */
void publisher_status(struct publisher *p, const struct request *request, const char *state);

#endif
