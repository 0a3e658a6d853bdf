/* Pure functions on paths as text: places in a session, names of files, and content types by name. */
#ifndef HUSK_MANAGER_FILES_NAMES_H
#define HUSK_MANAGER_FILES_NAMES_H

#include "base/fail.h"

/* The absolute, normalized form of a path in a session. Relative paths are below /workspace; "." and ".." are
 * resolved as text. The caller owns it. NULL with f if it is not below /workspace, /tmp or /home/sandbox. */
char *names_session_path(const char *path, struct fail *f);
/* The last component, ignoring trailing slashes. The caller owns it. */
char *names_base(const char *path);
/* The part of `path` below `dir` ("" = dir itself), or NULL if it is not below. Both must be normalized. */
const char *names_below(const char *path, const char *dir);
/* The content type by the extension; application/octet-stream if that is unknown. The result is static. */
const char *names_mime(const char *name);
/* The extension, such as ".csv", if it is short and plain, else "". The result is static or within name. */
const char *names_extension(const char *name);
/* The name of an export on the host: the same name, but without bytes that a terminal would not show, and with
 * ".tar" for a directory. Always one component of a path. The caller owns it. */
char *names_host_file(const char *name, bool directory);

#endif
