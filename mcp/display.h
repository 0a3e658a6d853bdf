/* Rich output of a run: the pictures for the client, text about the other displays, and a list of all displays. */
#ifndef HUSK_MCP_DISPLAY_H
#define HUSK_MCP_DISPLAY_H

#include <jansson.h>

#include "manager/manager.h"

struct picture {
	char *data; /* base64; NULL if it is not a picture that clients accept */
	bool large; /* not checked, because it does not fit into an answer, alone or with the pictures after it */
	const char *type;
	size_t bytes;
	unsigned number; /* from 1, in the order of the blocks; 0 = not sent. Set by pictures_choose() */
};

struct pictures {
	struct picture *v;
	size_t n;
};

#define PICTURES_MAX 8

/* Collects the best picture of each bundle that claims to have one, in the order of the text: earlier runs first. */
void pictures_collect(struct pictures *p, const struct run_result *run);
void pictures_release(struct pictures *p);
/* Numbers the pictures to send: the last ones, at most max, within a budget of bytes. */
void pictures_choose(struct pictures *p, size_t max, size_t budget);

bool display_has_picture(const struct mime_bundle *b);
/* A bundle as text: its plain text, or its types and sizes; "" if a picture is enough. Text much longer than max_chars
 * is cut. The caller owns it. */
char *display_text(const struct mime_bundle *b, size_t max_chars);
/* [{type, size, data?}], the richest form of each display. Only text types have data: at most text_max bytes each, and
 * ALL_DATA_MAX (display.c) in total. New reference. */
json_t *display_list(const struct run_result *run, size_t text_max);
/* {type: text} for the text types of a result, null if it has none. New reference. Texts of more than text_max
 * bytes are left out, and the object `counts` has their number of characters. */
json_t *display_result(const struct mime_bundle *b, size_t text_max, json_t *counts);

#endif
