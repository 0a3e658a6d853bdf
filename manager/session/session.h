/* One session: its container, the stream to PID 1, the runs on it. Knows the engine and the frames; the manager above it
 * knows the registry and the callers.
 *
 * A run is sent at once; PID 1 keeps the order. A stream that breaks is opened again and PID 1 replays what was not
 * acknowledged; only a container that is gone, or a stream that can't be opened again, ends the session. */
#ifndef HUSK_MANAGER_SESSION_SESSION_H
#define HUSK_MANAGER_SESSION_SESSION_H

#include "base/list.h"
#include "manager/engine/engine.h"
#include "manager/line/collect.h"
#include "manager/line/earlier.h"
#include "manager/line/transfer.h"
#include "manager/line/wire.h"
#include "manager/manager.h"
#include "manager/model/token.h"

enum session_state {
	SESSION_STARTING, /* container and kernel are on their way up */
	SESSION_ADOPTING, /* taken over from a server that ended; PID 1 has not answered yet */
	SESSION_READY,
	SESSION_STOPPING, /* being removed because somebody asked for it */
	SESSION_DEAD,	  /* gone with a cause; stays known until stop_session */
};

struct session;
struct store_job;

/* The cause of a death that nobody was there to see. */
#define SESSION_UNWATCHED "died while no server was attached"

/* How a session speaks to its manager. The session may be freed from inside on_dead and on_stopped. */
struct session_owner {
	void (*on_ready)(void *ctx, struct session *s);
	/* The container never came up, or is gone; s->death says why. */
	void (*on_dead)(void *ctx, struct session *s);
	void (*on_stopped)(void *ctx, struct session *s, const struct fail *f);
	void *ctx;
};

/* One execution; embedded in its owner. */
struct run {
	struct list node;
	struct session *session;
	uint32_t call;
	bool terminal;
	bool abandoned; /* cancelled: the end is acknowledged and nobody is told; the session frees it */
	uint64_t timeout_seconds;
	bool sent;	    /* on whichever stream: from then on it may have run */
	uint64_t asked_ms;  /* when PID 1 was asked for a sign of life, since its end is late; 0 = not yet */
	struct buf request; /* the frame that starts it, sent again if a broken stream swallowed it */
	struct collect *collect;
	struct timer *guard;
	/* Called once, with what happened; the run is unlinked by then and its owner frees it. f is set if nothing ran. */
	void (*on_end)(struct run *run, struct run_result *result, const struct fail *f);
	void (*on_output)(struct run *run, int stream, const void *data, size_t n);
};

struct session {
	struct list node;	   /* for the owner */
	struct store_job *renewal; /* likewise */
	char id[TOKEN_SIZE];
	char *container;
	char *image;
	const char *thread;
	const struct runtime *runtime;
	bool network;
	enum session_state state;
	bool lost; /* dead for us: another server has it, container and all */
	struct fail death;
	uint64_t fence;
	uint64_t created_ms, used_ms;

	/* Private. */
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct session_owner owner;
	struct engine_task *task;
	struct engine_stream *stream;
	struct wire wire;
	struct list runs;
	struct list transfers; /* of struct transfer */
	struct earlier earlier;
	struct timer *heartbeat, *deadline, *retry;
	uint64_t last_frame_ms, heard_ms, oom_ms; /* heard: of PID 1, on whichever stream */
	uint64_t lease_ms;			  /* PID 1's */
	uint64_t ends_ms;			  /* its hard lifetime; 0 = none, or not known yet */
	uint32_t last_call;
	unsigned attach_failures;
	bool greeted;	     /* PID 1 answered our hello on this stream */
	char *ending;	     /* what PID 1 said when it ended by itself */
	bool engine_away;    /* the last try to reach the container found no engine */
	struct fail trouble; /* why the stream closed last; no kind while PID 1 answers */
};

/* Strings are copied, but for the thread, which must outlive the session. */
struct session_params {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	const struct runtime *runtime;
	const char *image;
	const char *thread;
	bool network;
	struct session_owner owner;
};

/* Named, but not there yet: nothing is asked of the engine before session_start(). */
struct session *session_new(const struct session_params *params);
/* on_ready or on_dead follows. */
void session_start(struct session *s, const char *owner_id, const char *store_id);

/* What the store knows of a session whose server has ended. */
struct session_past {
	const char *id;
	const char *container;
	uint64_t fence; /* ours by now */
	uint64_t age_ms;
};
/* Attaches to the container that is there; on_ready or on_dead follows, in the time of its lease. */
struct session *session_adopt(const struct session_params *params, const struct session_past *past);
/* Drops everything without a word to the engine: runs are not answered. Accepts NULL, returns NULL. */
struct session *session_free(struct session *s);

const char *session_state_name(const struct session *s);
/* Something runs on it, of ours or of a former server. */
bool session_is_busy(const struct session *s);
/* Removes the container; what runs is answered with the cause. on_stopped follows. */
void session_stop(struct session *s);

/* Fills and sends run; on success the session calls run->on_end later. text must be valid UTF-8. */
int session_run(struct session *s, struct run *run, const char *text, size_t len, struct fail *f);
/* Interrupts it. The run must be heap memory from here on: the session frees it when PID 1 has ended it. */
void session_abandon(struct run *run);

/* Frames to PID 1, if there is a stream; a write that fails closes it, and the replay after the next hello makes it good. */
void session_send(struct session *s, const struct buf *frames);

/* From inside on_stopped, instead of freeing it: its container could not be removed; it can be stopped again. */
void session_keep_dead(struct session *s, const struct fail *why);
/* Ends it with a cause of the manager's own: as if it had died of it. */
void session_end(struct session *s, const struct fail *cause);
/* Another server has taken it over: gone for us, and its container is not touched. */
void session_lose(struct session *s);

/* What the engine's events told. */
void session_on_event(struct session *s, const struct engine_event *event);

#endif
