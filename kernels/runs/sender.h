/* What goes to the controller: a small queue of frames about the session, and the logs of the calls. Frames of calls
 * are sent straight from their logs, so what waits for a slow controller is stored once and is bounded. */
#ifndef HUSK_KERNELS_RUNS_SENDER_H
#define HUSK_KERNELS_RUNS_SENDER_H

#include <jansson.h>

#include "base/buf.h"
#include "kernels/runs/run.h"

/* Past this the controller is no longer read from, and events about the session are dropped. */
#define SENDER_QUEUE_MAX (64u << 10)

struct sender {
	struct runs *runs;
	struct buf queue;
	size_t queue_sent;
	struct run *current; /* has claimed frames, not all of them sent yet */
	int queued_fd;	     /* a descriptor that goes with the byte of the queue at `queued_fd_at`; -1 = none */
	size_t queued_fd_at;
	int refused; /* one that could not go; -1 = none */
};

void sender_init(struct sender *s, struct runs *runs);
void sender_release(struct sender *s);
/* For a new controller: an empty queue, every call from its beginning. */
void sender_reset(struct sender *s);

/* Queue a frame. Answers to a controller are bounded by how much of it is read while sender_full() is false; whoever
 * sends without being asked checks that first. */
int sender_raw(struct sender *s, uint8_t type, uint32_t call, const void *payload, size_t n);
int sender_json(struct sender *s, uint8_t type, uint32_t call, const json_t *payload);
/* Has a descriptor go with the last frame of the queue, an empty one. One at a time; takes it. */
void sender_attach(struct sender *s, int fd);
/* Once nothing is pending: -1 if it has gone. Else the descriptor, which is the caller's again: the system would not take it, since too
 * many of this user's are on their way, and its frame was not sent. */
int sender_attached(struct sender *s);
/* Queues PROGRESS frames that are due, if the controller keeps up. */
void sender_progress(struct sender *s, uint64_t now_ms);
/* True if the controller should not be asked for more before it has read. */
bool sender_full(const struct sender *s);
bool sender_pending(const struct sender *s);
/* Writes what the socket takes: 0 if all is out, 1 if it must wait for POLLOUT, -errno if the stream is broken. */
int sender_flush(struct sender *s, int fd);

#endif
