/* The fields of a JSON object, read and written. Reading remembers the first that is not what it should be; one that is missing, or null,
 * is 0. */
#ifndef HUSK_ATTACH_FIELDS_H
#define HUSK_ATTACH_FIELDS_H

#include <jansson.h>

#include "base/fail.h"

struct fields {
	const json_t *json;
	const char *bad; /* its name */
};

/* Valid as long as the JSON. */
const char *fields_text(struct fields *in, const char *name);
/* The same with its length; neither has NULs. */
const char *fields_text_n(struct fields *in, const char *name, size_t *ret_n);
/* Heap strings, NULL if it is missing; the second one is "" then. */
char *fields_copy(struct fields *in, const char *name);
char *fields_copy_or_empty(struct fields *in, const char *name);
uint64_t fields_number(struct fields *in, const char *name, uint64_t max);
/* UINT64_MAX if it is missing. */
uint64_t fields_number_or_none(struct fields *in, const char *name);
double fields_real(struct fields *in, const char *name);
bool fields_bool(struct fields *in, const char *name);
/* NULL, or an array of at most max entries; an object. */
const json_t *fields_list(struct fields *in, const char *name, size_t max);
const json_t *fields_object(struct fields *in, const char *name);
/* The i-th of names[n] that it is. */
int fields_choice(struct fields *in, const char *name, const char *const *names, size_t n);
/* 0, or -1 with a sentence that names the bad one. */
int fields_check(const struct fields *in, struct fail *f);

/* Nothing is written for what a reader takes a missing field for. Text is cleaned if it is not valid UTF-8. */
void fields_put_text(json_t *out, const char *name, const char *text);
void fields_put_text_n(json_t *out, const char *name, const char *text, size_t n);
void fields_put_number(json_t *out, const char *name, uint64_t value);
void fields_put_bool(json_t *out, const char *name, bool value);

#endif
