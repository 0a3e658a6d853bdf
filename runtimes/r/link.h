/* The kernel link (docs/protocol.md, section 2), on the descriptor of R's own connection: R dials, and waits if
 * callbacks must run; the data is read and written here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define R_NO_REMAP
#include <Rinternals.h>

/* Writes everything; interrupts wait for R. False if the descriptor is closed. */
bool link_write_all(int fd, const char *data, size_t n);

/* Sends a message that is already JSON. False if the link is closed. */
bool link_send_text(const char *text);

/* Also called by R: see there. */
SEXP link_send(SEXP pieces, SEXP hold);
