/* What the files of run share. */
#ifndef HUSK_KERNELS_RUNS_RUN_PRIVATE_H
#define HUSK_KERNELS_RUNS_RUN_PRIVATE_H

#include "kernels/runs/run.h"

/* Appends a frame to the log. */
void run_log(struct run *c, uint8_t type, const void *payload, size_t n);
/* What there is counts no longer. */
void run_clear_now(struct run *c);
/* n bytes of text are about to be logged: true if they have to be written to the file of the full text too. */
bool run_keeps_on(struct run *c, size_t n);
/* The text of a display, result or error, into that file. */
void run_keep_structured(struct run *c, const void *json, size_t n);

#endif
