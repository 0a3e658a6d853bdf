/* Man pages in mdoc(7), from the tables of base/help.h. Text is plain; `code` is put in quotes. */
#ifndef HUSK_TOOLS_PAGES_MAN_H
#define HUSK_TOOLS_PAGES_MAN_H

#include "base/buf.h"
#include "base/help.h"

/* Begins a page: its header, NAME and SYNOPSIS. */
void man_begin(struct buf *out, const struct help_program *p);
void man_section(struct buf *out, const char *title);
void man_subsection(struct buf *out, const char *title);
/* One paragraph, a sentence per line. */
void man_text(struct buf *out, const char *text);
void man_paragraphs(struct buf *out, const char *const *text);
/* A list of terms; macro is that of mdoc for the term (Ev, Pa), or "". The macro applies to a term up to " ("; the rest
 * is plain. */
void man_terms(struct buf *out, const char *macro, const struct help_pair *pairs);
void man_options(struct buf *out, const struct help_option *own, const struct help_option *more);
/* Description, keys, options, examples and exit codes of a verb, without a title. */
void man_verb(struct buf *out, const struct help_verb *v);

#endif
