/* The manager's half of fuzz-frames. PID 1 and the manager each have a `struct run`, so it is a separate file. */
#ifndef HUSK_TESTS_FUZZ_FRAMES_LOG_H
#define HUSK_TESTS_FUZZ_FRAMES_LOG_H

#include "base/buf.h"

/* True if the log has only frames that PID 1 may send, all of this run; END is the last one and occurs once. */
bool frames_log_is_valid(const struct buf *log, uint32_t run);

#endif
