/* Paths as text: where something goes in a sandbox, what it is called, what kind of content its name promises. Pure. */
#ifndef HUSK_MANAGER_FILES_NAMES_H
#define HUSK_MANAGER_FILES_NAMES_H

#include "base/fail.h"

/* The absolute, normal form of a path in a sandbox: relative ones are below /workspace; "." and ".." are resolved as text.
 * The caller owns it. NULL with f filled if it is not below /workspace, /tmp or /home/sandbox. */
char *names_sandbox_path(const char *path, struct fail *f);
/* The last component; what is before trailing slashes counts. The caller owns it. */
char *names_base(const char *path);
/* The part of `path` below `dir` ("" = dir itself), or NULL if it is not there. Both are normal. */
const char *names_below(const char *path, const char *dir);
/* By the extension; application/octet-stream if it says nothing. Static. */
const char *names_mime(const char *name);
/* ".csv" if that is short and plain, else "". Static or within name. */
const char *names_extension(const char *name);
/* What an export of this name is called on the host: the same, but for bytes that a terminal would not show, and with ".tar" if it is
 * a directory. Always one component of a path. The caller owns it. */
char *names_host_file(const char *name, bool directory);
/* Percent-encoded, so that it can be a segment of a URI. The caller owns it. */
char *names_uri_segment(const char *name);

#endif
