/* Shared by the files of the fake engine. */
#ifndef HUSK_TESTS_FAKE_ENGINE_PRIVATE_H
#define HUSK_TESTS_FAKE_ENGINE_PRIVATE_H

#include "tests/fake-engine/fake-engine.h"

struct fake_image {
	struct list node;
	char *name;
	struct strv labels;
};

struct fault {
	unsigned times; /* number of calls that are still to fail */
	struct fail fail;
	bool held;
	size_t calls;
};

struct fake {
	struct loop *loop;
	struct engine_capabilities capabilities;
	const struct fake_script *script;
	bool keep_ended, down;
	size_t cut;
	struct list containers, images, watches;
	struct list tasks; /* of struct engine_task, for all clients */
	struct fault faults[FAKE_OPS];
	struct timer *turn;
	enum cause no_fence;
	const char *fit_says, *volume;
	bool fence_stands;
	size_t fence_calls;
	struct strv openings; /* requested with the last call for the fence */
};

extern const struct engine_ops fake_ops;

/* Makes a call fail if the test requested that. */
int fake_judge(struct fake *f, enum fake_op op, struct fail *ret);

struct fake_container *container_new(struct fake *f, const char *name, const char *store);
/* Breaks the streams and notifies the script that plays PID 1. Sends no events. */
void container_free(struct fake_container *c);
void container_tell(struct fake_container *c, enum engine_event_kind kind);

/* --- streams.c --- */
struct engine_stream *streams_attach(struct engine *e, const char *name, const struct stream_handler *handler,
				     struct fail *f);
int streams_write(struct engine_stream *s, const void *data, size_t n);
struct engine_stream *streams_free(struct engine_stream *s);
void streams_explain(struct engine *e, const void *data, size_t n, struct fail *f);
/* Continues calls that were held. */
void streams_wake(struct fake *f);
void streams_break(struct fake_container *c, enum fail_kind kind, enum cause cause, const char *message);

/* --- watches.c --- */
struct engine_watch *watches_start(struct engine *e, const char *store, const struct watch_handler *handler,
				   struct fail *f);
struct engine_watch *watches_free(struct engine_watch *w);
void watches_tell(struct fake *f, const char *store, const struct engine_event *event);
void watches_wake(struct fake *f);
void watches_break(struct fake *f);

/* --- tasks.c --- */
void tasks_wake(struct fake *f, enum fake_op op);
void tasks_fail_all(struct fake *f);
size_t tasks_pending(const struct fake *f, enum fake_op op);

struct fake_client {
	struct engine engine;
	struct fake *fake;
};

static inline struct fake *fake_of(struct engine *e)
{
	return container_of(e, struct fake_client, engine)->fake;
}

#endif
