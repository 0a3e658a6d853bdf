/* Pages that are written from tables in the code. `make pages` writes them into docs/, and a unit test compares. */
#ifndef HUSK_TOOLS_PAGES_PAGES_H
#define HUSK_TOOLS_PAGES_PAGES_H

#include "base/buf.h"

struct page {
	const char *name; /* in docs/ */
	void (*write)(struct buf *out);
};

extern const struct page pages[];
extern const size_t n_pages;

/* The writers append to out. */
void pages_husk(struct buf *out);
void pages_client(struct buf *out);
void pages_jupyter_face(struct buf *out);
void pages_settings(struct buf *out);

#endif
