/* Pictures for terminals that support sixel. Pictures come from a session and decoders are large, so a separate
 * process without other rights decodes them. */
#ifndef HUSK_CLI_REPL_SIXEL_H
#define HUSK_CLI_REPL_SIXEL_H

#include "base/loop.h"

/* The verb that starts husk as that process. */
#define SIXEL_VERB "picture-to-sixel"

struct sixel;

/* Calls on_done once, from the loop, unless sixel_free() comes first: with the sequences, or with NULL if libsixel is
 * missing or cannot decode the picture within some seconds. Returns NULL if the process cannot be started. */
struct sixel *sixel_start(struct loop *loop, const void *picture, size_t n,
			  void (*on_done)(void *ctx, const char *sequences, size_t n), void *ctx);
/* Accepts NULL, returns NULL. on_done may call it. */
struct sixel *sixel_free(struct sixel *s);

/* Runs in that process: reads a picture from standard input and writes the sequences to standard output. Returns the
 * exit code. */
int sixel_worker(void);

#endif
