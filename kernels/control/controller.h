/* The manager's stream: access control, hello, epoch, and frames in both directions. There is one controller at a
 * time. */
#ifndef HUSK_KERNELS_CONTROL_CONTROLLER_H
#define HUSK_KERNELS_CONTROL_CONTROLLER_H

#include "kernels/commands/consoles.h"
#include "kernels/control/claim.h"
#include "kernels/files/files.h"
#include "kernels/gate/gate.h"
#include "kernels/runs/sender.h"
#include "kernels/streams/streams.h"
#include "kernels/system/frames.h"
#include "kernels/system/poller.h"

/* Limits for clients that have not sent their HELLO: their number, and the time they have for it. */
#define CONTROLLER_CLIENTS_MAX 4
#define CONTROLLER_PATIENCE_MS 5000

struct controller {
	struct poller *poller;
	struct runs *runs;
	struct consoles *consoles;
	const struct disk *home; /* borrowed: the watch over the home directory */
	/* A frame of the controller has arrived. */
	void (*on_frame)(struct controller *c);
	/* Adds PID 1's own fields to its HELLO. */
	void (*on_hello)(struct controller *c, json_t *hello);
	/* Returns the payload of the EVENT that answers (a new reference), or NULL if the claim contradicts an
	 * earlier one. */
	json_t *(*on_claim)(struct controller *c, const struct claim *claim);
	/* There is a new queued run. */
	void (*on_run)(struct controller *c, struct run *run);
	void (*on_interrupt)(struct controller *c, struct run *run);
	/* The controller requests the output so far of a run that has not ended. */
	void (*on_take)(struct controller *c, struct run *run);
	/* A client answers the prompt of an interactive run. */
	void (*on_input)(struct controller *c, struct run *run, const char *text, size_t n);
	/* The controller requests the state of the session: controller_info() follows, now or a moment later. */
	void (*on_status)(struct controller *c, uint32_t call);
	/* The controller sends a query for the kernel: controller_answer() follows, once. */
	void (*on_query)(struct controller *c, uint32_t call, const json_t *request);
	/* The controller wants a checkpoint to be made, used or dropped: controller_answer() follows, once. */
	void (*on_checkpoint)(struct controller *c, uint32_t call, const json_t *request);
	void (*on_stop)(struct controller *c);

	int listen_fd;
	struct watch listen_watch;
	uint64_t epoch;
	struct sender sender;
	struct files files;
	struct streams streams;
	struct gate gate;
	struct client {
		struct controller *controller;
		int fd;	      /* -1 = free */
		bool dialled; /* by PID 1 */
		bool unknown; /* until its credentials message arrives */
		struct watch watch;
		struct timeout patience;
		struct frame_reader reader;
	} clients[CONTROLLER_CLIENTS_MAX + 1];
	struct client *present; /* the client that is in control, or NULL */
};

/* The caller has set the fields above listen_fd. Binds the control socket: 0 or -errno. */
int controller_init(struct controller *c);
/* Adds a connection that PID 1 has made to a server: trusted, without a time limit for its hello. Takes ownership of
 * the descriptor; -EBUSY if there is no free slot. */
int controller_take(struct controller *c, int fd);
/* True if there is a connection that PID 1 has made, with or without a hello. */
bool controller_has_dialled(const struct controller *c);
/* Sends an EVENT to the controller, if there is one. */
void controller_event(struct controller *c, const json_t *event);
/* The answer to a STATUS. */
void controller_info(struct controller *c, uint32_t call, const json_t *info);
/* The answer to a QUERY or a CHECKPOINT, a JSON object. */
void controller_answer(struct controller *c, uint32_t call, const void *json, size_t n);
/* Sends what can be sent and continues file transfers, once per turn of the loop. True if there is more to do
 * without waiting. */
bool controller_flush(struct controller *c);
static inline bool controller_present(const struct controller *c)
{
	return c->present;
}

#endif
