/* Writes standard output and error in order, even if a picture takes time because the terminal is queried or another
 * process encodes the picture. Later output then waits for the picture. */
#ifndef HUSK_CLI_REPL_OUTPUT_H
#define HUSK_CLI_REPL_OUTPUT_H

#include "base/loop.h"
#include "cli/pictures.h"
#include "cli/repl/abilities.h"

struct output;

struct output_spec {
	struct loop *loop;
	enum pictures pictures; /* PICTURES_UNKNOWN = query the terminal at the first picture */
	/* Finds out how the terminal shows pictures, and calls output_know(). */
	void (*query_terminal)(void *ctx);
	void *ctx;
};

struct output *output_new(const struct output_spec *spec);
/* Drops output that was not written. Accepts NULL, returns NULL. */
struct output *output_free(struct output *o);

/* stream is 1 or 2. */
void output_text(struct output *o, int stream, const void *text, size_t n);
/* Takes ownership of the bytes. A picture that cannot be shown is saved, and its name is written to standard error. */
void output_picture(struct output *o, struct picture *picture);
void output_know(struct output *o, enum pictures pictures);

/* Calls fn once when all output is written, or immediately if it already is. A later call replaces an earlier one. */
void output_when_idle(struct output *o, void (*fn)(void *ctx), void *ctx);

#endif
