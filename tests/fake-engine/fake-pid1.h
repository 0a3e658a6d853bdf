/* A well-behaved PID 1, played in the test. It says hello, keeps the epoch, answers pings and claims, and accepts
 * runs. It keeps their output until it is acknowledged and replays it to the next controller. A status has one
 * variable and a checkpoint, and a query is answered with its own code, if it has any.
 *
 * The test decides what a run does. By default cells and commands end ok at once, and installs report the
 * requested packages in version 1.0. */
#ifndef HUSK_TESTS_FAKE_PID1_H
#define HUSK_TESTS_FAKE_PID1_H

#include "tests/fake-engine/fake-engine.h"

extern const struct fake_script fake_pid1_script;

struct fake_call {
	struct list node;
	uint8_t type; /* FRAME_EXECUTE, FRAME_TERMINAL, FRAME_INSTALL */
	uint32_t number;
	char *text; /* the code, the command or the packages (JSON) */
	char *by;   /* NULL = not given */
	bool detached;
	bool interrupted, ended;
	unsigned marks;	   /* how often its output so far was requested */
	unsigned told;	   /* the last mark that was acknowledged */
	struct buf frames; /* its output so far */
};

struct fake_pid1 {
	uint64_t epoch;
	uint32_t last_call;
	const char *kernel; /* as in HELLO */
	char session[32];   /* "" until it is claimed */
	uint64_t lease, lifetime;
	char *claim_env; /* JSON; NULL until it is claimed */
	size_t hellos, pings, claims, queries;
	bool mute; /* reads everything and sends nothing */
	struct list calls;
};

/* Called for each run instead of ending it, in all containers of the test; NULL = end it as described above. */
extern void (*fake_on_call)(struct fake_container *c, struct fake_call *call);
/* Called for each INTERRUPT; NULL = the run ends as interrupted. */
extern void (*fake_on_interrupt)(struct fake_container *c, struct fake_call *call);
/* State of the kernel right after the start; "ready" by default. After "starting", fake_kernel() sets the next
 * state. */
extern const char *fake_kernel_at_start;
/* If true, PID 1 is of an older version, which has no queries, no checkpoints and no requests about files. */
extern bool fake_is_old;

/* The number of terminals in HELLO. A script of the test plays what they do. */
extern int fake_consoles;

/* NULL if it is unknown or was acknowledged. */
struct fake_call *fake_call_find(struct fake_container *c, uint32_t number);
void fake_call_out(struct fake_container *c, struct fake_call *call, const char *text);
/* Sends another frame of the run with this payload. */
void fake_call_give(struct fake_container *c, struct fake_call *call, uint8_t type, const char *payload);
/* ending: "ok", "error", … */
void fake_call_end(struct fake_container *c, struct fake_call *call, const char *ending);
/* Sets the kernel's state: "ready" or "failed". */
void fake_kernel(struct fake_container *c, const char *kernel);
/* Makes PID 1 send the reason and end. */
void fake_end_by_itself(struct fake_container *c, const char *cause);

#endif
