/* State that the runs, transfers, consoles and queries of one line share: their numbers, how to send, and when
 * PID 1 was last heard from. They know this struct, but not the line that owns it. */
#ifndef HUSK_MANAGER_LINE_DISPATCH_H
#define HUSK_MANAGER_LINE_DISPATCH_H

#include "base/list.h"
#include "base/loop.h"
#include "manager/line/recorder.h"
#include "manager/line/wire.h"
#include "manager/model/config.h"

struct line_gate;

struct dispatch {
	struct loop *loop;
	const struct config *config;
	struct list runs;		 /* of struct run, by number */
	const struct recorder *recorder; /* NULL = runs are not recorded */
	struct list transfers;		 /* of struct transfer */
	struct list status_waiters;	 /* of struct status_waiter */
	struct list consoles;		 /* of struct console */
	bool has_consoles;		 /* PID 1 supports consoles */
	bool has_programs;		 /* PID 1 supports consoles with pipes */
	struct list streams;		 /* of struct line_stream */
	struct line_gate *gate;		 /* handles streams that PID 1 opens; NULL = the session has no gate */
	struct buf gate_rules;		 /* the frame; empty = none */
	unsigned gate_tokens;		 /* connections that may be made now */
	uint64_t gate_tokens_ms;	 /* when they were last counted */
	struct list queries;		 /* list of struct query_waiter; the first one is being answered */
	uint32_t last_query;
	uint32_t last_call;   /* the highest number assigned or received */
	uint64_t version;     /* protocol version of PID 1; 0 until its first hello */
	bool has_queries;     /* PID 1 supports queries */
	bool has_checkpoints; /* PID 1 supports checkpoints */
	bool has_branches;    /* PID 1 supports branches */
	bool links;	      /* PID 1 creates hard links on import */
	bool has_files;	      /* PID 1 supports requests about files in place */
	bool has_streams;     /* PID 1 supports streams */
	bool has_gate;	      /* PID 1 has a gate */
	bool open;	      /* PID 1 has answered our hello: frames are sent immediately */
	uint64_t heard_ms;    /* when PID 1 last sent anything, on any connection */
	uint64_t used_ms;     /* when a client last sent a request or received a result */
	struct fail trouble;  /* why the connection last broke; its kind is not set while PID 1 answers */
	/* Descriptors that came before their frames, in order; -1 = empty. There are two because the end of a
	 * frame may arrive with the descriptor of the next one. */
	int descriptors[2];
	struct buf acks; /* acknowledgements to send with the next frames, or soon */
	struct timer *ack_soon;
	void (*send)(struct dispatch *d, const struct buf *frames);
};

/* loop and config must outlive the dispatch. */
void dispatch_init(struct dispatch *d, struct loop *loop, const struct config *config,
		   void (*send)(struct dispatch *d, const struct buf *frames));
void dispatch_release(struct dispatch *d);

/* The oldest descriptor, for the FILE frame being processed. The caller owns it. -1 if it was lost because this
 * process had no free descriptor, which is not PID 1's fault. */
int dispatch_take_descriptor(struct dispatch *d);
/* Takes ownership of fd even on failure. -ENOBUFS if too many descriptors already wait for their frames. */
int dispatch_put_descriptor(struct dispatch *d, int fd);
void dispatch_drop_descriptors(struct dispatch *d);

/* A number for a new run, transfer or console. */
uint32_t dispatch_number(struct dispatch *d);
/* Sends frames to PID 1 if there is a connection. Frames lost with the connection are replayed or sent again after
 * the next hello. */
void dispatch_send(struct dispatch *d, const struct buf *frames);
void dispatch_send_frame(struct dispatch *d, enum frame_type type, uint32_t call);
/* Tells PID 1 that it may forget a run that has ended. The acknowledgement waits for the next frame, at most a few
 * milliseconds. */
void dispatch_ack(struct dispatch *d, uint32_t call);
/* Sends the waiting acknowledgements now. */
void dispatch_flush(struct dispatch *d);
/* Drops the waiting acknowledgements, because the connection is gone. PID 1 replays those runs on the next one. */
void dispatch_drop_acks(struct dispatch *d);

#endif
