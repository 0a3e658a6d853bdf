/* What the calls on one line share: their numbers, the way out, and when PID 1 was last heard. Runs and transfers know this
 * and nothing of the line that owns it. */
#ifndef HUSK_MANAGER_LINE_DISPATCH_H
#define HUSK_MANAGER_LINE_DISPATCH_H

#include "base/list.h"
#include "base/loop.h"
#include "manager/line/wire.h"
#include "manager/model/config.h"

struct dispatch {
	struct loop *loop;
	const struct config *config;
	struct list runs;      /* of struct run, by number */
	struct list transfers; /* of struct transfer */
	struct list looks;     /* of struct looker */
	struct list consoles;  /* of struct console */
	bool has_consoles;     /* PID 1 opens them */
	bool has_programs;     /* also with pipes */
	struct list queries;   /* of struct query_waiter: the first one's turn it is */
	uint32_t last_query;
	uint32_t last_call;    /* the highest number that was given or heard of */
	uint32_t last_earlier; /* numbers up to this one were given by a former server */
	uint64_t version;      /* of the protocol that PID 1 speaks; 0 until its first hello */
	bool has_queries;      /* it takes questions to its kernel */
	bool links;	       /* it makes hard links of what is imported */
	bool open;	       /* PID 1 has answered our hello: frames go out at once */
	uint64_t heard_ms;     /* of PID 1, on whichever connection */
	uint64_t used_ms;      /* when somebody last asked for something or got it */
	struct fail trouble;   /* why the connection last broke; no kind while PID 1 answers */
	/* That came, and whose frames did not yet, in their order; -1 = none. Two, since the end of a frame may come with the next
	 * one's. */
	int descriptors[2];
	struct buf acks; /* frames that go out with the next ones, or soon */
	struct timer *ack_soon;
	void (*send)(struct dispatch *d, const struct buf *frames);
};

/* loop and config must outlive it. */
void dispatch_init(struct dispatch *d, struct loop *loop, const struct config *config,
		   void (*send)(struct dispatch *d, const struct buf *frames));
void dispatch_release(struct dispatch *d);

/* The one that came first, for the FILE frame that is being looked at: the caller's; -1 if it was lost on the way, which is nobody's fault
 * (no descriptor is free here). */
int dispatch_take_descriptor(struct dispatch *d);
/* -ENOBUFS if more have come than frames can. Takes it either way. */
int dispatch_put_descriptor(struct dispatch *d, int fd);
void dispatch_drop_descriptors(struct dispatch *d);

/* A number for a new call. */
uint32_t dispatch_number(struct dispatch *d);
/* Frames to PID 1 if there is a connection. What is lost with it is replayed or sent again after the next hello. */
void dispatch_send(struct dispatch *d, const struct buf *frames);
void dispatch_send_frame(struct dispatch *d, enum frame_type type, uint32_t call);
/* PID 1 may forget a call whose end has come. Nothing waits for it: it goes out with the next frame, or within a few
 * milliseconds. */
void dispatch_ack(struct dispatch *d, uint32_t call);
/* Those that wait, now. */
void dispatch_flush(struct dispatch *d);
/* The connection is gone: what was not acknowledged comes again on the next one. */
void dispatch_drop_acks(struct dispatch *d);

#endif
