/* Shared by the files of init: PID 1's state, and the functions that one of them offers to the others. */
#ifndef HUSK_KERNELS_INIT_INIT_PRIVATE_H
#define HUSK_KERNELS_INIT_INIT_PRIVATE_H

#include "kernels/cells/branches.h"
#include "kernels/commands/terminals.h"
#include "kernels/control/controller.h"
#include "kernels/control/dial.h"
#include "kernels/disk/disk.h"
#include "kernels/guard/sockets.h"
#include "kernels/init/init.h"
#include "kernels/init/lease.h"
#include "kernels/init/rest.h"

/* attach is killed when PID 1 exits, so PID 1 waits this long for its last frames to be read. */
#define FAREWELL_MS 300

struct init {
	const struct init_options *options;
	struct poller poller;
	struct watch signals;
	int signal_fd;
	bool reap_again;
	struct lease lease;
	bool claimed;
	char session[SESSION_ID_LEN + 1];
	struct limits limits;
	struct manifest manifest;
	struct strv env; /* of every child */
	const char *cwd; /* of kernels; owned */
	struct runs runs;
	struct controller controller;
	struct dial dial;
	struct kernels kernels;
	struct branches branches;
	struct terminals terminals;
	struct consoles consoles;
	struct disk home;
	struct sockets sockets;
	struct rest rest;

	uint32_t status_call; /* the request that waits for the kernel's list; 0 = none */
	struct timeout status_limit;

	bool ending;
	int exit_status;
	uint64_t farewell_until_ms;
};

/* ---- init-watch.c: ends of the session or of some processes, and rest */

/* PID 1 exits at once, with this status. */
void init_end(struct init *i, int status);
/* Ends everything for STOP. */
void init_stop(struct init *i);
/* Every run gets an END with this ending and detail, and the manager an event with the cause. Then PID 1 exits. */
void init_end_with_event(struct init *i, int status, const char *cause, const char *ending, const char *detail);
void init_watch_home(struct init *i);
void init_watch_sockets(struct init *i, int diag);
void init_let_rest(struct init *i);
void init_check_lease(struct init *i);
/* For struct terminals: true if no run, console or retry is in progress. */
bool init_is_at_rest(const struct terminals *t);

/* ---- init-runs.c: the kernels and the shell, and the next run of each */

static inline struct init *init_of(const struct kernel *k)
{
	return container_of(k->setup, struct init, kernels.setup);
}

/* Prepares cells and commands; nothing is started. 0 or -errno. */
int init_prepare_kernels(struct init *i);
int init_prepare_commands(struct init *i);
/* Starts the next queued run of each, if there is one and nothing is in its way. */
void init_pump_kernels(struct init *i);
void init_pump_commands(struct init *i);
/* For struct consoles: a console has been opened. */
void init_on_console(struct consoles *c);

/* ---- init-control.c: answers to the manager */

/* 0 or -errno. */
int init_start_controller(struct init *i);
/* For struct kernel: the kernel has listed its variables, or has answered a query. */
void init_on_variables(struct kernel *k);
void init_on_answer(struct kernel *k, uint32_t number, const void *json, size_t n);
/* For struct checkpoints: the answer to a request. */
void init_on_checkpoints(struct checkpoints *all, uint32_t call, const json_t *answer);
/* For struct branches: likewise. */
void init_on_branches(struct branches *all, uint32_t call, const json_t *answer);

#endif
