/* Pages that are written from tables in the code. `make pages` writes them into docs/, and a unit test compares. */
#ifndef HUSK_TOOLS_PAGES_PAGES_H
#define HUSK_TOOLS_PAGES_PAGES_H

#include "base/buf.h"

struct page {
	const char *name; /* in docs/ */
	void (*write)(struct buf *out);
	/* Only a part of the page is written: the lines between PAGES_PART_BEGIN and PAGES_PART_END. */
	bool part;
};
#define PAGES_PART_BEGIN "<!-- Written by `make pages`. Change the tables in the code, not this part. -->\n"
#define PAGES_PART_END "<!-- The end of the written part. -->\n"

extern const struct page pages[];
extern const size_t n_pages;

/* Appends the whole page. `existing` is its present text, for a page of which only a part is written; a page without
 * the two lines stays as it is. */
void pages_make(const struct page *page, const char *existing, struct buf *out);

/* The writers append to out. */
void pages_husk(struct buf *out);
void pages_client(struct buf *out);
void pages_jupyter_face(struct buf *out);
void pages_settings(struct buf *out);
void pages_routes(struct buf *out);

#endif
