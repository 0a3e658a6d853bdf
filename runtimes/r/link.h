/* The kernel link (docs/protocol.md, section 2), on the descriptor of R's own connection. R connects, and waits if
 * callbacks must run; this code reads and writes the data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define R_NO_REMAP
#include <Rinternals.h>

/* Writes everything. R handles interrupts later. Returns false if the descriptor is closed. */
bool link_write_all(int fd, const char *data, size_t n);

/* Sends a message that is already JSON. False if the link is closed. */
bool link_send_text(const char *text);

/* Also called by R; see link.c. */
SEXP link_send(SEXP pieces, SEXP hold);
