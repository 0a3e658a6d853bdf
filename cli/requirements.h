/* Packages that a program requires: PEP 723 metadata in a Python script, requirements.txt, package.json. Names and
 * versions are added in pairs, as the manager takes them; "" = any version. -1 with f for unsupported entries:
 * URLs, options, markers. */
#ifndef HUSK_CLI_REQUIREMENTS_H
#define HUSK_CLI_REQUIREMENTS_H

#include "base/fail.h"
#include "base/strv.h"

/* Those in the script's own metadata; none if it has no such block. */
int requirements_of_script(const char *text, size_t n, struct strv *ret, struct fail *f);
/* Checks the script's requires-python against a version such as "3.13". The patch release is not known, so a limit that it decides is
 * taken as met. */
int requirements_check_python(const char *text, size_t n, const char *version, struct fail *f);
int requirements_of_file(const char *text, size_t n, struct strv *ret, struct fail *f);
int requirements_of_package(const char *text, size_t n, struct strv *ret, struct fail *f);
/* One requirement in the form of PEP 508: "pandas[excel]>=2,<3". */
int requirements_add(const char *requirement, struct strv *ret, struct fail *f);

#endif
