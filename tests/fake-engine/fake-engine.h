/* An engine inside the test, registered under the name "fake". Its containers, images and networks are in memory. PID
 * 1 is either played (fake-pid1.h, or the test's own script) or a real husk-client in namespaces (box.h). The test
 * decides what the engine does late, badly or never; nothing here depends on time.
 *
 * A struct fake is the engine itself. engine_open("fake", …) makes any number of clients of it: two managers on
 * one fake are two servers on one machine. The fake outlives its clients. */
#ifndef HUSK_TESTS_FAKE_ENGINE_H
#define HUSK_TESTS_FAKE_ENGINE_H

#include "base/frames.h"
#include "base/list.h"
#include "manager/engine/open.h"

#define FAKE_NAME "fake"

struct fake;

/* A container of the engine. All fields may be read; functions change them. */
struct fake_container {
	struct list node;
	struct fake *fake;
	char *name, *image, *store, *owner, *mark;
	struct container_spec spec; /* numbers and flags only */
	struct strv env;
	uint64_t created; /* seconds since the epoch */
	bool running, oom;
	int exit_code;
	const struct fake_script *script;
	struct fake_pid1 *pid1; /* of fake_pid1_script */
	struct box *box;	/* a real one */
	struct list streams;
};

/* A PID 1 played by the test. All callbacks run from the loop; any may be NULL. */
struct fake_script {
	void (*on_start)(void *ctx, struct fake_container *c);
	/* A stream was opened. No bytes have arrived on it yet. */
	void (*on_attach)(void *ctx, struct engine_stream *s);
	/* Bytes from the manager. */
	void (*on_frame)(void *ctx, struct engine_stream *s, const struct frame *frame);
	/* The stream was closed or broke; not called while its container is removed. */
	void (*on_detach)(void *ctx, struct engine_stream *s);
	void (*on_end)(void *ctx, struct fake_container *c);
	void *ctx;
};

/* See fake_play() for `script`. Most tests pass fake_pid1_script. */
struct fake *fake_new(struct loop *loop, const struct fake_script *script);
/* All clients must have been freed. Ends everything that is still running. Accepts NULL, returns NULL. */
struct fake *fake_free(struct fake *f);

/* Capabilities of the engine. Change them before a client reads them. */
struct engine_capabilities *fake_capabilities(struct fake *f);
/* Sets what plays PID 1 in containers created from now on: a script, or NULL for a real one. */
void fake_play(struct fake *f, const struct fake_script *script);
/* Keeps ended containers until they are removed. Otherwise they are removed at once, like those of Husk. */
void fake_keep_ended(struct fake *f, bool keep);
/* Bytes from PID 1 arrive in pieces of n bytes. 0 = as they were sent. */
void fake_cut(struct fake *f, size_t n);

/* --- faults ------------------------------------------------------------------------------------------------------ */

enum fake_op {
	FAKE_CREATE,
	FAKE_REMOVE,
	FAKE_REMOVE_ENDED,
	FAKE_PRUNE,
	FAKE_BAKE,
	FAKE_REMOVE_IMAGE,
	FAKE_ATTACH,
	FAKE_WATCH,
	FAKE_QUERY,
	FAKE_OPS
};

/* The next n calls fail. A failing attach closes its stream, as with a real engine; a failing watch is not started. */
void fake_fail(struct fake *f, enum fake_op op, unsigned n, enum fail_kind kind, enum cause cause, const char *message);
/* Later calls do not end until they are released or cancelled. Meanwhile an attach carries no bytes and a watch reports
 * no events. */
void fake_hold(struct fake *f, enum fake_op op);
void fake_let_go(struct fake *f, enum fake_op op);
/* Number of calls so far, and of those under way. */
size_t fake_calls(const struct fake *f, enum fake_op op);
size_t fake_pending(const struct fake *f, enum fake_op op);
/* The engine stops answering: calls under way fail, streams and watches break. Containers stay unchanged. */
void fake_go_down(struct fake *f);
void fake_come_up(struct fake *f);

/* Makes setting the firewall rules fail with this cause; CAUSE_NONE = they can be set. The next two return how often
 * the rules were requested, and the openings. */
void fake_no_fence(struct fake *f, enum cause cause);
size_t fake_fence_calls(const struct fake *f);
const struct strv *fake_openings(const struct fake *f);

/* The report of husk-fit in an image that is fitted, as JSON; NULL = nothing is missing. `volume` is a volume of such
 * images. Neither text is copied. */
void fake_fit_says(struct fake *f, const char *text, const char *volume);

/* --- containers and images --------------------------------------------------------------------------------------- */

/* NULL = there is no such container. */
struct fake_container *fake_find(struct fake *f, const char *name);
size_t fake_count(const struct fake *f);
/* The only container. */
struct fake_container *fake_only(struct fake *f);
/* The container that was created last. */
struct fake_container *fake_newest(struct fake *f);
/* Adds a container that this test did not create: a leftover. It has no PID 1. */
struct fake_container *fake_add(struct fake *f, const char *name, const char *store, const char *owner, bool running,
				uint64_t created);
/* Sets the container's mark label; fake_add() sets none. */
void fake_mark(struct fake_container *c, const char *mark);
/* Ends the container with this exit code, or with 137 after an OOM event if oom. */
void fake_die(struct fake_container *c, int exit_code, bool oom);
/* Removes the container by force, as a person might. */
void fake_vanish(struct fake_container *c);
/* Sends only the OOM event. */
void fake_tell_oom(struct fake_container *c);

/* The images of all runtimes exist from the beginning. labels may be NULL. */
void fake_image_add(struct fake *f, const char *name, const struct strv *labels);
void fake_image_remove(struct fake *f, const char *name);
bool fake_image_is_there(const struct fake *f, const char *name);
/* NAME=value of its labels. */
const struct strv *fake_image_labels(const struct fake *f, const char *name);

/* --- streams, for scripts ---------------------------------------------------------------------------------------- */

struct fake_container *fake_stream_container(struct engine_stream *s);
/* Sends bytes to the manager. */
void fake_send(struct engine_stream *s, uint8_t type, uint32_t call, const void *payload, size_t n);
void fake_send_text(struct engine_stream *s, uint8_t type, uint32_t call, const char *fmt, ...) PRINTF_LIKE(4, 5);
void fake_send_bytes(struct engine_stream *s, const void *data, size_t n);
/* Breaks the stream after the bytes that were sent have arrived. cause CAUSE_NONE = the reason is unknown. */
void fake_break(struct engine_stream *s, enum fail_kind kind, enum cause cause, const char *message);
/* Breaks all other streams to its container, as PID 1 does when this stream becomes its controller. */
void fake_break_others(struct engine_stream *s);
/* The stream that was opened last; NULL if there is none. */
struct engine_stream *fake_stream(struct fake_container *c);

/* --- waiting ----------------------------------------------------------------------------------------------------- */

/* Runs the loop until the condition holds; fails the test if that takes unreasonably long. */
#define FAKE_UNTIL(fake, condition)                                                                                    \
	do {                                                                                                           \
		for (uint64_t fake_began_ = fake_real_ms(); !(condition);)                                             \
			fake_turn(fake, fake_began_, #condition);                                                      \
	} while (0)
/* One turn of the loop. */
void fake_turn(struct fake *f, uint64_t began_ms, const char *what);
uint64_t fake_real_ms(void);

#endif
