/* The folder of one container's line, `lines/CONTAINER` in the state folder. It is mounted read-only into the
 * container. It holds the server's socket, and the container's id for the next server.
 *
 * A container can read the real path of its folder in /proc/self/mountinfo, and the path of the state folder
 * contains the user's name. So `lines` is a link to a folder with a random name in $XDG_RUNTIME_DIR or the
 * temporary folder. That folder is removed with its last container. */
#ifndef HUSK_MANAGER_LINE_FOLDER_H
#define HUSK_MANAGER_LINE_FOLDER_H

#include "base/loop.h"
#include "base/strv.h"
#include "manager/model/config.h"

#define CONTAINER_ID_SIZE 65

/* The caller owns the path. NULL if the name could lead outside the folder. */
char *folder_path(const struct config *config, const char *container);
/* 0 or -errno. */
int folder_make(const char *path);
/* Returns a listening socket that PID 1 can already dial, or -errno. *ret_inode distinguishes it from the sockets
 * of other servers. */
int folder_listen(const char *path, uint64_t *ret_inode);
/* Removes the socket, unless another server has replaced it. */
void folder_hide(const char *path, uint64_t inode);
void folder_write_id(const char *path, const char *id);
/* "" if the id is unknown. False if the folder does not exist. */
bool folder_read_id(const char *path, char ret[CONTAINER_ID_SIZE]);
void folder_remove(const char *path);
/* Starts a worker job that removes folders without a container, if they have not changed for orphan_min_age
 * seconds. `containers` lists the containers that exist. */
void folders_sweep(struct loop *loop, const struct config *config, const struct strv *containers);

#endif
