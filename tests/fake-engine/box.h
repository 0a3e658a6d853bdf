/* A real PID 1 without an engine: husk-client in its own namespaces, made by pid1/box.sh, with the kernel of those
 * tests. Needs root, or a user who may make namespaces. Otherwise the start fails with that reason. */
#ifndef HUSK_TESTS_FAKE_BOX_H
#define HUSK_TESTS_FAKE_BOX_H

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"

struct box;

struct box_spec {
	struct loop *loop;
	uint64_t lease;
	bool install;
	/* Called once, from the loop: husk-client runs now, or failed to start. */
	void (*on_up)(void *ctx, const struct fail *f);
	void *up_ctx;
	/* PID 1 has ended by itself. Afterwards the box may only be freed. */
	void (*on_ended)(void *ctx, int exit_code);
	void *ended_ctx;
};

/* Never fails itself: failures are reported to on_up. */
struct box *box_start(const struct box_spec *spec);
/* Kills PID 1. Accepts NULL, returns NULL. */
struct box *box_free(struct box *b);
bool box_is_up(const struct box *b);
/* The command that opens a stream to PID 1. */
void box_attach_argv(const struct box *b, struct strv *argv);

#endif
