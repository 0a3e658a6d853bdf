/* husk doctor: is everything there that sessions need? Asks the engine, looks at files and settings, and says what to do.
 * Changes nothing, unless it is asked to try a real session. */
#ifndef HUSK_MANAGER_DOCTOR_DOCTOR_H
#define HUSK_MANAGER_DOCTOR_DOCTOR_H

#include "base/loop.h"

enum check_status {
	CHECK_OK,
	CHECK_WARN, /* sessions work; something is worth knowing or doing */
	CHECK_FAIL, /* sessions do not work, or not as safely as promised */
};

/* What was found. One line of clean UTF-8 each. */
struct check {
	char *name; /* "engine", "image python" */
	enum check_status status;
	char *detail;
	char *fix; /* what to do; NULL if there is nothing */
};

struct doctor;

struct doctor_request {
	const char *env_file; /* as config_load() takes it; must outlive the doctor */
	bool try_sessions;    /* create a session of each runtime, run a cell, stop it */
	/* In a fixed order, each once those before it are known. The check is valid during the call. */
	void (*on_check)(void *ctx, const struct check *check);
	/* Once, after the last check. The doctor must not be freed from inside either. */
	void (*on_done)(void *ctx);
	void *ctx;
};

/* Everything that can be asked at the same time is; no question takes longer than 10 s. Callbacks come from the loop. */
struct doctor *doctor_new(struct loop *loop, const struct doctor_request *request);
/* At any moment; a session that is being tried is removed. Accepts NULL, returns NULL. */
struct doctor *doctor_free(struct doctor *d);

#endif
