/* Managers and conversations: opening and closing. */
#ifndef HUSK_LIBHUSK_OPEN_H
#define HUSK_LIBHUSK_OPEN_H

#include "libhusk/handle.h"

/* As husk_open(), on a kind of engine by its name; NULL = the usual one. For tests too. */
struct husk_error *open_on(const struct husk_settings *settings, const char *engine, struct husk **ret);

#endif
