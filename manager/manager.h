/* The manager: sessions behind plain calls. The one header that a face includes; knows nothing of MCP or terminals.
 *
 * Every operation is asynchronous. A start function either returns a `struct op *` and later calls its callback exactly
 * once (never from inside the start function), or returns NULL with `f` filled and never calls it. The op belongs to the
 * manager: it is gone once the callback has returned. op_cancel() before that guarantees that the callback is not called;
 * the work behind it is interrupted and cleaned up (a cancelled create leaves no container).
 *
 * What callbacks are given is valid during the call. Strings in requests are borrowed for the start function. */
#ifndef HUSK_MANAGER_MANAGER_H
#define HUSK_MANAGER_MANAGER_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/env.h"
#include "manager/model/files.h"
#include "manager/model/handle.h"
#include "manager/model/limits.h"
#include "manager/model/query.h"
#include "manager/model/result.h"
#include "manager/model/runtime.h"
#include "manager/model/session-status.h"
#include "manager/model/state.h"
#include "manager/model/verdict.h"

struct manager;
struct conversation;
struct op;

/* --- settings ---------------------------------------------------------------------------------------------------- */
/* These block, for at most some seconds: they are for the start of a program.
 *
 * As config_load() and config_load_from(), with what is kept for this user behind the file, if the file is wanted. */
int settings_load(struct config *c, const char *env_file, struct fail *f);
int settings_load_from(struct config *c, const struct config_source *source, struct fail *f);
/* Keeps a setting, sealed, for all programs of this user; value NULL = no longer. FAIL_INVALID if there is no such setting, or none
 * with that value beside those of the environment and the file; FAIL_NOT_FOUND if it was not kept. */
int settings_keep(const char *env_file, const char *name, const char *value, struct fail *f);

/* --- the manager ------------------------------------------------------------------------------------------------- */
/* The config must outlive it. Contacts nothing and writes nothing. */
struct manager *manager_new(struct loop *loop, const struct config *config);
/* Drops everything at once, in milliseconds, conversations included: calls are not answered. Sessions stay, with what runs on
 * them, until their lease is over or another server adopts them; half-made ones are told to go and not waited for. Accepts
 * NULL, returns NULL. */
struct manager *manager_free(struct manager *m);
/* Nobody will come back for its sessions: manager_free() tells all of them to go. */
void manager_leave_nothing(struct manager *m);
/* Before manager_free(): calls fn once, on the loop, when what the store was told is written, and after ms at the latest. */
void manager_settle(struct manager *m, uint64_t ms, void (*fn)(void *ctx), void *ctx);

void op_cancel(struct op *op);
/* What a manager_run() has begun is to end, as with Ctrl-C; its answer says how. Other operations go on. */
void op_interrupt(struct op *op);

/* --- conversations ----------------------------------------------------------------------------------------------- */
/* What sessions, exports and limits belong to. A manager serves any number of them. */
struct conversation_spec {
	const char *id;	       /* NULL = the user's own: HUSK_THREAD_ID, or one that is kept in the state folder */
	uint64_t max_sessions; /* 0 = CONTAINER_MAX_SESSIONS_PER_THREAD */
};
/* Reads and writes nothing yet. */
struct conversation *conversation_open(struct manager *m, const struct conversation_spec *spec);
/* Cancels its calls. Its sessions stay, as when a server ends; manager_free() does it too. Accepts NULL, returns NULL. */
struct conversation *conversation_close(struct conversation *c);
/* Somebody is really there: from now on sessions that a former server of this conversation left are taken over, in the
 * background. */
void conversation_wake(struct conversation *c);

/* fn is called from the loop each time that a session has become the conversation's own: made or taken over. There is one such fn; NULL =
 * none. */
void conversation_watch(struct conversation *c, void (*fn)(void *ctx), void *ctx);
/* A client (run_request.client) has left: its runs are interrupted, and told to nobody. */
void conversation_end_client(struct conversation *c, uint64_t client);

/* Which end its tasks come to, if it has any; see below. */
struct task_handler;
void conversation_take_tasks(struct conversation *c, const struct task_handler *handler);

/* Of a whole id; names are shorter. */
#define SESSION_ID_CHARS 26
struct session_info {
	const char *id;
	const char *name; /* what the conversation calls it; NULL = nothing */
	const char *runtime;
	const char *status; /* starting, adopting, running, dead */
	uint64_t age_seconds;
	uint64_t idle_seconds;
	const char *dependencies; /* JSON, name -> version as installed; NULL if there are none */
	const char *transport;	  /* how its PID 1 is reached: "socket", "exec"; NULL = not known */
	struct limits limits;
};
/* Each session of the conversation that this manager has, oldest first. */
void conversation_each_session(struct conversation *c, void (*fn)(void *ctx, const struct session_info *info),
			       void *ctx);
/* True while sessions of ended servers are searched for: the list above may be incomplete. */
bool conversation_is_adopting(const struct conversation *c);
struct await_request {
	/* complete: the search is over. False after 5 s without an end. */
	void (*on_done)(void *ctx, bool complete);
	void *ctx;
};
/* Waits for the end of that search. Never fails. */
struct op *manager_await(struct conversation *c, const struct await_request *req);

/* --- create ------------------------------------------------------------------------------------------------------ */
struct create_result {
	const struct session_info *session; /* NULL if there is none */
	const struct session_info *active;
	size_t n_active;
	const char *note; /* what is worth knowing of the session's network; NULL if nothing is */
};
struct create_request {
	const struct runtime *runtime;
	const char *name;  /* to use in place of the id, within the conversation; NULL = none */
	const char *image; /* one of CONTAINER_IMAGES, by its name; NULL = the runtime's own */
	bool network;
	const struct dependency *dependencies;
	size_t n_dependencies;
	struct limits_wanted limits; /* other than the settings' */
	const struct env_var *env;   /* of its interpreter and all its commands */
	size_t n_env;
	const char *cwd; /* where they start: absolute, or from /workspace; NULL = /workspace */
	/* What the installer says, as it says it; may be NULL. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* f NULL: `session` is there. Refused for a limit: `active` lists the sessions of the conversation, whichever server
	 * has them. */
	void (*on_done)(void *ctx, const struct create_result *result, const struct fail *f);
	void *ctx;
};
struct op *manager_create(struct conversation *c, const struct create_request *req, struct fail *f);

/* --- execute ----------------------------------------------------------------------------------------------------- */
/* Commands that run beside others, since their caller waits no longer. */
#define RUNS_ASIDE_MAX 8
struct task_info;
/* Of a terminal. */
#define RUN_ROWS_MAX 200
#define RUN_COLS_MAX 500
/* Of one input. */
#define RUN_INPUT_MAX (32u << 10)
struct run_request {
	enum run_kind kind; /* RUN_CODE or RUN_TERMINAL */
	const char *session_id;
	const char *text; /* the cell or the command; NULL with `run` */
	size_t len;
	uint64_t run;	/* one that goes on, instead of a text: waited for, and only what is new is told. 0 = none */
	bool interrupt; /* with `run`: ends it */
	/* Whose it is: 0 = the conversation's; else a number of somebody who has attached to it. Nobody else can wait for a client's run,
	 * its result carries no other runs, and it rides on no other result. */
	uint64_t client;
	/* With `run`: an answer to what it asks, keys by name in < > (<Ctrl-C>, <Tab>, <Up>). A command is typed at, and Enter is pressed
	 * unless the text ends with a key by name. NULL = none. */
	const char *input;
	size_t input_len;
	/* It may ask: the answer comes when it does (ENDING_WAITING), and after wait_seconds. A command has a terminal. */
	bool interactive;
	int rows, cols; /* of that; 0 = 24 and 80 */
	bool restart;	/* a cell on a new interpreter; its text may be empty then */
	bool has_wait;	/* the answer comes after wait_seconds at the latest: ENDING_RUNNING if the run goes on */
	uint64_t wait_seconds; /* at most 300 */
	/* 1 to 300, with a wait any number. 0, with a wait: as long as the session lives. */
	uint64_t timeout_seconds;
	const struct env_var *env; /* for this run alone */
	size_t n_env;
	/* Of a command, for this run alone: absolute, or from where the last one ended; NULL = there. */
	const char *cwd;
	/* Instead of on_done: it has gone on for task_after_seconds, and is a task now. NULL = it never becomes one. Nor does it where
	 * that cannot be written down: its caller then waits for the end. */
	void (*on_task)(void *ctx, const struct task_info *task);
	uint64_t task_after_seconds;
	/* Live output, as it comes, cleaned; may be NULL. stream is 1 or 2. */
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	/* Displays, as they come; may be NULL. With it, on_output has each text once and all of it: what is too much to come live follows
	 * before on_done, with a line for what is missing. Without, it has glimpses of what is written then. */
	void (*on_display)(void *ctx, const struct shown_display *display);
	/* result is set if something ran, however it ended; else f says why nothing did. */
	void (*on_done)(void *ctx, const struct run_result *result, const struct fail *f);
	/* Instead of on_done, if set, for a result that is too much to be worded on the loop (RUN_RESULT_HEAVY bytes): the callee takes it
	 * (moves it and leaves it empty), and has a worker do it. */
	void (*on_heavy)(void *ctx, struct run_result *result);
	void *ctx;
};
struct op *manager_run(struct conversation *c, const struct run_request *req, struct fail *f);

/* --- a terminal for a person --------------------------------------------------------------------------------------- */
/* A shell, or another program, on a pseudo-terminal of its own in a session, beside everything else that runs there; it begins where
 * the last command ended. What it writes and what is typed are passed on as they are. It ends with its program, with op_cancel(),
 * which hangs up, and with the connection to its container: a server that ends takes its terminals with it.
 *
 * Both ways go by credit, and nobody waits: terminal_write() takes at most TERMINAL_WINDOW bytes that on_written has not told of, and
 * what on_bytes gives has to be followed by terminal_taken(), or the terminal stops after a few hundred KiB. */
#define TERMINAL_WINDOW (64u << 10)
#define TERMINAL_SIDE_MAX 4096
struct terminal_end {
	int exit_code;	    /* of its program; 128 + n for a signal */
	int signal;	    /* 0 = none */
	bool oom;	    /* it was killed for needing more memory than the session has */
	const char *detail; /* a sentence, where there is more to say; NULL otherwise */
};
struct terminal_request {
	const char *session_id;
	const char *const *command; /* with its arguments; NULL = an interactive shell */
	size_t n_command;
	bool is_run;		   /* for the log: a program of its own, not somebody's terminal */
	const char *cwd;	   /* NULL = that of the last command */
	const struct env_var *env; /* beside what the session has */
	size_t n_env;
	/* What TERM says at the other end; one that the session does not know is replaced. NULL = the usual. */
	const char *term;
	int rows, cols;
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* If set, the program (which is required then) has three pipes in place of a terminal: this gets its stderr, which counts with
	 * on_bytes for terminal_taken(). */
	void (*on_error_bytes)(void *ctx, const void *data, size_t n);
	/* So many of the bytes that were written have arrived at the terminal. */
	void (*on_written)(void *ctx, size_t n);
	/* The one answer: how its program ended, or f. */
	void (*on_end)(void *ctx, const struct terminal_end *end, const struct fail *f);
	void *ctx;
};
struct op *manager_terminal(struct conversation *c, const struct terminal_request *req, struct fail *f);
/* Of an op that manager_terminal() gave, until on_end. Negative, and nothing was written, if it is more than may be under way. */
int terminal_write(struct op *op, const void *data, size_t n);
/* Of a program with pipes: its input has ended; and a signal to its process group (HUP, INT, QUIT, TERM, USR1, USR2, TSTP, CONT). */
void terminal_end_input(struct op *op);
void terminal_signal(struct op *op, int signo);
void terminal_taken(struct op *op, size_t n);
void terminal_resize(struct op *op, int rows, int cols);

/* --- tasks ------------------------------------------------------------------------------------------------------- */
/* A run that has a handle in place of a caller: random, known to its conversation alone, on disk before it is told. It can be asked
 * for as often as anybody likes, also of the next server, until the session's lifetime is over. Its end is told to no other call. */
struct task_info {
	const char *id;
	const char *session_id;
	uint64_t run;
	enum run_kind kind;
	uint64_t timeout_seconds;
	enum task_state state;
	uint64_t created_ms, changed_ms; /* wall clock */
	uint64_t ttl_ms;		 /* from its creation; UINT64_MAX = no end */
	const char *result;		 /* TASK_ENDED: as `word` gave it */
};
/* What a face does for the tasks of a conversation; both are called from the loop. */
struct task_handler {
	/* How the end reads: of a run, or (result NULL) why it has none. The text is kept; the manager owns it. A worker may call it, with
	 * a copy of `config`. */
	char *(*word)(const struct config *config, const struct task_info *task, const struct run_result *result,
		      const struct fail *f);
	const struct config *config;
	/* It has ended. */
	void (*on_change)(void *ctx, const struct task_info *task);
	void *ctx;
};
struct task_request {
	const char *id;
	bool cancel; /* its run is to end; one that has ended stays as it is */
	/* f: there is none in this conversation, its time is over, its session is gone, or nobody can say. */
	void (*on_done)(void *ctx, const struct task_info *task, const struct fail *f);
	void *ctx;
};
struct op *manager_task(struct conversation *c, const struct task_request *req, struct fail *f);

/* --- status ------------------------------------------------------------------------------------------------------ */
struct run_info {
	uint64_t number;
	enum run_kind kind;
	const char *state; /* queued, running, waiting: for an answer, ended: not told yet */
	uint64_t age_ms;
};
struct session_details {
	struct session_info session;
	uint64_t left_seconds;	    /* until its hard lifetime ends; UINT64_MAX = it has none */
	uint64_t idle_left_seconds; /* until it ends for want of use */
	const struct run_info *runs;
	size_t n_runs;
	const struct session_status *status;
};
struct info_request {
	const char *session_id;
	bool keep_alive; /* counts as use; without it asking does not */
	void (*on_done)(void *ctx, const struct session_details *details, const struct fail *f);
	void *ctx;
};
struct op *manager_info(struct conversation *c, const struct info_request *req, struct fail *f);

/* --- ask --------------------------------------------------------------------------------------------------------- */
/* Of the code in a question. */
#define QUERY_TEXT_MAX (256u << 10)
struct query_request {
	enum query_kind kind;
	const char *session_id;
	const char *code; /* UTF-8 without NULs, at most QUERY_TEXT_MAX bytes */
	size_t len;
	size_t cursor; /* where in it, in code points; of no use to QUERY_IS_COMPLETE */
	bool detail;   /* QUERY_INSPECT: all that there is (the source, say), not the short of it */
	/* f, beside what keeps a run from starting: CAUSE_INTERPRETER_BUSY at once while a cell runs or when one begins (FAIL_BUSY), or
	 * after seconds (FAIL_TIMEOUT); CAUSE_CANNOT_ANSWER or CAUSE_OLD_SESSION where the runtime or its image cannot (FAIL_INVALID). */
	void (*on_done)(void *ctx, const struct query_answer *answer, const struct fail *f);
	void *ctx;
};
/* Completion, help and whether code is whole, by the session's interpreter as it stands. Delays and interrupts no cell, and leaves
 * nothing behind: no execution, no value, no log. It counts as use. */
struct op *manager_query(struct conversation *c, const struct query_request *req, struct fail *f);

/* --- files ------------------------------------------------------------------------------------------------------- */
struct copy_request {
	const char *session_id;
	const struct import_item *imports; /* or NULL, and */
	const char *const *exports;
	size_t n;
	/* Folders that paths of the host may be in, beside those of the settings; NULL = none. Borrowed for the call. */
	const struct strv *allowed;
	/* One line of progress; may be NULL. */
	void (*on_progress)(void *ctx, const char *line);
	/* All entries were tried, one after the other; or f says why none was. */
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_copy(struct conversation *c, const struct copy_request *req, struct fail *f);

struct exports_request {
	/* Newest first, after this one: both 0 and NULL for the first page. */
	uint64_t before_ms;
	const char *before_id;
	size_t limit;
	void (*on_done)(void *ctx, const struct export_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_exports(struct conversation *c, const struct exports_request *req, struct fail *f);
/* Brings an export to a path of the host, in the place of what is there: a file, or a folder, which is merged into one that is there.
 * Nothing is written outside of it; what had to be left out is added to the notices. Blocks. -1 with f. */
int export_bring(const struct export_info *info, const char *to, struct strv *notices, struct fail *f);

struct read_request {
	const char *id;
	size_t max; /* a larger one is not read: data is NULL then */
	/* info NULL and f NULL: there is none of this id in this conversation. */
	void (*on_done)(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_read_export(struct conversation *c, const struct read_request *req, struct fail *f);

/* --- the full text of a long run ---------------------------------------------------------------------------------- */
struct run_text_request {
	const char *session_id;
	uint32_t number;
	size_t max; /* a longer one is not read: text is NULL then, and size says how long it is */
	/* text NULL, size 0 and f NULL: there is none. */
	void (*on_done)(void *ctx, const char *text, size_t n, uint64_t size, const struct fail *f);
	void *ctx;
};
struct op *manager_run_text(struct conversation *c, const struct run_text_request *req, struct fail *f);

/* --- stop -------------------------------------------------------------------------------------------------------- */
struct stop_request {
	const char *session_id;
	/* f is NULL when the container is really gone. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_stop(struct conversation *c, const struct stop_request *req, struct fail *f);

/* --- for the person whose sessions these are: all conversations, all servers -------------------------------------- */
struct listed_session {
	const char *id;
	const char *name; /* "-" = none */
	const char *runtime;
	const char *thread;
	const char
		*state; /* starting, running, busy, ended; left = its server has ended, and the next one can adopt it */
	const char *owner;     /* "process 123 on box" */
	const char *cause;     /* of the end; "" before */
	const char *transport; /* how its server reaches it: "socket", "exec"; "-" = not known */
	uint64_t age_seconds, idle_seconds, left_seconds; /* left: until its hard lifetime ends */
	bool has_memory;
	uint64_t memory; /* bytes */
	struct limits limits;
};
struct list_request {
	bool all; /* also those that have ended: the newest thousand in all */
	/* Oldest first. f: nothing could be listed. unsure: the engine did not answer, so that the list is the store's alone. */
	void (*on_done)(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
			const struct fail *unsure);
	void *ctx;
};
struct op *manager_list_all(struct manager *m, const struct list_request *req, struct fail *f);

struct stop_all_request {
	const char *session_id; /* or what handle.h allows; NULL = all of them */
	/* n were stopped; f: why not all. */
	void (*on_done)(void *ctx, size_t n, const struct fail *f);
	void *ctx;
};
/* Removes containers, whoever uses them. */
struct op *manager_stop_all(struct manager *m, const struct stop_all_request *req, struct fail *f);

struct collected {
	char *const *containers; /* names of those that were removed */
	size_t n;
	size_t sessions; /* that turned out to be over */
	size_t exports;	 /* that were deleted: older than EXPORTS_MAX_AGE_DAYS */
};
struct collect_request {
	/* What was done, also if not all could be. Valid during the call. */
	void (*on_done)(void *ctx, const struct collected *collected, const struct fail *f);
	void *ctx;
};
/* Tidies up behind servers that ended. */
struct op *manager_collect_garbage(struct manager *m, const struct collect_request *req, struct fail *f);

/* What was executed in a session, by number. */
struct executed {
	uint64_t seq;
	const char *tool;
	uint64_t started_ms, ended_ms; /* ended 0 = not known yet */
	const char *ending;	       /* NULL = not known yet */
	uint64_t in_bytes, out_bytes;
	const char *env; /* names of variables, with a blank between them; NULL = none */
	/* With history_request.texts, and if the settings had it kept (HISTORY_KEEPS_CODE); NULL otherwise. */
	const char *text;
	const char *const *outputs; /* JSON arrays of a notebook's outputs, one after the other */
	size_t n_outputs;
};
struct history {
	bool known;	       /* the store has a row of the session */
	const char *id, *name; /* of that */
	const char *thread, *runtime, *state, *cause;
	const char *owner; /* the server that has it, or had it last, for people */
	uint64_t created_ms, ended_ms;
	const struct executed *v;
	size_t n;
	bool cut; /* there are more texts than one answer holds */
};
struct history_request {
	const char *session_id; /* or what handle.h allows; NULL = the latest */
	size_t limit;		/* the last ones */
	bool texts;		/* also what was run, and what it left */
	void (*on_done)(void *ctx, const struct history *history, const struct fail *f);
	void *ctx;
};
struct op *manager_history(struct manager *m, const struct history_request *req, struct fail *f);

/* Whether the log is what was written. */
struct verify_request {
	const char *session_id; /* NULL = all, and what belongs to no session */
	/* One after the other; session "" is the store itself. */
	void (*on_verdict)(void *ctx, const char *session, const struct log_verdict *verdict);
	/* f: why not all could be looked at. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_verify(struct manager *m, const struct verify_request *req, struct fail *f);

/* Exports of all conversations, or of the one that is named; see manager_exports(). */
struct op *manager_all_exports(struct manager *m, const char *thread, const struct exports_request *req,
			       struct fail *f);
struct delete_export_request {
	const char *id; /* of any conversation */
	/* f NULL: it is in no list any more, and its content is gone unless another export has the same. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_delete_export(struct manager *m, const struct delete_export_request *req, struct fail *f);

/* An image that an older build of Husk left, and that neither this build nor its settings use. */
struct image_info {
	const char *name;
	uint64_t size;	  /* bytes, with the layers that it shares with others */
	uint64_t created; /* seconds since the epoch */
};
struct images_request {
	uint64_t before; /* seconds since the epoch: older ones */
	void (*on_done)(void *ctx, const struct image_info *v, size_t n, const struct fail *f);
	void *ctx;
};
/* NULL with f filled if the engine's client cannot be run. */
struct op *manager_old_images(struct manager *m, const struct images_request *req, struct fail *f);
struct remove_image_request {
	const char *name; /* of one that manager_old_images() lists */
	/* FAIL_BUSY: a container uses it. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
/* NULL with f filled for any other image. */
struct op *manager_remove_image(struct manager *m, const struct remove_image_request *req, struct fail *f);
/* The user's own conversation, if there is one already; the caller owns it. Reads a file. */
char *manager_own_thread(const struct config *config);

/* --- the program's own helpers ------------------------------------------------------------------------------------ */
/* Removes containers that a server which has exited left: `husk reap`. Blocks; returns an exit code. */
int manager_reap(const char *engine, const char *program, char *const *containers);

/* --- doctor ------------------------------------------------------------------------------------------------------- */
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
	bool try_sessions;    /* create a session of each runtime, run a cell, try what must not work, stop it */
	bool verbose;	      /* a check for each act that must not work, not only for each group of them */
	/* In a fixed order, each once those before it are known. */
	void (*on_check)(void *ctx, const struct check *check);
	/* Once, after the last check. The doctor must not be freed from inside either. */
	void (*on_done)(void *ctx);
	void *ctx;
};

/* Is everything there that sessions need? Everything that can be asked at the same time is; no question takes longer than
 * 10 s. Changes nothing, unless it is asked to try real sessions. */
struct doctor *doctor_new(struct loop *loop, const struct doctor_request *request);
/* At any moment; a session that is being tried is removed. Accepts NULL, returns NULL. */
struct doctor *doctor_free(struct doctor *d);

#endif
