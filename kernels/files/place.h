/* A path below a writable directory: its parent, found without following links, and its last name. Whatever is behind
 * that name is examined with its parent open, so a path that sandbox code changes meanwhile cannot lead elsewhere. Also
 * the ITEM frame that describes a name, and the words for errors, which all requests about files share. */
#ifndef HUSK_KERNELS_FILES_PLACE_H
#define HUSK_KERNELS_FILES_PLACE_H

#include <sys/stat.h>

#include "kernels/item.h"

struct place {
	int parent;		       /* O_PATH; -1 = none */
	char name[ENTRY_NAME_MAX + 1]; /* "" = the writable directory itself, which is then the parent */
};

/* 0, or -errno: -EXDEV if the path is not below a writable directory, or not normal. */
int place_find(struct place *p, const char *path);
/* Likewise, but creates missing parents. */
int place_make(struct place *p, const char *path);
void place_release(struct place *p);

/* lstat() of the place. 0 or -errno. */
int place_stat(const struct place *p, struct stat *ret);
/* 0 if the tag is that of the file, is "*" for any version, or is empty; -ESTALE if the file has changed. */
int place_check_tag(const struct stat *st, const char *tag);

/* Appends the ITEM of a name in `dir`; with the name "" that of the request's own path, and then `dir` and `link` say
 * where the target of a symbolic link is read. 0 or -errno; nothing is appended on failure. */
int place_put_item(struct buf *out, uint32_t call, const struct stat *st, const char *name, int dir, const char *link);

/* A word for programs (docs/protocol.md, END), or NULL; and a sentence, which the caller owns. */
const char *place_cause(int error);
char *place_explain(const char *path, int error);

#endif
