/* Formats sizes in bytes for people. */
#ifndef HUSK_BASE_SIZES_H
#define HUSK_BASE_SIZES_H

#include "base/defs.h"

#define SIZES_TEXT 32

/* "812 MiB", "4.2 GiB". Returns `out`. */
static inline const char *sizes_text(uint64_t bytes, char out[SIZES_TEXT])
{
	if (bytes >= 1ull << 30)
		(void)snprintf(out, SIZES_TEXT, "%.1f GiB", (double)bytes / (double)(1ull << 30));
	else
		(void)snprintf(out, SIZES_TEXT, bytes >= 10u << 20 ? "%.0f MiB" : "%.1f MiB",
			       (double)bytes / (double)(1u << 20));
	return out;
}

#endif
