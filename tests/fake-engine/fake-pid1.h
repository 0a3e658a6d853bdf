/* A PID 1 that is played, and well behaved: it greets, keeps the epoch, answers pings and claims, takes calls, keeps what they
 * gave until it is acknowledged and replays it to the next controller; a look finds one variable, and a question to the kernel is
 * answered with its own code, if it has any. What a call does is the test's to say; without a word, cells and commands end ok at
 * once and installs install what was asked for, in version 1.0. */
#ifndef HUSK_TESTS_FAKE_PID1_H
#define HUSK_TESTS_FAKE_PID1_H

#include "tests/fake-engine/fake-engine.h"

extern const struct fake_script fake_pid1_script;

struct fake_call {
	struct list node;
	uint8_t type; /* FRAME_EXECUTE, FRAME_TERMINAL, FRAME_INSTALL */
	uint32_t number;
	char *text; /* the code, the command or the packages (JSON) */
	bool interrupted, ended;
	unsigned marks;	   /* how often it was asked what there is so far */
	struct buf frames; /* what it gave so far */
};

struct fake_pid1 {
	uint64_t epoch;
	uint32_t last_call;
	const char *kernel; /* as HELLO says it */
	char session[32];   /* "" until it is claimed */
	uint64_t lease, lifetime;
	char *claim_env; /* JSON; NULL until it is claimed */
	size_t hellos, pings, claims, queries;
	bool mute; /* reads everything and says nothing */
	struct list calls;
};

/* Called for each call instead of ending it, in all containers of the test; NULL = as above. */
extern void (*fake_on_call)(struct fake_container *c, struct fake_call *call);
/* Called for each INTERRUPT; NULL = the call ends as interrupted. */
extern void (*fake_on_interrupt)(struct fake_container *c, struct fake_call *call);
/* What the kernel is right after the start; "ready" at first. With "starting", fake_kernel() says how it goes on. */
extern const char *fake_kernel_at_start;
/* Of a Husk before questions to interpreters. */
extern bool fake_is_old;

/* How many terminals for people it has, as HELLO says it; what they do is a script of the test's own to play. */
extern int fake_consoles;

/* NULL if it is not known, or acknowledged. */
struct fake_call *fake_call_find(struct fake_container *c, uint32_t number);
void fake_call_out(struct fake_container *c, struct fake_call *call, const char *text);
/* What else it gives: a frame with this payload. */
void fake_call_give(struct fake_container *c, struct fake_call *call, uint8_t type, const char *payload);
/* ending: "ok", "error", … */
void fake_call_end(struct fake_container *c, struct fake_call *call, const char *ending);
/* The kernel is "ready", or "failed". */
void fake_kernel(struct fake_container *c, const char *kernel);
/* It says why, and ends. */
void fake_end_by_itself(struct fake_container *c, const char *cause);

#endif
