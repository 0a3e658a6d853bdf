/* Parts of an install other than its process: file permissions, and the report of the installed versions and their
 * size. */
#ifndef HUSK_KERNELS_PACKAGES_INSTALL_H
#define HUSK_KERNELS_PACKAGES_INSTALL_H

#include "kernels/runs/run.h"

/* Makes installed files readable for all users and removes set-id bits: sessions that use them run as another
 * user. */
void install_open(void);
/* Adds these names to NO_PROXY: they must not be reached through a proxy that the environment names. */
void install_spare_proxies(struct strv *env, const struct strv *names);
/* The environment of the program that lists the installed versions: nothing in it leads to a file that the
 * packages' code could write. */
void install_env(struct strv *ret, const struct strv *env, const struct strv *late);
/* The JSON object that the program above wrote to fd becomes the run's RESULT; anything else is ignored. */
void install_report(struct run *run, int fd);

#endif
