/* A file that the manager reads: all of it or a part, as frames. The file stays the same one even if its name leads
 * elsewhere meanwhile. */
#ifndef HUSK_KERNELS_FILES_OPEN_FILE_H
#define HUSK_KERNELS_FILES_OPEN_FILE_H

#include "kernels/item.h"

struct open_file;

/* 0 and *ret, or -errno: -EISDIR for a directory, -EINVAL for anything else that is not a file. */
int open_file_new(const char *path, struct open_file **ret);
/* Accepts NULL, returns NULL. */
struct open_file *open_file_free(struct open_file *o);
/* Appends the ITEM of the file as it was when it was opened. */
int open_file_put_item(const struct open_file *o, uint32_t call, struct buf *out);

/* True if the file should be passed as a descriptor, where that is possible. */
bool open_file_is_large(const struct open_file *o);
/* Hands over the descriptor, which is open for reading only. */
int open_file_take(struct open_file *o);
/* The descriptor could not be passed. Takes it. */
void open_file_give_back(struct open_file *o, int fd);

/* Chooses the part to read, once. -EPROTO if it is not within the file, or was chosen before. */
int open_file_fetch(struct open_file *o, uint64_t offset, uint64_t length);
/* Appends DATA frames of at most `max` bytes. 1 if there is more (or nothing was chosen yet), 0 if that was all,
 * -ESTALE if the file has become shorter, or -errno. */
int open_file_produce(struct open_file *o, uint32_t call, size_t max, struct buf *out);

#endif
