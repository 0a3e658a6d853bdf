/* One import: what a source produces goes to a session's PID 1. The source works off the loop, one piece at a time, and never
 * further ahead than PID 1 gives credit for. */
#ifndef HUSK_MANAGER_FILES_UPLOAD_H
#define HUSK_MANAGER_FILES_UPLOAD_H

#include "base/loop.h"
#include "manager/files/source.h"
#include "manager/line/transfer.h"

struct upload;

struct upload_result {
	const char *destination;
	const struct measure *all;
	const struct strv *notices;
};

struct upload_spec {
	struct loop *loop;
	struct transfer *transfer; /* joined; its callbacks are the upload's from here to on_done */
	struct source *source;	   /* taken */
	const char *destination;   /* absolute and normal */
	const char *base;	   /* name of a file that goes into that directory; NULL = `destination` is its name */
	/* Progress; at most once for each piece. */
	void (*on_progress)(void *ctx, uint64_t sent, const struct measure *all);
	/* Exactly once unless cancelled; the upload is gone afterwards. f NULL = everything is in place. */
	void (*on_done)(void *ctx, const struct upload_result *result, const struct fail *f);
	void *ctx;
};

struct upload *upload_start(const struct upload_spec *spec);
/* Nothing is called back; PID 1 removes what it had staged. */
void upload_cancel(struct upload *p);

#endif
