/* Frames of the manager about runs: checks their fields, and creates a run from a frame that starts one. */
#ifndef HUSK_KERNELS_RUNS_REQUESTS_H
#define HUSK_KERNELS_RUNS_REQUESTS_H

#include "kernels/runs/run.h"

/* Adds a run from the payload of its frame, which must be a JSON object (-EPROTO otherwise). 0 and *ret; 1 if the
 * number is already known (a resend, nothing to do). A run with a bad field is added as one that has ended
 * `refused`. -EBUSY, with *ret untouched, if CALLS_MAX wait for an ACK or the queue holds QUEUE_BYTES_MAX. */
int runs_add(struct runs *c, uint32_t number, enum run_kind kind, const void *payload, size_t n, struct run **ret);

/* The accepted part of an INPUT. */
struct run_input {
	struct run *run;
	json_t *fields; /* owns `text`; the caller releases it */
	const char *text;
	size_t len;
};
/* 0 and *ret; 1 if there is nothing to do: the input was accepted before, the run has ended, or the run is not
 * interactive. -EPROTO if the input is not valid. Inputs are numbered within their run, so an input that is sent again
 * after a broken stream is accepted only once. */
int runs_input(struct runs *c, uint32_t number, const void *payload, size_t n, struct run_input *ret);

#endif
