/* The folder that is copied along with a program or a notebook. */
#ifndef HUSK_CLI_FOLDER_H
#define HUSK_CLI_FOLDER_H

#include <stdbool.h>

/* A home directory holds keys, and nobody means all of it; nor "/". folder is absolute, and no link. */
bool folder_is_too_much(const char *folder);

#endif
