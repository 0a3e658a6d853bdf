/* The folder that is copied together with a program or a notebook. */
#ifndef HUSK_CLI_FOLDER_H
#define HUSK_CLI_FOLDER_H

#include <stdbool.h>

/* True if the folder must not be copied: "/", or the home directory, which holds keys. folder is absolute and
 * contains no symbolic links. */
bool folder_is_too_much(const char *folder);

#endif
