/* Managers and conversations: opening and closing. */
#ifndef HUSK_LIBHUSK_OPEN_H
#define HUSK_LIBHUSK_OPEN_H

#include "libhusk/handle.h"

/* Like husk_open(), with a kind of engine by name; NULL = the default. For tests too. */
struct husk_error *open_on(const struct husk_settings *settings, const char *engine, struct husk **ret);

#endif
