/* What a cell shows, told to all clients as it comes. Text is held for some milliseconds, so that a loop of small prints is not a
 * message each; everything else comes behind the text that was before it. */
#ifndef HUSK_JUPYTER_FACE_PUBLISHER_H
#define HUSK_JUPYTER_FACE_PUBLISHER_H

#include "jupyter/face/request.h"
#include "manager/manager.h"

struct publisher;

struct publisher *publisher_new(struct loop *loop, struct channels *channels);
/* What it holds is dropped. Accepts NULL, returns NULL. */
struct publisher *publisher_free(struct publisher *p);

/* All that follows is of this request, which must live until publisher_end(). Quiet: nothing of it is told but what it does. */
void publisher_begin(struct publisher *p, const struct request *request, bool quiet);
void publisher_end(struct publisher *p);

/* Tells now what it holds. */
void publisher_flush(struct publisher *p);

void publisher_code(struct publisher *p, const char *code, uint64_t count);
void publisher_text(struct publisher *p, int stream, const char *text, size_t n);
void publisher_display(struct publisher *p, const struct shown_display *display);
void publisher_result(struct publisher *p, const struct mime_bundle *bundle, uint64_t count);
/* The content of an `error`: ename, evalue, traceback. */
void publisher_error(struct publisher *p, const json_t *error);

/* "busy", "idle", "starting": what is done about a request; NULL = about none. */
void publisher_status(struct publisher *p, const struct request *request, const char *state);

#endif
