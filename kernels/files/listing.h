/* One page of a directory's names, sorted by their bytes. A page costs a whole reading of the directory, done a little
 * at a time, and its memory is that of the page: only the first names after the given one are kept. So pages stay right
 * while names come and go, and a directory with millions of names delays nothing else. */
#ifndef HUSK_KERNELS_FILES_LISTING_H
#define HUSK_KERNELS_FILES_LISTING_H

#include <jansson.h>

#include "kernels/item.h"

struct listing;

/* `after`: the page starts with the first name after this one; "" = the first page. `limit` is 1 to FILE_PAGE_MAX. 0
 * and *ret, or -errno. */
int listing_new(const char *path, const char *after, size_t limit, struct listing **ret);
/* Accepts NULL, returns NULL. */
struct listing *listing_free(struct listing *l);
/* Does at most `steps` small steps and may append whole ITEM frames: the directory itself under the name "", then its
 * names. 1 if there is more to do, 0 if the page is complete, -errno. */
int listing_step(struct listing *l, uint32_t call, int steps, struct buf *out);
/* Adds the number of names in the directory, and whether there are more pages, to an END. */
void listing_describe(const struct listing *l, json_t *end);

#endif
