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

/* This process is a copy of the kernel: uses its own link instead of the kernel's. Returns its descriptor, or -1. The
 * caller closes `fd`. */
int link_take_over(int fd);

/* The same for console.c and the descriptor of HUSK_TAKEN_FD. False on failure. */
bool console_take_over(int taken);
int console_taken(void);

/* Also called by R; see link.c. */
SEXP link_send(SEXP pieces, SEXP hold);
