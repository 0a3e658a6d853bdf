/* Sends to the controller: a small queue of frames about the session, and the logs of the runs. Frames of runs are
 * sent directly from their logs, so data that waits for a slow controller is stored once and is bounded. */
#ifndef HUSK_KERNELS_RUNS_SENDER_H
#define HUSK_KERNELS_RUNS_SENDER_H

#include <jansson.h>

#include "base/buf.h"
#include "kernels/runs/run.h"

/* Above this size, nothing more is read from the controller, and events about the session are dropped. */
#define SENDER_QUEUE_MAX (64u << 10)

struct sender {
	struct runs *runs;
	struct buf queue;
	size_t queue_sent;
	struct run *current; /* the run whose claimed frames are not all sent yet */
	int queued_fd;	     /* a descriptor that is sent with the byte of the queue at `queued_fd_at`; -1 = none */
	size_t queued_fd_at;
	int refused; /* a descriptor that could not be sent; -1 = none */
};

void sender_init(struct sender *s, struct runs *runs);
void sender_release(struct sender *s);
/* For a new controller: empties the queue and restarts every run's log. */
void sender_reset(struct sender *s);

/* Queues a frame. Answers to the controller are bounded, since nothing is read from it while sender_full() is true.
 * Check sender_full() before sending anything else. */
int sender_raw(struct sender *s, uint8_t type, uint32_t call, const void *payload, size_t n);
int sender_json(struct sender *s, uint8_t type, uint32_t call, const json_t *payload);
/* Attaches a descriptor to the last frame of the queue, which must have no payload. Takes ownership; only one at a
 * time. */
void sender_attach(struct sender *s, int fd);
/* Call it once nothing is pending. -1 if the descriptor was sent. Otherwise its frame was not sent, because too many
 * descriptors of this user are in transit, and the descriptor goes back to the caller. */
int sender_attached(struct sender *s);
/* Queues PROGRESS frames that are due, if the controller keeps up. */
void sender_progress(struct sender *s, uint64_t now_ms);
/* True if nothing more should be read from the controller before it has read its answers. */
bool sender_full(const struct sender *s);
bool sender_pending(const struct sender *s);
/* Writes what the socket accepts: 0 if everything is sent, 1 if the caller must wait for POLLOUT, -errno if the stream
 * is broken. */
int sender_flush(struct sender *s, int fd);

#endif
