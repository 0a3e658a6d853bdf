/* The pieces of a run as its frames brought them, and the parts of a result that they become: in the order they were produced,
 * each stream as a terminal shows it in the end, cleaned and cut. */
#ifndef HUSK_MANAGER_LINE_RUN_OUTPUT_H
#define HUSK_MANAGER_LINE_RUN_OUTPUT_H

#include "base/buf.h"
#include "manager/model/result.h"

struct piece {
	enum part_kind kind; /* PART_GAP in a tail: the place of something that was sent before it */
	bool unplaced;	     /* an update: no place in the tail is its own */
	size_t display;
	struct buf bytes; /* of a stream */
};

struct run_output {
	struct piece *v;
	size_t n, cap;
	size_t bytes[2]; /* of each stream */
	size_t last[2];	 /* of each stream: one more than the place of its last piece; 0 = there is none */
};

void run_output_release(struct run_output *p);
void run_output_add(struct run_output *p, enum part_kind kind, const void *data, size_t n);
void run_output_add_display(struct run_output *p, size_t display, bool unplaced);

void run_output_copy(struct run_output *to, const struct run_output *from);
/* Keeps about `max` bytes of the streams: their head and their tail. */
void run_output_bound(struct run_output *live, struct run_output *tail, size_t max);

/* Of each stream. */
struct stream_limit {
	uint64_t total;	    /* bytes that the program wrote */
	uint64_t max_chars; /* 0 = no limit */
};

/* A character, or a line that is written anew, may begin in one piece and go on in the next of its stream: moves it there. Returns
 * how many bytes were copied, which is linear in what there is. Part of run_output_finish(). */
size_t run_output_mend(struct run_output *p);

/* Fills parts, stdout_text, stderr_text and what was cut. The pieces are used up. */
void run_output_finish(struct run_output *live, struct run_output *tail, const struct stream_limit limits[2],
		       struct run_result *ret);

/* Moves all bytes of stdout, of which `total` were written, into ret->raw. */
void run_output_join(struct run_output *live, struct run_output *tail, uint64_t total, struct run_result *ret);

/* Head and tail of a clean text of which `total` bytes were written, with or without something missing between them, cut to
 * max_chars (0 = no limit). */
char *run_output_text(struct buf *head, struct buf *tail, uint64_t total, bool gap, uint64_t max_chars, bool *ret_cut);
/* Likewise of one text, counted in characters. */
char *run_output_cut(const char *text, size_t n, uint64_t max_chars);

#endif
