/* An engine inside the test, registered under the name "fake": its containers, images and networks are in memory, and PID 1 is
 * either played (fake-pid1.h, or the test's own script) or a real husk-client in namespaces (box.h). Whatever an engine does
 * late, badly or never, the test says so; nothing here depends on time.
 *
 * A struct fake is the engine itself. engine_open("fake", …) makes a client of it, any number of them: two managers on one fake
 * are two servers on one machine. The fake outlives its clients. */
#ifndef HUSK_TESTS_FAKE_ENGINE_H
#define HUSK_TESTS_FAKE_ENGINE_H

#include "base/frames.h"
#include "base/list.h"
#include "manager/engine/open.h"

#define FAKE_NAME "fake"

struct fake;

/* A container, as the engine has it. Read what you like; to change it, call a function. */
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

/* A PID 1 that the test plays. All callbacks run from the loop; any may be NULL. */
struct fake_script {
	void (*on_start)(void *ctx, struct fake_container *c);
	/* A stream was opened: nothing has come on it yet. */
	void (*on_attach)(void *ctx, struct engine_stream *s);
	/* What the manager sent. */
	void (*on_frame)(void *ctx, struct engine_stream *s, const struct frame *frame);
	/* The stream was closed or broke; not called while its container is removed. */
	void (*on_detach)(void *ctx, struct engine_stream *s);
	void (*on_end)(void *ctx, struct fake_container *c);
	void *ctx;
};

/* script: as fake_play() says; most tests want fake_pid1_script. */
struct fake *fake_new(struct loop *loop, const struct fake_script *script);
/* Its clients must be gone. Ends what runs. Accepts NULL, returns NULL. */
struct fake *fake_free(struct fake *f);

/* What it can do; change it before a client asks. */
struct engine_capabilities *fake_capabilities(struct fake *f);
/* Who plays PID 1 in containers that are created from here on: a script, or NULL for a real one. */
void fake_play(struct fake *f, const struct fake_script *script);
/* Ended containers stay until they are removed; otherwise they go at once, as those of Husk do. */
void fake_keep_ended(struct fake *f, bool keep);
/* What comes from PID 1 arrives in pieces of n bytes. 0 = as it was sent. */
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

/* The next n calls fail. An attach then closes, as the engine's do; a watch cannot be started. */
void fake_fail(struct fake *f, enum fake_op op, unsigned n, enum fail_kind kind, enum cause cause, const char *message);
/* Calls from here on have no end, until they are let go or cancelled: an attach carries nothing, a watch tells nothing. */
void fake_hold(struct fake *f, enum fake_op op);
void fake_let_go(struct fake *f, enum fake_op op);
/* Calls so far, and how many of them are under way. */
size_t fake_calls(const struct fake *f, enum fake_op op);
size_t fake_pending(const struct fake *f, enum fake_op op);
/* Nobody answers any more: what is under way fails, streams and watches break. Containers stay as they are. */
void fake_go_down(struct fake *f);
void fake_come_up(struct fake *f);

/* Its firewall rules can't be set, for this reason; CAUSE_NONE = they can. How often they were asked for, and for what. */
void fake_no_fence(struct fake *f, enum cause cause);
size_t fake_fence_calls(const struct fake *f);
const struct strv *fake_openings(const struct fake *f);

/* What husk-fit says in an image that is fitted: JSON. NULL = nothing, which is fine. And a volume that images have. Not copied. */
void fake_fit_says(struct fake *f, const char *text, const char *volume);

/* --- containers and images --------------------------------------------------------------------------------------- */

/* NULL = it is not there. */
struct fake_container *fake_find(struct fake *f, const char *name);
size_t fake_count(const struct fake *f);
/* The only one there is. */
struct fake_container *fake_only(struct fake *f);
/* One that this test did not create: a leftover. Nobody plays its PID 1. */
struct fake_container *fake_add(struct fake *f, const char *name, const char *store, const char *owner, bool running,
				uint64_t created);
/* Its label; fake_add() gives none. */
void fake_mark(struct fake_container *c, const char *mark);
/* It ends with this exit code; 137 after an OOM event if oom. */
void fake_die(struct fake_container *c, int exit_code, bool oom);
/* Somebody removes it by force. */
void fake_vanish(struct fake_container *c);
/* The event alone. */
void fake_tell_oom(struct fake_container *c);

/* The images of all runtimes are there from the beginning. labels may be NULL. */
void fake_image_add(struct fake *f, const char *name, const struct strv *labels);
void fake_image_remove(struct fake *f, const char *name);
bool fake_image_is_there(const struct fake *f, const char *name);
/* NAME=value of its labels. */
const struct strv *fake_image_labels(const struct fake *f, const char *name);

/* --- streams, for scripts ---------------------------------------------------------------------------------------- */

struct fake_container *fake_stream_container(struct engine_stream *s);
/* To the manager. */
void fake_send(struct engine_stream *s, uint8_t type, uint32_t call, const void *payload, size_t n);
void fake_send_text(struct engine_stream *s, uint8_t type, uint32_t call, const char *fmt, ...) PRINTF_LIKE(4, 5);
void fake_send_bytes(struct engine_stream *s, const void *data, size_t n);
/* The stream breaks, after what was sent has arrived. cause CAUSE_NONE = no reason is known. */
void fake_break(struct engine_stream *s, enum fail_kind kind, enum cause cause, const char *message);
/* All streams to its container but this one break: PID 1 has another controller. */
void fake_break_others(struct engine_stream *s);
/* The one that was opened last; NULL if there is none. */
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
