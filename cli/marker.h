/* Environment markers of PEP 508: `python_version >= "3.9" and sys_platform == "linux"`, evaluated for a session. */
#ifndef HUSK_CLI_MARKER_H
#define HUSK_CLI_MARKER_H

#include "base/fail.h"

/* Whether the marker is true for CPython on Linux, with this machine's processor type. `python` is a minor version
 * such as "3.13"; NULL = unknown. Returns 1, 0, or -1 with f if the marker cannot be parsed, is longer than 4,096
 * bytes, or depends on something that is unknown before the session starts, such as the patch release or the kernel's
 * version. */
int marker_applies(const char *marker, const char *python, struct fail *f);

#endif
