/* One line per event on stderr; untrusted text is escaped. Libraries log only at debug level: whoever handles a failure
 * reports it. HUSK_LOG=error|warning|info|debug, default warning. */
#ifndef HUSK_BASE_LOG_H
#define HUSK_BASE_LOG_H

#include "base/defs.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* Reads HUSK_LOG. */
void log_init(void);
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
