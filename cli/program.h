/* A program in a session, with the standard streams of this process: on a terminal of its own where all three are terminals, else with
 * three pipes. What it writes appears as it is written. */
#ifndef HUSK_CLI_PROGRAM_H
#define HUSK_CLI_PROGRAM_H

#include "manager/manager.h"

struct program;

struct program_spec {
	struct loop *loop;
	struct conversation *conversation;
	const char *session_id;
	const struct strv *command; /* borrowed for the call, like the next three */
	const char *cwd;
	const struct env_var *env;
	size_t n_env;
	bool no_input; /* its standard input is empty: ours was used up */
	/* Once, when all that it wrote is written here; free it there or later. Both NULL: nobody reads its output any more. */
	void (*on_end)(void *ctx, const struct terminal_end *end, const struct fail *f);
	void *ctx;
};

/* NULL with f filled. */
struct program *program_start(const struct program_spec *spec, struct fail *f);
void program_signal(struct program *p, int signo);
/* Hangs up if it still runs; the user's terminal is as it was. Accepts NULL, returns NULL. */
struct program *program_free(struct program *p);

#endif
