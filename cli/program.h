/* Runs a program in a session and connects it to the standard streams of this process. The program gets a terminal of
 * its own if all three streams are terminals, and otherwise three pipes. Its output appears as it is written. */
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
	bool no_input; /* the program's standard input is empty, because ours was already read */
	/* Called once, after all of the program's output has been written here. The callback may free the program. If
	 * end and f are both NULL, the reader of our output has gone. */
	void (*on_end)(void *ctx, const struct terminal_end *end, const struct fail *f);
	void *ctx;
};

/* NULL with f filled. */
struct program *program_start(const struct program_spec *spec, struct fail *f);
void program_signal(struct program *p, int signo);
/* Hangs up if the program still runs, and restores the user's terminal. Accepts NULL, returns NULL. */
struct program *program_free(struct program *p);

#endif
