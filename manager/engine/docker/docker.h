/* The docker CLI as an engine: shared by the files of this adapter. Private to manager/engine. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_DOCKER_H
#define HUSK_MANAGER_ENGINE_DOCKER_DOCKER_H

#include "base/child.h"
#include "base/list.h"
#include "manager/engine/docker/bake.h"
#include "manager/engine/engine.h"

extern const struct engine_driver docker_driver;
/* The same client with Podman's Docker-compatible socket. */
extern const struct engine_driver podman_driver;

struct docker {
	struct engine engine;
	struct loop *loop;
	char *program, *helper;
	struct strv env;	    /* of its clients; empty = ours */
	char network[65];	    /* id of Husk's network; "" until a session needs it */
	bool old_network;	    /* the network has the wrong bridge and could not be replaced */
	enum support shares_kernel; /* SUPPORT_UNKNOWN until the client has reported where the engine is */
	char *socket; /* socket of an engine on this machine; "" = not local; NULL until the client has reported it */
	bool joins_at_once;  /* a running container could not be connected to the network, so new ones start with it */
	bool refuses_mounts; /* a run failed because of the line's folder */
	bool refuses_terminals; /* a run failed because of the volume for terminals */
	bool has_quotas;	/* volumes may get a size limit; false after the engine rejected one */
	bool is_podman;
	struct list tasks;
	struct bakery bakery;
};

/* For child_spec. */
static inline char *const *docker_env(const struct docker *d)
{
	return d->env.n ? d->env.v : NULL;
}

static inline struct docker *docker_of(struct engine *e)
{
	return container_of(e, struct docker, engine);
}

/* --- containers and networks (task.c) ------------------------------------------------------------------------------ */
struct engine_task *task_create(struct engine *e, const struct container_spec *spec, engine_created_fn done, void *ctx);
void task_foresee(struct engine *e);
struct engine_task *task_remove(struct engine *e, const struct container_ref *container, engine_done_fn done,
				void *ctx);
struct engine_task *task_remove_ended(struct engine *e, const char *container, engine_done_fn done, void *ctx);
struct engine_task *task_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx);
void task_cancel(struct engine_task *t);
/* Also removes containers that are being created or removed, since those commands end with this process. */
void tasks_remove_and_forget(struct engine *e, char *const *containers, size_t n);
/* Starts a process that removes these containers and outlives this one. */
void tasks_reap_later(struct docker *d, const struct strv *names);
/* Drops unfinished tasks at once. */
void tasks_release(struct docker *d);

/* --- attach (stream.c) --------------------------------------------------------------------------------------------- */
struct engine_stream *docker_attach(struct engine *e, const char *container, const struct stream_handler *handler,
				    struct fail *f);
int docker_write(struct engine_stream *s, const void *data, size_t n);
void docker_pause(struct engine_stream *s, bool paused);
struct engine_stream *docker_detach(struct engine_stream *s);
void docker_explain(struct engine *e, const void *data, size_t n, struct fail *f);

/* --- events (watch.c) ---------------------------------------------------------------------------------------------- */
struct engine_watch *docker_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				  struct fail *f);
struct engine_watch *docker_unwatch(struct engine_watch *w);

/* --- proxies (docker.c) --------------------------------------------------------------------------------------------- */
void docker_proxies(struct engine *e, struct strv *ret);

/* --- queries (query.c) --------------------------------------------------------------------------------------------- */
struct engine_query *docker_query(struct engine *e, const struct query_spec *spec, struct fail *f);
struct engine_query *docker_query_free(struct engine_query *q);

#endif
