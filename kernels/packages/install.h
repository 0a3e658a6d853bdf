/* What an install call needs beside a process: what it says it installed, and how large that is. */
#ifndef HUSK_KERNELS_PACKAGES_INSTALL_H
#define HUSK_KERNELS_PACKAGES_INSTALL_H

#include "kernels/runs/run.h"

/* Makes what was installed readable for everybody, and takes set-id bits away: whoever uses it is another user. */
void install_open(void);
/* The JSON object that the installer wrote to fd becomes the call's RESULT; anything else is ignored. */
void install_report(struct run *run, int fd);

#endif
