/* What an install call needs beside a process: how large the result is, what it says it installed. */
#ifndef HUSK_KERNELS_INSTALL_H
#define HUSK_KERNELS_INSTALL_H

#include "kernels/job.h"

/* True if what is installed takes more than `limit` bytes, or the installer's scratch files twice that: both are on disk,
 * where the container's other limits do not count them. */
bool install_is_large(uint64_t limit);
/* The JSON object that the installer wrote to fd becomes the call's RESULT; anything else is ignored. */
void install_report(struct job *job, int fd);

#endif
