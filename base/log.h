/* Events on stderr: `husk: cannot …` is an error, and other levels are named. Control characters are replaced,
 * except line breaks. Lines after the first are indented, so that untrusted text cannot forge an event. At debug level
 * each event has its time (UTC). Libraries log only at debug level, since the code that handles a failure reports it.
 * The setting HUSK_LOG chooses the level. */
#ifndef HUSK_BASE_LOG_H
#define HUSK_BASE_LOG_H

#include "base/defs.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
bool log_shows(enum log_level level);
/* Reads HUSK_LOG from the environment, for events before the settings are loaded. Ignores a bad value, which
 * loading the settings rejects. */
void log_init(void);
/* The values of HUSK_LOG in the order of their levels; ends with NULL. */
extern const char *const log_levels[];
/* Also passes events of the calling thread up to this level to fn. There is one watcher at a time; fn = NULL removes
 * it. text ends without a line break and may hold any control character. */
typedef void log_fn(void *ctx, enum log_level level, const char *text);
void log_watch(log_fn *fn, void *ctx, enum log_level level);
/* Removes the watcher if it was set with this ctx. */
void log_unwatch(const void *ctx);
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
