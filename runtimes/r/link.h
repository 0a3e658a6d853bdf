/* The kernel link (docs/protocol.md, section 2), on the descriptor of R's own connection: R dials, and waits where callbacks are to run;
 * what goes through it is read and written here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define R_NO_REMAP
#include <Rinternals.h>

/* All of it, whatever interrupts come: they wait for R. False if the descriptor is gone. */
bool link_write_all(int fd, const char *data, size_t n);

/* Sends a message that is JSON already. False if the link is gone. */
bool link_send_text(const char *text);

/* For R too: see there. */
SEXP link_send(SEXP pieces, SEXP hold);
