/* What the files of job share. */
#ifndef HUSK_KERNELS_RUNS_JOB_PRIVATE_H
#define HUSK_KERNELS_RUNS_JOB_PRIVATE_H

#include "kernels/runs/job.h"

/* Appends a frame to the log. */
void job_log(struct job *c, uint8_t type, const void *payload, size_t n);
/* What there is counts no longer. */
void job_clear_now(struct job *c);
/* n bytes of text are about to be logged: true if they have to be written to the file of the full text too. */
bool job_keeps_on(struct job *c, size_t n);
/* The text of a display, result or error, into that file. */
void job_keep_structured(struct job *c, const void *json, size_t n);

#endif
