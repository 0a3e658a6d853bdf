/* Container engines behind one vtable. Every call is asynchronous, has a deadline and can be cancelled; nothing contacts
 * an engine before the first call. Callbacks never run inside the call that started them.
 *
 * What an engine prints, and which program prints it, is its adapter's business alone (docker/ is the first): answers are
 * structs, failures carry a cause of manager/model/cause.h. */
#ifndef HUSK_MANAGER_ENGINE_ENGINE_H
#define HUSK_MANAGER_ENGINE_ENGINE_H

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"
#include "manager/engine/answer.h"
#include "manager/model/cause.h"

struct engine;
struct engine_task;   /* one call under way */
struct engine_bake;   /* an image that is being made */
struct engine_stream; /* a running attach: bytes both ways */
struct engine_watch;  /* a running events feed */
struct engine_query;  /* a question under way */

/* What a container is made of. Strings are borrowed for the call. */
struct container_spec {
	const char *name;
	const char *image;
	const char *store; /* the id of the store that knows of it */
	const char *owner; /* the server's id */
	const char *mark;  /* a random id for this container alone; NULL = its name will do */
	unsigned uid;	   /* who its processes are; 0 = SANDBOX_UID */
	uint64_t memory;
	uint64_t cpu_quota;
	uint64_t pids;
	uint64_t tmpfs;
	uint64_t home;	/* bytes that its home directory may take on disk; not for an install */
	uint64_t quota; /* bytes that each of its volumes may take, where the engine can see to that; 0 = no matter */
	bool no_terminals;   /* the engine cannot mount a devpts for PID 1's terminals, which cells can open then */
	uint64_t disk_floor; /* bytes that it leaves free there */
	uint64_t lease;	     /* until somebody claims it */
	bool network;	     /* false = loopback only */
	bool network_late; /* it may be put there once it runs, since its kernel takes longer; only if it shares our kernel */
	bool keep_proxies;	/* leave the proxy variables that an engine's client may inject */
	bool install;		/* runs an installer instead of code: what it writes is on disk, not in memory */
	const struct strv *env; /* NAME=value; never a secret: everybody on the engine can read it. NULL = none */
	const char *runtime;	/* what the engine runs it with, by the engine's name; NULL = its default */
	/* A host file, mounted read-only when the network is on and the engine is local; or NULL. */
	const char *ca_bundle;
	/* A host folder for PID 1's line, mounted read-only unless the engine is known to be elsewhere; or NULL. */
	const char *line_dir;
};

/* Which container is meant. A name that was read from a database proves nothing: the engine's own labels must agree. */
struct container_ref {
	const char *name;
	const char
		*store; /* the label that it must have; NULL = this process chose the name, and nothing is compared */
	const char
		*mark; /* likewise; NULL = it must have none: it was started by a Husk that did not mark containers */
};

/* A container that was made. Valid during the call. */
struct engine_created {
	const char *id; /* 64 hex digits; "" if the engine did not say */
	bool line_dir;	/* the folder is mounted */
	bool again;	/* another of its name had been started before, and was removed */
};

/* Label of every image that bake makes; its value says what is in it. */
#define BAKE_LABEL "husk.deps"

/* Likewise of an image that was made fit for sessions. */
#define FIT_LABEL "husk.fit"

/* An image made of another image and a directory of a container. Strings are borrowed for the call. */
struct bake_spec {
	const char *container;
	const char *source;  /* an image: `container` is made of it for this, and never started; NULL = it is there */
	const char *path;    /* in the container, and in the image */
	const char *base;    /* the image it is added to, which is otherwise left as it is */
	const char *image;   /* the name of the result */
	const char *scratch; /* the name of a container that is made for it and never started */
	const char *store;   /* for the scratch container, as container_spec says */
	const struct strv *labels; /* NAME=value */
	/* Run in the result before it is kept, as root, without a network and with hardly a right; NULL = nothing is. It fails the bake
	 * unless it exits with 0. What it prints comes before the end, and is hostile. */
	const char *program;
	void (*on_output)(void *ctx, const char *text, size_t n);
};

/* f is NULL on success; valid during the call. */
typedef void (*engine_done_fn)(void *ctx, const struct fail *f);

/* created is NULL on failure. */
typedef void (*engine_created_fn)(void *ctx, const struct engine_created *created, const struct fail *f);

struct stream_handler {
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* Once; f says why the stream ended. FAIL_DIED: the container is not there or not running. */
	void (*on_closed)(void *ctx, const struct fail *f);
	void *ctx;
};

enum engine_event_kind { EVENT_DIE, EVENT_OOM, EVENT_DESTROY };

struct engine_event {
	enum engine_event_kind kind;
	const char *container; /* its name */
	const char *id;	       /* as engine_created has it; "" if the engine did not say */
	int exit_code;	       /* EVENT_DIE */
};

struct watch_handler {
	void (*on_event)(void *ctx, const struct engine_event *event);
	void (*on_closed)(void *ctx);
	void *ctx;
};

/* The answer, or NULL and why there is none. Valid during the call, in which the query may be freed. */
typedef void (*engine_answer_fn)(void *ctx, const struct engine_answer *answer, const struct fail *f);

/* Sessions with the network on reach public addresses, names, and these. Strings are borrowed for the call. */
struct fence_spec {
	const char *image; /* any of this build's: the program that sets the rules is in it */
	bool look;	   /* leave everything as it is */
	const char *owner; /* whose openings these are: they replace those of an earlier call, and nobody else's */
	const struct strv *openings; /* ADDRESS/PREFIX or ADDRESS/PREFIX,PORT */
	uint64_t seconds;	     /* for which they hold if nobody asks again */
};

struct query_spec {
	enum engine_query_kind question;
	const char *subject;		/* as the question says; borrowed for the call */
	const struct fence_spec *fence; /* ENGINE_QUERY_FENCE */
	engine_answer_fn done;
	void *ctx;
};

/* What an engine can do, as far as it is known yet. */
struct engine_capabilities {
	bool bakes_images;
	bool feeds_events;	    /* without them, ENGINE_QUERY_CONTAINER is how a death is explained */
	enum support shares_kernel; /* its containers run on this machine's kernel and can mount its files */
	bool several_nodes;
	bool outside_fence; /* sessions are put on an older network, which the fence is not around, while others use that */
};

struct engine_ops {
	const char *name;
	/* Creates and starts; on failure nothing is left behind. */
	struct engine_task *(*create)(struct engine *e, const struct container_spec *spec, engine_created_fn done,
				      void *ctx);
	/* Removes by force; done when it is really gone. A container that is not there is success. One whose labels differ is left
	 * alone, which is a failure. done may be NULL. */
	struct engine_task *(*remove)(struct engine *e, const struct container_ref *container, engine_done_fn done,
				      void *ctx);
	/* Removes a container that does not run. One that runs by now is left alone, and that is a failure. */
	struct engine_task *(*remove_ended)(struct engine *e, const char *container, engine_done_fn done, void *ctx);
	/* Removes Husk's networks that are older than min_age seconds and have no container. */
	struct engine_task *(*prune)(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx);
	/* For a process about to exit: has these containers, by name or id, removed, with whatever unfinished tasks would leave
	 * behind, and waits for nothing. */
	void (*remove_and_forget)(struct engine *e, char *const *containers, size_t n);
	/* On failure no container and no image is left behind. */
	struct engine_bake *(*bake)(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx);
	/* Likewise; what it makes is removed behind the scenes. Afterwards done is not called. */
	void (*bake_cancel)(struct engine_bake *bake);
	/* Fails if a container uses it. An image that is not there is success. Also removes images that bakes of the same
	 * name have replaced. done may be NULL. */
	struct engine_bake *(*remove_image)(struct engine *e, const char *image, engine_done_fn done, void *ctx);
	struct engine_stream *(*attach)(struct engine *e, const char *container, const struct stream_handler *handler,
					struct fail *f);
	/* What happens to the containers of a store, whichever server started them. */
	struct engine_watch *(*watch)(struct engine *e, const char *store, const struct watch_handler *handler,
				      struct fail *f);
	/* NULL with f filled if the question cannot even be sent. The caller frees it, before or after the answer. */
	struct engine_query *(*query)(struct engine *e, const struct query_spec *spec, struct fail *f);
	struct engine_query *(*query_free)(struct engine_query *q);
	/* URLs of the proxies that its client gives to containers. May be NULL. */
	void (*proxies)(struct engine *e, struct strv *ret);
	/* An engine may report a failed attach on the stream itself. Reads what came where PID 1's first frame should be. */
	void (*explain)(struct engine *e, const void *data, size_t n, struct fail *f);
	/* Cancelling a create cleans up behind itself. Afterwards done is not called. */
	void (*task_cancel)(struct engine_task *task);
	int (*stream_write)(struct engine_stream *s, const void *data, size_t n);
	/* Stops and resumes reading. May be NULL. */
	void (*stream_pause)(struct engine_stream *s, bool paused);
	struct engine_stream *(*stream_free)(struct engine_stream *s);
	struct engine_watch *(*watch_free)(struct engine_watch *w);
	struct engine_capabilities (*capabilities)(const struct engine *e);
	struct engine *(*free)(struct engine *e);
};

struct engine {
	const struct engine_ops *ops;
	enum support
		dials; /* its containers reach a socket of ours: only known by trying (manager/line/transport-socket.c) */
};

struct engine_options {
	struct loop *loop;
	const char *program; /* the engine's client, looked up in PATH; copied */
	const char *
		helper; /* the program whose verb `reap` outlives this process, looked up in PATH; NULL = this one; copied */
};

/* A kind of engine. */
struct engine_driver {
	const char *name;
	struct engine *(*open)(const struct engine_options *options, struct fail *f);
	/* As engine_reap() (open.h) says; NULL if it needs no process for that. */
	int (*reap)(const char *program, char *const *names);
};

struct engine_capabilities engine_capabilities(const struct engine *e);

/* The container that is there is the one that is meant: its labels agree. */
bool engine_is_meant(const struct engine_state *found, const struct container_ref *ref);
/* The failure of acting on one that is not. Returns -1. */
int engine_not_meant(struct fail *f, const char *container);

/* The failure of a container that died, in the reference's words: CAUSE_OOM or CAUSE_EXITED. Returns -1. */
int engine_death(struct fail *f, bool oom, int exit_code);

#endif
