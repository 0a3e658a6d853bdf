/* Managers and conversations: opening and closing. */
#ifndef HUSK_LIBHUSK_OPEN_H
#define HUSK_LIBHUSK_OPEN_H

#include "libhusk/handle.h"

/* Like husk_open(), with the name of an engine; NULL = CONTAINER_ENGINE. Also for tests. */
struct husk_error *open_on(const struct husk_settings *settings, const char *engine, struct husk **ret);

#endif
