/* Frames of the manager that concern runs: checks their fields, and makes a run of a frame that starts one. */
#ifndef HUSK_KERNELS_RUNS_REQUESTS_H
#define HUSK_KERNELS_RUNS_REQUESTS_H

#include "kernels/runs/run.h"

/* Adds a call from the payload of its frame, which must be a JSON object (-EPROTO otherwise). 0 and *ret; 1 if the
 * number is known already (a resend, nothing to do). A call with a bad field is added as one that has ended `refused`.
 * -EBUSY, with *ret untouched, if CALLS_MAX wait for an ACK or the queue holds QUEUE_BYTES_MAX. */
int runs_add(struct runs *c, uint32_t number, enum run_kind kind, const void *payload, size_t n, struct run **ret);

/* An INPUT, as far as it is to be taken. */
struct run_input {
	struct run *run;
	json_t *fields; /* what `text` borrows from; the caller's */
	const char *text;
	size_t len;
};
/* 0 and *ret; 1 if there is nothing to do: it was taken before, or the call has ended or may not ask. -EPROTO if it is none. An
 * input is numbered within its call, so that what is sent again after a broken stream is taken once. */
int runs_input(struct runs *c, uint32_t number, const void *payload, size_t n, struct run_input *ret);

#endif
