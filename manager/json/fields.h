/* Reads and writes the fields of a JSON object. Reading remembers the first bad field. A missing or null field
 * reads as 0. */
#ifndef HUSK_MANAGER_JSON_FIELDS_H
#define HUSK_MANAGER_JSON_FIELDS_H

#include <jansson.h>

#include "base/fail.h"

struct fields {
	const json_t *json;
	const char *bad; /* name of the first bad field */
};

/* A string that is valid as long as the JSON. */
const char *fields_text(struct fields *in, const char *name);
/* Likewise with its length; neither contains NULs. */
const char *fields_text_n(struct fields *in, const char *name, size_t *ret_n);
/* Copies that the caller frees. If the field is missing, the first function returns NULL and the second "". */
char *fields_copy(struct fields *in, const char *name);
char *fields_copy_or_empty(struct fields *in, const char *name);
uint64_t fields_number(struct fields *in, const char *name, uint64_t max);
/* UINT64_MAX if the field is missing. */
uint64_t fields_number_or_none(struct fields *in, const char *name);
double fields_real(struct fields *in, const char *name);
bool fields_bool(struct fields *in, const char *name);
/* An array of at most max entries, and an object. NULL if the field is missing or bad. */
const json_t *fields_list(struct fields *in, const char *name, size_t max);
const json_t *fields_object(struct fields *in, const char *name);
/* The index of the value in names[n]. */
int fields_choice(struct fields *in, const char *name, const char *const *names, size_t n);
/* 0, or -1 with a sentence that names the bad field. */
int fields_check(const struct fields *in, struct fail *f);

/* NULL, 0 and false are not written: a missing field reads the same. Text that is not valid UTF-8 is cleaned. */
void fields_put_text(json_t *out, const char *name, const char *text);
void fields_put_text_n(json_t *out, const char *name, const char *text, size_t n);
void fields_put_number(json_t *out, const char *name, uint64_t value);
void fields_put_bool(json_t *out, const char *name, bool value);

#endif
