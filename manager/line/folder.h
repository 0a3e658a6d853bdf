/* The folder of one container's line, `lines/CONTAINER` in the state folder: mounted read-only into the container, a server's
 * socket appears in it, and the container's id is kept there for the next server.
 *
 * A container can read in /proc/self/mountinfo where its folder really is, and the path of the state folder names the user. So
 * `lines` is a link to a folder with a random name in $XDG_RUNTIME_DIR or the folder for temporary files; it goes with its last
 * container. */
#ifndef HUSK_MANAGER_LINE_FOLDER_H
#define HUSK_MANAGER_LINE_FOLDER_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/model/config.h"

#define CONTAINER_ID_SIZE 65

/* The caller owns it. NULL if the name could lead elsewhere. */
char *folder_path(const struct config *config, const char *container);
/* 0 or -errno. */
int folder_make(const char *path);
/* A listening socket, in its place by the time this returns: a descriptor or -errno. *ret_inode tells it from those of other servers. */
int folder_listen(const char *path, uint64_t *ret_inode);
/* Takes the socket's name away, unless another server's has taken its place. */
void folder_hide(const char *path, uint64_t inode);
void folder_write_id(const char *path, const char *id);
/* "" if it is not known. False if there is no such folder. */
bool folder_read_id(const char *path, char ret[CONTAINER_ID_SIZE]);
void folder_remove(const char *path);
/* Removes, off the loop, folders without a container that nobody has touched for min_age seconds. */
void folders_sweep(struct loop *loop, const struct config *config, const struct strv *containers);

#endif
