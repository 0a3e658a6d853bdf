/* Properties of a language. Jupyter uses them to highlight code, name files and export notebooks. */
#ifndef HUSK_JUPYTER_FACE_LANGUAGE_H
#define HUSK_JUPYTER_FACE_LANGUAGE_H

#include <jansson.h>

#include "manager/manager.h"

/* The `language_info` of a kernel_info_reply; a new reference. */
json_t *language_info(const struct runtime *runtime);
/* "python", "javascript", "R": the name in notebooks. */
const char *language_name(const struct runtime *runtime);
/* "Python", "Node.js", "R": the title without the version; the caller frees it. */
char *language_title(const struct runtime *runtime);

#endif
