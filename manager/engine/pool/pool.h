/* Several engines as one: the hosts of CONTAINER_POOL. A container's name ends with the name of its host, so each call
 * goes to the engine of that host, and every server knows it, also while the host does not answer.
 *
 * ENGINE_QUERY_HOST chooses the host for a new container: the one with the most free memory, then the one with the
 * fewest containers. Hosts are checked while a watch is open, and before the first choice. A host that does not answer
 * gets no new containers until it answers again, and none with a network before its firewall rules are set. */
#ifndef HUSK_MANAGER_ENGINE_POOL_POOL_H
#define HUSK_MANAGER_ENGINE_POOL_POOL_H

#include "base/list.h"
#include "manager/engine/engine.h"
#include "manager/model/pool.h"

enum host_state { HOST_UNKNOWN, HOST_UP, HOST_DOWN };
enum host_check { CHECK_NONE, CHECK_MACHINE, CHECK_FENCE, CHECK_USE };

struct host {
	struct pool *pool;
	char name[POOL_HOST_SIZE];
	struct engine *engine;
	enum host_state state;
	enum host_check checking;
	struct engine_query *check;
	struct fail why; /* while it is down */
	bool fenced;
	uint64_t memory;   /* of the machine, in bytes */
	uint64_t used;	   /* by its containers, when that was last measured */
	uint64_t promised; /* to containers that were placed since */
	size_t containers, placed;
	/* When the current check began. */
	uint64_t promised_before;
	size_t placed_before;
};

struct pool {
	struct engine engine;
	struct loop *loop;
	struct host *hosts;
	size_t n;
	struct timer *timer; /* next round of checks; runs while there are watches */
	struct list tasks;
	struct list waits; /* of struct engine_query, until all hosts have been checked once */
	struct list watches;
	/* The firewall rules that were last set, for hosts that come back. */
	struct fence_spec fence;
	struct strv openings;
	bool has_fence;
};

/* Takes the engines, whose order is that of the names. */
struct engine *pool_new(struct loop *loop, const struct strv *names, struct engine *const *engines);

static inline struct pool *pool_of(struct engine *e)
{
	return container_of(e, struct pool, engine);
}

/* The host of a container; NULL with f. */
struct host *pool_find(struct pool *p, const char *container, struct fail *f);
/* Puts the host's name before the message. */
void pool_name_host(const struct host *h, struct fail *f);

/* --- hosts.c --- */
/* Begins to check the hosts that are not being checked. */
void hosts_check(struct pool *p);
/* False while a host was never checked. */
bool hosts_known(const struct pool *p);
/* A call to this host has failed: if it is the host's fault, the host is down until a check succeeds. */
void host_failed(struct host *h, const struct fail *f);
/* Chooses a host. NULL with f. */
struct host *hosts_choose(struct pool *p, const struct place_spec *place, struct fail *f);
void hosts_release(struct pool *p);

/* --- tasks.c --- */
struct engine_task *pool_create(struct engine *e, const struct container_spec *spec, engine_created_fn done, void *ctx);
struct engine_task *pool_remove(struct engine *e, const struct container_ref *container, engine_done_fn done,
				void *ctx);
struct engine_task *pool_remove_ended(struct engine *e, const char *container, engine_done_fn done, void *ctx);
struct engine_task *pool_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx);
void pool_remove_and_forget(struct engine *e, char *const *containers, size_t n);
void pool_task_cancel(struct engine_task *t);
void pool_tasks_release(struct pool *p);

/* --- streams.c --- */
struct engine_stream *pool_attach(struct engine *e, const char *container, const struct stream_handler *handler,
				  struct fail *f);
int pool_write(struct engine_stream *s, const void *data, size_t n);
void pool_pause(struct engine_stream *s, bool paused);
struct engine_stream *pool_detach(struct engine_stream *s);
void pool_explain(struct engine *e, const void *data, size_t n, struct fail *f);
struct engine_watch *pool_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				struct fail *f);
struct engine_watch *pool_unwatch(struct engine_watch *w);
/* The host answers (again): watches it. */
void pool_watch_host(struct host *h);

/* --- queries.c --- */
struct engine_query *pool_query(struct engine *e, const struct query_spec *spec, struct fail *f);
struct engine_query *pool_query_free(struct engine_query *q);
/* All hosts have been checked. */
void pool_queries_resume(struct pool *p);

#endif
