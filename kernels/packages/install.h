/* What an install call needs beside a process: which versions are there, and how large that is. */
#ifndef HUSK_KERNELS_PACKAGES_INSTALL_H
#define HUSK_KERNELS_PACKAGES_INSTALL_H

#include "kernels/runs/run.h"

/* Makes what was installed readable for everybody, and takes set-id bits away: whoever uses it is another user. */
void install_open(void);
/* The environment of the program that tells what was installed: nothing in it leads to a file that the packages' code could write. */
void install_env(struct strv *ret, const struct strv *env, const struct strv *late);
/* The JSON object that this program wrote to fd becomes the call's RESULT; anything else is ignored. */
void install_report(struct run *run, int fd);

#endif
