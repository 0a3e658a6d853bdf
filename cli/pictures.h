/* Pictures of a run as files on this machine. */
#ifndef HUSK_CLI_PICTURES_H
#define HUSK_CLI_PICTURES_H

#include "base/buf.h"
#include "manager/manager.h"

struct picture {
	const char *type, *ending; /* "image/png", "png" */
	struct buf bytes;	   /* content of the file */
};
/* The best picture of a display; false if there is no picture. The caller releases it. */
bool picture_take(const struct mime_bundle *bundle, struct picture *ret);
void picture_release(struct picture *p);
/* Saves the picture as STEM-N.png (or with the ending of its type), with the first free number. Returns the name, which
 * the caller owns. NULL if the picture cannot be saved, which is reported on stderr. */
char *picture_save(const struct picture *p, const char *stem);

/* Saves each picture as STEM-N.png (or with the ending of its type), starting at *number, which is increased.
 * Reports each name on stderr. */
void pictures_save(const struct run_result *result, const char *stem, unsigned *number);

#endif
