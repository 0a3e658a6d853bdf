/* Collects the output pieces of a run and builds the parts of its result. The parts are in the order in which the
 * run produced them. Each stream's text is what a terminal would show in the end, cleaned and cut. */
#ifndef HUSK_MANAGER_LINE_RUN_OUTPUT_H
#define HUSK_MANAGER_LINE_RUN_OUTPUT_H

#include "base/buf.h"
#include "manager/model/result.h"

struct piece {
	enum part_kind kind; /* PART_GAP in a tail marks where a piece of the live output belongs */
	bool unplaced;	     /* a display update, which has no mark in the tail */
	size_t display;
	struct buf bytes; /* the stream's output */
};

struct run_output {
	struct piece *v;
	size_t n, cap;
	size_t bytes[2]; /* of each stream */
	size_t last[2];	 /* for each stream: the index of its last piece plus one; 0 = no piece */
};

void run_output_release(struct run_output *p);
void run_output_add(struct run_output *p, enum part_kind kind, const void *data, size_t n);
void run_output_add_display(struct run_output *p, size_t display, bool unplaced);

void run_output_copy(struct run_output *to, const struct run_output *from);
/* Keeps about `max` bytes of the streams, half head and half tail. */
void run_output_bound(struct run_output *live, struct run_output *tail, size_t max);

/* Limits of one stream. */
struct stream_limit {
	uint64_t total;	    /* bytes written by the program */
	uint64_t max_chars; /* 0 = no limit */
};

/* Joins a character or an overwritten line that begins in one piece and continues in the next piece of its stream.
 * Returns how many bytes were copied, which grows linearly with the output. run_output_finish() includes this
 * step. */
size_t run_output_mend(struct run_output *p);

/* Fills parts, stdout_text, stderr_text and the truncation flags. Consumes the pieces. */
void run_output_finish(struct run_output *live, struct run_output *tail, const struct stream_limit limits[2],
		       struct run_result *ret);

/* Moves all bytes of stdout into ret->raw; the program wrote `total` bytes. */
void run_output_join(struct run_output *live, struct run_output *tail, uint64_t total, struct run_result *ret);

/* Joins head and tail of a clean text of `total` bytes, with or without a gap between them, cut to max_chars (0 =
 * no limit). */
char *run_output_text(struct buf *head, struct buf *tail, uint64_t total, bool gap, uint64_t max_chars, bool *ret_cut);
/* The same for one text; the note in it gives the length in characters. */
char *run_output_cut(const char *text, size_t n, uint64_t max_chars);

#endif
