/* W3C trace context: the field `traceparent` that links the log of a server with those of its callers. */
#ifndef HUSK_BASE_TRACE_H
#define HUSK_BASE_TRACE_H

#include "base/defs.h"

#define TRACE_CHARS 55

/* True for "00-<32 hex digits>-<16 hex digits>-<2 hex digits>" in lower case, where neither id is zero. Everything else
 * is ignored, as the specification asks. */
bool trace_is_valid(const char *traceparent);

#endif
