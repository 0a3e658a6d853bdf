/* Pictures of a run as files on this machine. */
#ifndef HUSK_CLI_PICTURES_H
#define HUSK_CLI_PICTURES_H

#include "base/buf.h"
#include "manager/manager.h"

struct picture {
	const char *type, *ending; /* "image/png", "png" */
	struct buf bytes;	   /* of the file */
};
/* The best picture of a display; false if it has none. Release it. */
bool picture_take(const struct mime_bundle *bundle, struct picture *ret);
void picture_release(struct picture *p);
/* As STEM-N.png, with the first number that is free. The name is the caller's; NULL if it cannot be, and stderr says why. */
char *picture_save(const struct picture *p, const char *stem);

/* Saves each picture as STEM-N.png (or what it is), from *number on, which counts up; says so on stderr. */
void pictures_save(const struct run_result *result, const char *stem, unsigned *number);

#endif
