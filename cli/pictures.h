/* Pictures of a run as files on this machine. */
#ifndef HUSK_CLI_PICTURES_H
#define HUSK_CLI_PICTURES_H

#include "manager/manager.h"

/* Saves each picture as STEM-N.png (or what it is), from *number on, which counts up; says so on stderr. */
void pictures_save(const struct run_result *result, const char *stem, unsigned *number);

#endif
