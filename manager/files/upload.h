/* One import: data of a source goes to a session's PID 1. Worker jobs read the source, one piece at a time, and
 * never further ahead than PID 1's credit. */
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
	struct transfer *transfer; /* already joined; the upload uses its callbacks until on_done */
	struct source *source;	   /* owned by the upload */
	const char *destination;   /* absolute and normalized */
	const char *base;	   /* name to append to `destination` if the source is a file; NULL = none */
	const char *into;	   /* the same, if `destination` is a directory in the session; NULL = none */
	/* Progress, at most once for each piece. */
	void (*on_progress)(void *ctx, uint64_t sent, const struct measure *all);
	/* Called exactly once unless cancelled; the upload is gone afterwards. f NULL = everything is in place. */
	void (*on_done)(void *ctx, const struct upload_result *result, const struct fail *f);
	void *ctx;
};

struct upload *upload_start(const struct upload_spec *spec);
/* Nothing is called back; PID 1 removes staged files. */
void upload_cancel(struct upload *p);

#endif
