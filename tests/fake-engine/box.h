/* A real PID 1 without an engine: husk-client in namespaces of its own, made by tests/pid1/box.sh, with the kernel of those tests.
 * Needs root, or a user that may make namespaces; whoever may not is told so by the failure of the start. */
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
	/* Once, from the loop: it is husk-client now, or why not. */
	void (*on_up)(void *ctx, const struct fail *f);
	void *up_ctx;
	/* It has ended by itself. Afterwards it is only freed. */
	void (*on_ended)(void *ctx, int exit_code);
	void *ended_ctx;
};

/* Never fails at once. */
struct box *box_start(const struct box_spec *spec);
/* Kills it. Accepts NULL, returns NULL. */
struct box *box_free(struct box *b);
bool box_is_up(const struct box *b);
/* The command that is a stream to it. */
void box_attach_argv(const struct box *b, struct strv *argv);

#endif
