/* Container engines behind one vtable. Every function is asynchronous, has a deadline and can be cancelled. Nothing
 * contacts an engine before the first of them is called. Callbacks never run inside the function that started them.
 *
 * Only the adapter (such as docker/) knows which program it runs and what that program prints. Answers are structs,
 * and failures carry a cause from model/cause.h. */
#ifndef HUSK_MANAGER_ENGINE_ENGINE_H
#define HUSK_MANAGER_ENGINE_ENGINE_H

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"
#include "manager/engine/answer.h"
#include "manager/model/cause.h"

struct config;
struct engine;
struct engine_task;   /* an operation under way */
struct engine_bake;   /* an image that is being built */
struct engine_stream; /* an attached stream: bytes both ways */
struct engine_watch;  /* a feed of events */
struct engine_query;  /* a query under way */

/* Properties of a new container. Strings are borrowed for the call. */
struct container_spec {
	const char *name;
	const char *image;
	const char *store; /* the id of the store that records it */
	const char *owner; /* the server's id */
	const char *mark;  /* a random id that only this container has; NULL = its name is used */
	unsigned uid;	   /* user of its processes; 0 = SANDBOX_UID */
	uint64_t memory;
	uint64_t cpu_quota;
	uint64_t pids;
	uint64_t tmpfs;
	uint64_t home;		 /* disk limit of its home directory in bytes; not for an install */
	uint64_t quota;		 /* size limit of each volume in bytes, if the engine supports it; 0 = none */
	bool no_terminals;	 /* the engine cannot mount a devpts for PID 1's terminals, so cells can open them */
	bool podman;		 /* the engine is Podman, whose options differ */
	uint64_t disk_floor;	 /* bytes to leave free on the disk */
	const char *checkpoints; /* "request", "off" or "gvisor"; NULL = PID 1's default */
	uint64_t lease;		 /* seconds; applies until a server claims the container */
	bool network;		 /* false = loopback only */
	bool gated;		 /* its programs reach hosts through the gate, and verify them */
	bool network_late;	 /* may join the network once it runs, to save time; only if it shares our kernel */
	bool keep_proxies;	 /* keep the proxy variables that an engine's client may inject */
	bool install;		 /* runs an installer instead of code: it writes to disk, not to memory */
	const struct strv *env;	 /* NAME=value; never a secret: every user of the engine can read it. NULL = none */
	const char *runtime;	 /* the engine's name of the OCI runtime; NULL = its default */
	/* A host file, mounted read-only if the network is on and the engine is local; or NULL. */
	const char *ca_bundle;
	/* A host folder for PID 1's line, mounted read-only unless the engine is known to be remote; or NULL. */
	const char *line_dir;
	/* "name:address": names that its resolver must find. NULL = none. */
	const struct strv *hosts;
};

/* Identifies a container. A name from the database is not enough: the container's labels must match. */
struct container_ref {
	const char *name;
	const char *store; /* label that it must have; NULL = this process chose the name, so nothing is compared */
	const char *mark;  /* likewise; NULL = it must have no mark, because an older Husk started it */
};

/* A container that was created. Valid during the callback. */
struct engine_created {
	const char *id; /* 64 hex digits; "" if not reported */
	bool line_dir;	/* the folder is mounted */
	bool again;	/* an earlier container of the same name was started and removed */
};

/* Label of every image that bake builds. Its value describes the content. */
#define BAKE_LABEL "husk.deps"

/* Label of an image that was adapted for sessions. */
#define FIT_LABEL "husk.fit"

/* An image built from another image and a directory of a container. Strings are borrowed for the call. */
struct bake_spec {
	const char *container;
	const char *source;	   /* an image to create `container` from, without starting it; NULL = it exists */
	const char *path;	   /* the directory, in the container and in the image */
	const char *base;	   /* the image that the directory is added to; not changed otherwise */
	const char *image;	   /* the name of the result */
	const char *scratch;	   /* the name of a temporary container; started only to run `program` */
	const char *store;	   /* for the scratch container, as in container_spec */
	const struct strv *labels; /* NAME=value */
	/* A program that checks the result before it is kept. It runs as root, without a network and with few
	 * capabilities. NULL = no check. The bake fails unless the program exits with 0. Its output is hostile;
	 * on_output gets it before the bake ends. */
	const char *program;
	void (*on_output)(void *ctx, const char *text, size_t n);
};

/* f is NULL on success; valid during the call. */
typedef void (*engine_done_fn)(void *ctx, const struct fail *f);

/* created is NULL on failure. */
typedef void (*engine_created_fn)(void *ctx, const struct engine_created *created, const struct fail *f);

struct stream_handler {
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* Called once; f says why the stream ended. FAIL_DIED: the container does not exist or does not run. */
	void (*on_closed)(void *ctx, const struct fail *f);
	void *ctx;
};

enum engine_event_kind { EVENT_DIE, EVENT_OOM, EVENT_DESTROY };

struct engine_event {
	enum engine_event_kind kind;
	const char *container;	/* its name */
	const char *id;		/* as in engine_created; "" if not reported */
	int exit_code;		/* EVENT_DIE */
	const struct fail *why; /* EVENT_DIE: the cause, if the engine knows more than the exit code; or NULL */
};

struct watch_handler {
	void (*on_event)(void *ctx, const struct engine_event *event);
	void (*on_closed)(void *ctx);
	void *ctx;
};

/* answer is NULL on failure, and f says why. Both are valid during the callback, which may free the query. */
typedef void (*engine_answer_fn)(void *ctx, const struct engine_answer *answer, const struct fail *f);

/* Sessions with a network can reach public addresses, port 53 of any address (name servers), and these openings.
 * Strings are borrowed for the call. */
struct fence_spec {
	const char *image;	     /* any image of this build: it has the program that sets the rules */
	bool check_only;	     /* only check, change nothing */
	const char *owner;	     /* owner of the openings, which replace only its own earlier ones */
	const struct strv *openings; /* ADDRESS/PREFIX or ADDRESS/PREFIX,PORT */
	uint64_t seconds;	     /* how long they stay open without a renewal */
};

/* The container that needs a host. */
struct place_spec {
	const char *on; /* the name of a host; NULL = any. Borrowed for the call */
	uint64_t memory;
	bool network;
};

struct query_spec {
	enum engine_query_kind kind;
	const struct place_spec *place; /* ENGINE_QUERY_HOST */
	const char *subject;		/* see the kind of query; borrowed for the call */
	const struct fence_spec *fence; /* ENGINE_QUERY_FENCE */
	engine_answer_fn done;
	void *ctx;
};

/* An engine's features, as far as they are known yet. */
struct engine_capabilities {
	bool bakes_images;
	bool feeds_events;	    /* if not, ENGINE_QUERY_CONTAINER explains a death */
	bool sets_fence;	    /* if not, ENGINE_QUERY_FENCE is never sent, and sessions have no firewall rules */
	bool cuts_network;	    /* a container without a network has only loopback */
	bool measures_memory;	    /* answers ENGINE_QUERY_STATS */
	bool reports_machine;	    /* runs on one machine: answers ENGINE_QUERY_INFO and ENGINE_QUERY_NETWORK */
	bool lists_images;	    /* answers ENGINE_QUERY_IMAGE and ENGINE_QUERY_IMAGES */
	enum support shares_kernel; /* its containers run on this machine's kernel and can mount its files */
	bool several_nodes;	    /* the node of a container is not known before it runs: user numbers may repeat */
	bool several_hosts;	    /* answers ENGINE_QUERY_HOST, and container names end with their host (pool.h) */
	bool outside_fence;	    /* sessions use an older network outside the fence, because it is still in use */
};

struct engine_ops {
	const char *name;
	/* Creates and starts a container. On failure nothing is left behind. */
	struct engine_task *(*create)(struct engine *e, const struct container_spec *spec, engine_created_fn done,
				      void *ctx);
	/* Removes by force; done is called when the container is really gone. A missing container is success. A
	 * container with other labels is not touched, and the removal fails. done may be NULL. */
	struct engine_task *(*remove)(struct engine *e, const struct container_ref *container, engine_done_fn done,
				      void *ctx);
	/* Removes a container that is not running. A running container is not touched, and the removal fails. */
	struct engine_task *(*remove_ended)(struct engine *e, const char *container, engine_done_fn done, void *ctx);
	/* Removes Husk's networks that are older than min_age seconds and have no container. */
	struct engine_task *(*prune)(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx);
	/* For a process about to exit: starts the removal of these containers, by name or id, and of the remains
	 * of unfinished tasks. Does not wait. */
	void (*remove_and_forget)(struct engine *e, char *const *containers, size_t n);
	/* On failure no container and no image is left behind. */
	struct engine_bake *(*bake)(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx);
	/* Also leaves nothing behind: the remains are removed in the background. done is not called any more. */
	void (*bake_cancel)(struct engine_bake *bake);
	/* Fails if a container uses the image. A missing image is success. Also removes images that bakes of the
	 * same name have replaced. done may be NULL. */
	struct engine_bake *(*remove_image)(struct engine *e, const char *image, engine_done_fn done, void *ctx);
	struct engine_stream *(*attach)(struct engine *e, const char *container, const struct stream_handler *handler,
					struct fail *f);
	/* Events of a store's containers, no matter which server started them. */
	struct engine_watch *(*watch)(struct engine *e, const char *store, const struct watch_handler *handler,
				      struct fail *f);
	/* NULL with f if the query cannot be sent. The caller frees it, before or after the answer. */
	struct engine_query *(*query)(struct engine *e, const struct query_spec *spec, struct fail *f);
	struct engine_query *(*query_free)(struct engine_query *q);
	/* Looks up what the next create with a network needs, to save it time. Changes nothing and reports nothing.
	 * May be NULL. */
	void (*foresee)(struct engine *e);
	/* URLs of the proxies that the client gives to containers. May be NULL. */
	void (*proxies)(struct engine *e, struct strv *ret);
	/* An engine may report a failed attach on the stream itself. Fills f from data that came instead of PID
	 * 1's first frame. */
	void (*explain)(struct engine *e, const void *data, size_t n, struct fail *f);
	/* A cancelled create removes its remains. done is not called any more. */
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
	enum support dials; /* its containers can connect to a socket of this server; unknown until tried */
	bool our_kernel;    /* a container of its default runtime has shown that it shares this machine's kernel */
};

struct engine_options {
	struct loop *loop;
	const char *program; /* the engine's client, looked up in PATH; copied */
	const char *helper;  /* program that has `reap` and `tether`; looked up in PATH; NULL = this program; copied */
	/* NAME=value that the client gets in addition to our environment; NULL = none. Copied */
	const struct strv *env;
	const struct config *config; /* NULL = the defaults; only for engine_open() */
};

/* A kind of engine. */
struct engine_driver {
	const char *name;
	struct engine *(*open)(const struct engine_options *options, struct fail *f);
	/* See engine_reap() (open.h); NULL if the engine needs no process for it. */
	int (*reap)(const char *program, char *const *names);
};

struct engine_capabilities engine_capabilities(const struct engine *e);

/* True if the labels of the container that was found match. */
bool engine_is_meant(const struct engine_state *found, const struct container_ref *ref);
/* Fills f for a container whose labels do not match. Returns -1. */
int engine_not_meant(struct fail *f, const char *container);

/* Fills f for a container that died, in the reference's words: CAUSE_OOM or CAUSE_EXITED. Returns -1. */
int engine_death(struct fail *f, bool oom, int exit_code);

#endif
