/* Packages that a program requires: PEP 723 metadata in a Python script, requirements.txt, package.json. Names and
 * versions are added in pairs, as the manager takes them; "" = any version. A requirement whose environment marker is
 * false is left out. `python` is the session's minor version, such as "3.13"; NULL = unknown. -1 with f for URLs,
 * options, and markers that cannot be evaluated; the message begins with the line's number. */
#ifndef HUSK_CLI_REQUIREMENTS_H
#define HUSK_CLI_REQUIREMENTS_H

#include "base/fail.h"
#include "base/strv.h"

/* The requirements in the script's own metadata; none if the script has no metadata. */
int requirements_of_script(const char *text, size_t n, const char *python, struct strv *ret, struct fail *f);
/* Checks the script's requires-python. The patch release is not known, so a limit that depends on it counts as met. */
int requirements_check_python(const char *text, size_t n, const char *python, struct fail *f);
int requirements_of_file(const char *text, size_t n, const char *python, struct strv *ret, struct fail *f);
int requirements_of_package(const char *text, size_t n, struct strv *ret, struct fail *f);
/* One requirement in the form of PEP 508: pandas[excel]>=2,<3; python_version<"4". */
int requirements_add(const char *requirement, const char *python, struct strv *ret, struct fail *f);

#endif
