/* A program in a session, with the standard streams of this process. It gets its own terminal if all three are
 * terminals, and otherwise three pipes. Its output appears as it is written. */
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
	bool no_input; /* its standard input is empty, because ours was already read */
	/* Called once, when all of its output is written here. Free the program there or later. Both NULL: the
	 * reader of its output has gone. */
	void (*on_end)(void *ctx, const struct terminal_end *end, const struct fail *f);
	void *ctx;
};

/* NULL with f filled. */
struct program *program_start(const struct program_spec *spec, struct fail *f);
void program_signal(struct program *p, int signo);
/* Hangs up if the program still runs, and restores the user's terminal. Accepts NULL, returns NULL. */
struct program *program_free(struct program *p);

#endif
