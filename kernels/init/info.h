/* Figures for the state of a session: disks, memory, terminals. */
#ifndef HUSK_KERNELS_INIT_INFO_H
#define HUSK_KERNELS_INIT_INFO_H

#include <jansson.h>

#include "kernels/disk/disk.h"
#include "kernels/system/limits.h"

void info_add_figures(json_t *info, const struct disk *home, const struct limits *limits);

#endif
