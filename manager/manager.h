/* The manager's interface: plain functions that create, use and end sessions. A face includes no other header of the
 * manager, and the manager knows nothing about MCP or the command line.
 *
 * Every operation is asynchronous. A start function either returns a `struct op *` and later calls its callback
 * exactly once (never from inside the start function), or returns NULL with `f` filled and never calls the callback.
 * The manager owns the op and frees it after the callback. After op_cancel() the callback is not called; the work is
 * interrupted and cleaned up (a cancelled create leaves no container).
 *
 * Arguments of a callback are valid until it returns. Strings in a request must be valid until the start function
 * returns. */
#ifndef HUSK_MANAGER_MANAGER_H
#define HUSK_MANAGER_MANAGER_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/access.h"
#include "manager/checkpoint.h"
#include "manager/model/cause.h"
#include "manager/model/config.h"
#include "manager/model/env.h"
#include "manager/model/files.h"
#include "manager/model/handle.h"
#include "manager/model/limits.h"
#include "manager/model/query.h"
#include "manager/model/record.h"
#include "manager/model/remote-fail.h"
#include "manager/model/result.h"
#include "manager/model/runtime.h"
#include "manager/model/session-status.h"
#include "manager/model/state.h"
#include "manager/model/usage.h"
#include "manager/model/verdict.h"
#include "manager/network.h"
#include "manager/session-files.h"

struct manager;
struct conversation;
struct op;

/* --- settings ---------------------------------------------------------------------------------------------------- */
/* These functions may block for some seconds, so call them only when a program starts.
 *
 * The first two are like config_load() and config_load_from(). If they read the settings file, they also read the
 * stored settings of this user. */
int settings_load(struct config *c, const char *env_file, struct fail *f);
int settings_load_from(struct config *c, const struct config_source *source, struct fail *f);
/* Stores a setting, sealed, for all programs of this user; value NULL = removes it. FAIL_INVALID if there is no
 * such setting, or if the value is not valid together with the environment and the file. FAIL_NOT_FOUND if a setting
 * to remove is not stored. */
int settings_keep(const char *env_file, const char *name, const char *value, struct fail *f);

/* --- the manager ------------------------------------------------------------------------------------------------- */
/* The config must outlive the manager. Does not contact or write anything. */
struct manager *manager_new(struct loop *loop, const struct config *config);
/* Frees the manager and its conversations within milliseconds. Callbacks of operations are not called. Sessions and
 * their runs continue until their lease is over or another server adopts them. Sessions that are still starting are
 * removed without waiting. Accepts NULL, returns NULL. */
struct manager *manager_free(struct manager *m);
/* Makes manager_free() remove all sessions, since no server will adopt them. */
void manager_leave_nothing(struct manager *m);
/* Call it before manager_free(). fn is called once: when the store has written everything, or after ms milliseconds. */
void manager_settle(struct manager *m, uint64_t ms, void (*fn)(void *ctx), void *ctx);

void op_cancel(struct op *op);
/* Interrupts a run that manager_run() has started, as Ctrl-C does; on_done reports its end. Has no effect on other
 * kinds of operations. */
void op_interrupt(struct op *op);

/* --- conversations ----------------------------------------------------------------------------------------------- */
/* A conversation owns sessions and exports, and has its own limit of sessions. A manager serves any number of
 * conversations. */
struct conversation_spec {
	const char *id;	       /* NULL = the user's own id: HUSK_THREAD_ID, or the one in the state folder */
	uint64_t max_sessions; /* 0 = CONTAINER_MAX_SESSIONS_PER_THREAD */
};
/* Does not read or write anything yet. */
struct conversation *conversation_open(struct manager *m, const struct conversation_spec *spec);
/* Cancels the conversation's operations. Its sessions continue, as after the end of a server. manager_free() frees
 * conversations that are still open. Accepts NULL, returns NULL. */
struct conversation *conversation_close(struct conversation *c);
/* Call it when a client becomes active. Sessions that a former server of this conversation left behind are then taken
 * over in the background. */
void conversation_wake(struct conversation *c);

/* fn is called from the loop each time a create or a take-over has added a session to the conversation. There can be
 * any number of watches. A watch may be removed from inside its fn, and ends with its conversation. */
void conversation_watch(struct conversation *c, void (*fn)(void *ctx), void *ctx);
/* Removes the watch that was added with the same arguments. */
void conversation_unwatch(struct conversation *c, void (*fn)(void *ctx), void *ctx);
/* A client (run_request.client) has disconnected: its runs are interrupted, and their results are dropped. */
void conversation_end_client(struct conversation *c, uint64_t client);

/* Its id; NULL until it is known (the user's own id is read from disk when it is first needed). */
const char *conversation_id(const struct conversation *c);
/* A session of this manager. */
struct session_place {
	const char *id, *conversation; /* full ids */
};
/* Finds a session that this manager has: by its full id, or by its name or the beginning of its id within the
 * conversation. False if there is none, or if several match. */
bool manager_find_session(struct conversation *c, const char *word, struct session_place *ret);

/* Sets the handler for the tasks of one face; see below. It replaces the handler of the same face. */
struct task_handler;
void conversation_take_tasks(struct conversation *c, const struct task_handler *handler);

/* Calls fn for each session of the conversation in this manager, oldest first. */
void conversation_each_session(struct conversation *c, void (*fn)(void *ctx, const struct session_info *info),
			       void *ctx);
/* True while the manager searches for sessions of servers that have ended. Until the search ends,
 * conversation_each_session() may not list all sessions. */
bool conversation_is_adopting(const struct conversation *c);
struct await_request {
	/* complete: the search is over; false if it took longer than 5 s. */
	void (*on_done)(void *ctx, bool complete);
	void *ctx;
};
/* Waits for the end of that search. Never fails. */
struct op *manager_await(struct conversation *c, const struct await_request *req);

/* --- create ------------------------------------------------------------------------------------------------------ */
struct create_result {
	const struct session_info *session; /* NULL if none was created */
	const struct session_info *active;
	size_t n_active;
	const char *note; /* a note about the session's network; NULL = none */
};
struct create_request {
	const struct runtime *runtime;
	const char *name;   /* usable instead of the id within the conversation; NULL = none */
	const char *labels; /* for programs that manage sessions: a JSON object of texts; NULL = none */
	const char *image;  /* the name of one of CONTAINER_IMAGES; NULL = the runtime's own */
	const char *on;	    /* a host of CONTAINER_POOL; NULL = any */
	bool network;
	const struct strv *allow; /* the hosts that it may reach (rules.h); NULL = all that the operator allows */
	const struct dependency *dependencies;
	size_t n_dependencies;
	struct limits_wanted limits; /* limits that differ from the settings */
	const struct env_var *env;   /* for its interpreter and all its commands */
	size_t n_env;
	struct secret_names secrets; /* their variables have placeholders */
	const char *cwd; /* where they start: absolute, below ~ or $HOME, or relative to /workspace; may be NULL */
	/* Live output of the installer; may be NULL. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* f NULL: `session` is ready. If a limit is reached, `active` lists the sessions of the conversation on
	 * all servers. */
	void (*on_done)(void *ctx, const struct create_result *result, const struct fail *f);
	void *ctx;
};
struct op *manager_create(struct conversation *c, const struct create_request *req, struct fail *f);

/* --- execute ----------------------------------------------------------------------------------------------------- */
/* Maximum number of commands that run at the same time because their callers no longer wait for them. */
#define RUNS_ASIDE_MAX 8
struct task_info;
/* Maximum size of a terminal. */
#define RUN_ROWS_MAX 200
#define RUN_COLS_MAX 500
/* Maximum size of one input, in bytes. */
#define RUN_INPUT_MAX (32u << 10)
struct run_request {
	enum run_kind kind; /* RUN_CODE or RUN_TERMINAL */
	const char *session_id;
	const char *text; /* the cell or the command; NULL with `run` */
	size_t len;
	uint64_t run;	/* instead of a text: waits for an active run, and reports only new output. 0 = none */
	bool interrupt; /* with `run`: interrupts it */
	/* The owner of the run: 0 = the conversation; else the number of an attached client. No other client can
	 * wait for a client's run. The result of such a run does not report other runs, and theirs do not report
	 * it. */
	uint64_t client;
	/* The program that starts the run, as text for people: "mcp", "rest", "husk repl". UTF-8, cut to 64 bytes;
	 * NULL = unknown. */
	const char *by;
	/* The caller does not wait: on_done comes at once, with the number and ENDING_RUNNING. Readers of the journal
	 * and manager_run_record() get the output and the end. Results of other runs never report a detached run.
	 * PID 1 keeps it until its end was fetched by manager_run_record(), by a reader of this run, or by a request
	 * with its number, or until the store has its output. Timeouts are those of has_wait. With `run`: input and
	 * interrupt are sent, and the run stays as it is. */
	bool detached;
	/* With `run`: input for its prompt, with named keys in < > (<Ctrl-C>, <Tab>, <Up>). For a command, the
	 * input is typed, followed by Enter unless it ends with a named key. NULL = none. */
	const char *input;
	size_t input_len;
	/* The run may prompt for input. The answer comes at a prompt (ENDING_WAITING) or after wait_seconds. A
	 * command gets a terminal. */
	bool interactive;
	int rows, cols; /* size of that terminal; 0 = 24 and 80 */
	/* The cell runs in this branch, which is made if there is none. NULL = in the main interpreter. */
	const char *branch;
	bool restart;  /* runs the cell on a new interpreter; the text may then be empty */
	bool has_wait; /* the answer comes after at most wait_seconds: ENDING_RUNNING if the run is still active */
	uint64_t wait_seconds; /* at most 300 */
	/* Without has_wait: 1 to 300. With has_wait: any number; 0 = as long as the session lives. */
	uint64_t timeout_seconds;
	const struct env_var *env; /* for this run alone */
	size_t n_env;
	/* Working directory of a command, for this run alone: absolute, below ~ or $HOME, or relative to the
	 * directory in which the last command ended. NULL = that directory. */
	const char *cwd;
	/* Called instead of on_done if the run is still active after task_after_seconds: it is a task now. NULL =
	 * the run never becomes a task. If the task cannot be stored, on_done follows at the run's end. */
	void (*on_task)(void *ctx, const struct task_info *task);
	const char *task_face; /* the face that words the task, as in task_handler; NULL = "mcp" */
	uint64_t task_after_seconds;
	/* The run has this number; may be NULL. May be called from inside manager_run(). */
	void (*on_started)(void *ctx, uint64_t number);
	/* Live output, cleaned; may be NULL. stream is 1 (stdout) or 2 (stderr). */
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	/* Live displays; may be NULL. If it is set, on_output gets all text exactly once. Text beyond the limit of
	 * live output follows before on_done; a line says how many bytes were cut. If it is NULL, on_output gets
	 * only a part of long output. */
	void (*on_display)(void *ctx, const struct shown_display *display);
	/* result is set if something ran, with any ending; else f says why nothing ran. */
	void (*on_done)(void *ctx, const struct run_result *result, const struct fail *f);
	/* If set, called instead of on_done for a result with more than RUN_RESULT_HEAVY bytes, which would block
	 * the loop. The callee moves the content out of the result and turns it into text in a worker job. */
	void (*on_heavy)(void *ctx, struct run_result *result);
	void *ctx;
};
struct op *manager_run(struct conversation *c, const struct run_request *req, struct fail *f);

/* --- a terminal for a person -------------------------------------------------------------------------------------- */
/* A shell, or another program, on its own pseudo-terminal in a session, beside other runs. It starts in the directory
 * in which the last command ended. Output and input are passed on unchanged. The terminal ends when its program ends,
 * when op_cancel() hangs up, or when the connection to its container breaks. So terminals end with their server.
 *
 * Both directions use credit, and nothing blocks. terminal_write() accepts at most TERMINAL_WINDOW bytes that
 * on_written has not reported yet. Report the bytes from on_bytes with terminal_taken(), or the output stops after a
 * few hundred KiB. */
#define TERMINAL_WINDOW (64u << 10)
#define TERMINAL_SIDE_MAX 4096
struct terminal_end {
	int exit_code;	    /* exit code of its program; 128 + n for a signal */
	int signal;	    /* 0 = none */
	bool oom;	    /* it was killed because it exceeded the session's memory */
	const char *detail; /* a sentence with details; NULL = none */
};
struct terminal_request {
	const char *session_id;
	const char *const *command; /* with its arguments; NULL = an interactive shell */
	size_t n_command;
	bool is_run;		   /* for the log: a program, not a person's terminal */
	const char *cwd;	   /* as for a run; NULL = where the last command ended */
	const struct env_var *env; /* in addition to the session's */
	size_t n_env;
	/* TERM of the person's terminal; replaced if the session does not know it. NULL = the default. */
	const char *term;
	int rows, cols;
	void (*on_bytes)(void *ctx, const void *data, size_t n);
	/* If set, `command` is required, and its program has three pipes instead of a terminal. This function gets
	 * its stderr, which must also be reported with terminal_taken(). */
	void (*on_error_bytes)(void *ctx, const void *data, size_t n);
	/* This number of written bytes has arrived at the terminal. */
	void (*on_written)(void *ctx, size_t n);
	/* Called once. end says how the program ended; if end is NULL, f says what failed. */
	void (*on_end)(void *ctx, const struct terminal_end *end, const struct fail *f);
	void *ctx;
};
struct op *manager_terminal(struct conversation *c, const struct terminal_request *req, struct fail *f);
/* These functions take an op of manager_terminal(), until on_end is called. If too much input is unacknowledged,
 * terminal_write() writes nothing and returns a negative number. */
int terminal_write(struct op *op, const void *data, size_t n);
/* Only for a program with pipes. The first ends its input. The second sends a signal to its process group (HUP, INT,
 * QUIT, TERM, USR1, USR2, TSTP, CONT). */
void terminal_end_input(struct op *op);
void terminal_signal(struct op *op, int signo);
void terminal_taken(struct op *op, size_t n);
void terminal_resize(struct op *op, int rows, int cols);

/* --- ports ------------------------------------------------------------------------------------------------------ */
struct port_request {
	const char *session_id;
	uint16_t port; /* a server in the session listens on it, on its loopback address or on all */
	/* It is connected. Returns a stream socket, which the manager owns and joins to it; -1 = none: on_end follows. */
	int (*on_open)(void *ctx);
	/* Called once, at last. f NULL: both sides have sent everything. CAUSE_PORT_REFUSED: there is no server, or it
	 * accepts no connections. */
	void (*on_end)(void *ctx, const struct fail *f);
	void *ctx;
};
/* Connects to a server in a session, also if the session has no network. The session counts as used while bytes
 * pass. Cancelling the op resets the connection. */
struct op *manager_port(struct conversation *c, const struct port_request *req, struct fail *f);

/* --- tasks ------------------------------------------------------------------------------------------------------- */
/* A task is a run with a handle instead of a waiting caller. The handle is random, known only to its conversation, and
 * stored before it is delivered. The result can be fetched any number of times, also from the next server, until
 * the session's lifetime is over. The results of other runs do not report the task's end. */
struct task_info {
	const char *id;
	const char *session_id;
	uint64_t run;
	enum run_kind kind;
	uint64_t timeout_seconds;
	enum task_state state;
	uint64_t created_ms, changed_ms; /* wall clock */
	uint64_t ttl_ms;		 /* from its creation; UINT64_MAX = unlimited */
	const char *result;		 /* TASK_ENDED: the text that task_handler.word returned */
};
/* A face's functions for its tasks of a conversation, called from the loop. */
struct task_handler {
	const char *face; /* stored with each task; must be valid as long as the conversation. NULL = "mcp" */
	/* Returns the text for the end of a run or, if result is NULL, for the reason in f. The text is stored; the
	 * manager owns it. A worker job may call this function, with a copy of `config`. */
	char *(*word)(const struct config *config, const struct task_info *task, const struct run_result *result,
		      const struct fail *f);
	const struct config *config;
	/* Called when the task has ended. */
	void (*on_change)(void *ctx, const struct task_info *task);
	void *ctx;
};
struct task_request {
	const char *id;
	bool cancel; /* ends the task's run; no effect on a task that has ended */
	/* f: there is no such task in this conversation, it has expired, its session is gone, or its state is
	 * unknown. */
	void (*on_done)(void *ctx, const struct task_info *task, const struct fail *f);
	void *ctx;
};
struct op *manager_task(struct conversation *c, const struct task_request *req, struct fail *f);

/* --- records of runs ---------------------------------------------------------------------------------------------- */
/* Records of runs (model/record.h) can be read any number of times. Reading has no side effects, except that PID 1 may
 * forget a detached run whose end was read. The oldest output is dropped above RECORD_MAX_SIZE (all sessions) and
 * RECORD_MAX_SIZE_PER_SESSION; number, times and ending stay. */
struct runs_request {
	const char *session_id;
	uint64_t before; /* only runs with a lower number; 0 = all */
	size_t limit;	 /* at most RUNS_PAGE_MAX */
	/* Newest first. more: there are older runs. */
	void (*on_done)(void *ctx, const struct run_record *v, size_t n, bool more, const struct fail *f);
	void *ctx;
};
#define RUNS_PAGE_MAX 1000
struct op *manager_runs(struct conversation *c, const struct runs_request *req, struct fail *f);
struct run_record_request {
	const char *session_id;
	uint64_t number;
	bool peek; /* PID 1 keeps the end of a detached run: it may have to be read again, even by another server */
	/* f: CAUSE_NO_RUN if there is no record of this run. */
	void (*on_done)(void *ctx, const struct run_record *record, const struct fail *f);
	void *ctx;
};
struct op *manager_run_record(struct conversation *c, const struct run_record_request *req, struct fail *f);
/* Keeps beside the record what a model was shown of the run: the content of an answer, a JSON array as text. Only the
 * last answers are kept. Without a session or a record of this name and number, nothing happens. */
void manager_note_shown(struct conversation *c, const char *session, uint64_t run, const char *content);

/* --- journals ------------------------------------------------------------------------------------------------------ */
/* The journal of a session is the sequence of its events, with rising numbers. Any number of readers read it, each from
 * its own place. A reader never delays a session or another reader. */
/* The reader gets only events from now on. */
#define JOURNAL_NOW UINT64_MAX
struct journal_request {
	struct conversation *conversation; /* only its sessions; NULL = those of all conversations */
	const char *tenant;		   /* without conversation: only its sessions; NULL = those of all tenants */
	const char *session_id;		   /* full id of a session of this manager; NULL = all sessions */
	uint64_t run;			   /* only events of this run; 0 = all events. Needs session_id */
	bool peek;			   /* with run: as in struct run_record_request */
	uint64_t after; /* only events after this number or, without session_id, position; 0 = from the beginning */
	void (*on_event)(void *ctx, const struct journal_event *event);
	/* Events are missing: they were dropped, or another server had them. Reading continues after them. */
	void (*on_gap)(void *ctx, const struct journal_gap *gap);
	void *ctx;
};
struct journal_reader;
/* Callbacks come from the loop, never from inside this function. After session.ended, a reader of one session gets
 * nothing more. NULL with f if this manager does not have the session, or the conversation must not see it; manager_info()
 * first takes over the session of a server that ended. */
struct journal_reader *manager_read_journal(struct manager *m, const struct journal_request *req, struct fail *f);
/* While a reader is paused it is not called. If the events that it needs are dropped meanwhile, it gets one gap. */
void journal_reader_pause(struct journal_reader *reader, bool pause);
/* The number of the last event that the reader has passed or, without session_id, its position. A later reader continues
 * there. */
uint64_t journal_reader_place(const struct journal_reader *reader);
/* Whether events are there that the reader will get in the next turns of the loop. */
bool journal_reader_is_behind(const struct journal_reader *reader);
/* May be called from inside its callbacks. After conversation_close() and manager_free() a reader is not called any
 * more, but must still be freed. Accepts NULL, returns NULL. */
struct journal_reader *journal_reader_free(struct journal_reader *reader);

/* --- status ------------------------------------------------------------------------------------------------------ */
struct run_info {
	uint64_t number;
	enum run_kind kind;
	const char *state; /* queued, running, waiting (for input), ended (not delivered yet) */
	uint64_t age_ms;
};
struct session_details {
	struct session_info session;
	uint64_t left_seconds;	    /* until its maximum lifetime ends; UINT64_MAX = no limit */
	uint64_t idle_left_seconds; /* until it ends because it is idle */
	const struct run_info *runs;
	size_t n_runs;
	const struct session_status *status;
	const struct usage *usage; /* samples of this and earlier requests; NULL = none */
};
struct info_request {
	const char *session_id;
	bool keep_alive;    /* the request counts as use of the session */
	const char *labels; /* new labels of the session, stored before the answer; NULL = unchanged */
	void (*on_done)(void *ctx, const struct session_details *details, const struct fail *f);
	void *ctx;
};
struct op *manager_info(struct conversation *c, const struct info_request *req, struct fail *f);

/* A bash command that installs these packages in a running session, to be run like any other. The caller owns it. NULL
 * with f: CAUSE_NOT_SUPPORTED, or a bad name or version. */
char *manager_packages_command(const struct runtime *runtime, const struct dependency *v, size_t n, struct fail *f);

/* --- query ------------------------------------------------------------------------------------------------------- */
/* Maximum size of the code in a query, in bytes. */
#define QUERY_TEXT_MAX (256u << 10)
struct query_request {
	enum query_kind kind;
	const char *session_id;
	const char *code; /* UTF-8 without NULs, at most QUERY_TEXT_MAX bytes */
	size_t len;
	size_t cursor; /* position in code points; not used by QUERY_IS_COMPLETE */
	bool detail;   /* QUERY_INSPECT: full details (such as the source), not the short form */
	/* f is a failure that also prevents a run from starting, or one of these:
	 * CAUSE_INTERPRETER_BUSY with FAIL_BUSY: a cell runs or has just started; reported at once.
	 * CAUSE_INTERPRETER_BUSY with FAIL_TIMEOUT: the interpreter did not answer for some seconds.
	 * CAUSE_CANNOT_ANSWER, CAUSE_OLD_SESSION (FAIL_INVALID): the runtime or its image does not support it. */
	void (*on_done)(void *ctx, const struct query_answer *answer, const struct fail *f);
	void *ctx;
};
/* Asks the session's interpreter, in its current state, for completions, for help, or whether code is complete. Does
 * not delay or interrupt a cell, and leaves nothing behind: no run, no value, no log. It counts as use. */
struct op *manager_query(struct conversation *c, const struct query_request *req, struct fail *f);

/* --- files ------------------------------------------------------------------------------------------------------- */
struct copy_request {
	const char *session_id;
	const struct import_item *imports; /* NULL = exports is set instead */
	const char *const *exports;
	size_t n;
	bool temporary; /* exports are not kept: see copy_result.content */
	bool unseen;	/* the journal does not mention the files */
	/* Folders of the host that may be used beside those of the settings; NULL = none. Borrowed for the call. */
	const struct strv *allowed;
	/* One line of progress; may be NULL. */
	void (*on_progress)(void *ctx, const char *line);
	/* All entries were tried, one after the other; or f says why none was tried. */
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_copy(struct conversation *c, const struct copy_request *req, struct fail *f);

struct exports_request {
	/* Exports come newest first. The page starts after this export; 0 and NULL = the first page. */
	uint64_t before_ms;
	const char *before_id;
	size_t limit;
	void (*on_done)(void *ctx, const struct export_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_exports(struct conversation *c, const struct exports_request *req, struct fail *f);
/* Writes an export to a path of the host. Existing files are replaced, and a folder is merged into an existing one.
 * Nothing is written outside the path; skipped entries are added to the notices. Blocks. -1 with f. */
int export_bring(const struct export_info *info, const char *to, struct strv *notices, struct fail *f);

struct read_request {
	const char *id;
	size_t max; /* a larger export is not read: data is NULL */
	/* info NULL and f NULL: there is no export with this id in this conversation. */
	void (*on_done)(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_read_export(struct conversation *c, const struct read_request *req, struct fail *f);

/* Finds an export of any conversation of a tenant. */
struct open_export_request {
	const char *tenant; /* NULL = of any tenant */
	const char *id;
	/* Instead of the id: the newest export of this path, or of a directory above it. FAIL_INVALID: the path is
	 * not one of a session. `stored` is then the size of the file, and `directory` is false. */
	const char *conversation, *session, *path;
	bool content; /* also opens its content */
	/* info NULL and f NULL: the tenant has no export with this id. fd is the content, open for reading at its
	 * start, which the callee owns; -1 = not wanted. */
	void (*on_done)(void *ctx, const struct export_info *info, int fd, const struct fail *f);
	void *ctx;
};
struct op *manager_open_export(struct manager *m, const struct open_export_request *req, struct fail *f);

/* --- the full text of a long run ---------------------------------------------------------------------------------- */
struct run_text_request {
	const char *session_id;
	uint32_t number;
	size_t max; /* a longer text is not read: text is NULL, and size is its length */
	/* text NULL, size 0 and f NULL: there is no such text. */
	void (*on_done)(void *ctx, const char *text, size_t n, uint64_t size, const struct fail *f);
	void *ctx;
};
struct op *manager_run_text(struct conversation *c, const struct run_text_request *req, struct fail *f);

/* --- stop -------------------------------------------------------------------------------------------------------- */
struct stop_request {
	const char *session_id;
	/* f NULL: the container is gone. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_stop(struct conversation *c, const struct stop_request *req, struct fail *f);

/* --- administration: all conversations, all servers --------------------------------------------------------------- */
struct listed_session {
	const char *id;
	const char *name; /* "-" = none */
	const char *runtime;
	const char *conversation;
	/* starting, running, busy, warm, ended; left = its server has ended, and the next server can adopt it */
	const char *state;
	const char *owner;		   /* "process 123 on host" */
	const char *cause;		   /* why it ended; "" = it has not ended */
	const char *transport;		   /* how its server reaches it: "socket", "exec"; "-" = unknown */
	const char *host;		   /* its host in a pool; "" = not in a pool */
	const char *node, *phase, *reason; /* of its pod; "" = not reported, or not in a cluster */
	uint64_t age_seconds, idle_seconds, left_seconds; /* left: until its maximum lifetime ends */
	uint64_t idle_left_seconds;			  /* until it ends because it is idle */
	const char *rules;				  /* of its gate (rules_to_text()); NULL = it has none */
	bool network, has_memory;
	uint64_t memory; /* bytes */
	struct limits limits;
};
struct list_request {
	bool all;   /* also lists ended sessions; the list has at most the newest thousand sessions */
	bool brief; /* the engine is not asked: memory is unknown, and sessions that died unnoticed are listed */
	/* Oldest first. f: nothing could be listed. unsure: the engine did not answer, so the list comes from the
	 * store alone. */
	void (*on_done)(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
			const struct fail *unsure);
	void *ctx;
};
struct op *manager_list_all(struct manager *m, const struct list_request *req, struct fail *f);

struct stop_all_request {
	const char *session_id; /* or a name or the beginning of an id (handle.h); NULL = all */
	/* n sessions were stopped; f says why others were not. */
	void (*on_done)(void *ctx, size_t n, const struct fail *f);
	void *ctx;
};
/* Removes containers, no matter which client uses them. */
struct op *manager_stop_all(struct manager *m, const struct stop_all_request *req, struct fail *f);

struct collected {
	char *const *containers; /* names of removed containers */
	size_t n;
	size_t sessions; /* sessions that were found to have ended */
	size_t exports;	 /* deleted exports, older than EXPORTS_MAX_AGE_DAYS */
};
struct collect_request {
	/* `collected` lists what was done, even if f is set. */
	void (*on_done)(void *ctx, const struct collected *collected, const struct fail *f);
	void *ctx;
};
/* Cleans up after servers that have ended. */
struct op *manager_collect_garbage(struct manager *m, const struct collect_request *req, struct fail *f);

/* A run in the history of a session. */
struct executed {
	uint64_t seq;
	const char *tool;
	uint64_t started_ms, ended_ms; /* ended 0 = not known yet */
	const char *ending;	       /* NULL = not known yet */
	uint64_t in_bytes, out_bytes;
	const char *env; /* names of variables, separated by blanks; NULL = none */
	/* With history_request.texts, and if the settings keep them (HISTORY_KEEPS_CODE); NULL otherwise. */
	const char *text;
	const char *const *outputs; /* JSON arrays of notebook outputs, in the order of the results */
	size_t n_outputs;
};
struct history {
	bool known;	       /* the store has a row of the session */
	const char *id, *name; /* from that row */
	const char *conversation, *runtime, *state, *cause;
	const char *owner;	   /* the current or last server, as text for people */
	const char *owner_address; /* of another server, for other machines; "" = not known */
	uint64_t created_ms, ended_ms;
	const struct executed *v;
	size_t n;
	bool cut; /* there are more texts than one answer can hold */
};
struct history_request {
	const char *session_id; /* or a name or the beginning of an id (handle.h); NULL = the latest */
	size_t limit;		/* at most this number of runs, the latest ones */
	bool texts;		/* also the code and the outputs */
	void (*on_done)(void *ctx, const struct history *history, const struct fail *f);
	void *ctx;
};
struct op *manager_history(struct manager *m, const struct history_request *req, struct fail *f);

/* Checks that the log was not changed after it was written. */
struct verify_request {
	const char *session_id; /* NULL = all, and the records without a session */
	/* Called for one session after the other; session "" is the store itself. */
	void (*on_verdict)(void *ctx, const char *session, const struct log_verdict *verdict);
	/* f: why some sessions could not be checked. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_verify(struct manager *m, const struct verify_request *req, struct fail *f);

/* Exports of all conversations, or of the given one; see manager_exports(). */
struct op *manager_all_exports(struct manager *m, const char *conversation, const struct exports_request *req,
			       struct fail *f);
struct delete_export_request {
	const char *id;	    /* of any conversation */
	const char *tenant; /* of this tenant; NULL = of any */
	/* f NULL: the export is deleted, and so is its content unless another export has the same content. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_delete_export(struct manager *m, const struct delete_export_request *req, struct fail *f);

/* An image of an older build of Husk that neither this build nor its settings use. */
struct image_info {
	const char *name;
	uint64_t size;	  /* bytes, including layers that it shares with others */
	uint64_t created; /* seconds since the epoch */
};
struct images_request {
	uint64_t before; /* seconds since the epoch: only older images are listed */
	void (*on_done)(void *ctx, const struct image_info *v, size_t n, const struct fail *f);
	void *ctx;
};
/* NULL with f if the engine's client cannot be run. */
struct op *manager_old_images(struct manager *m, const struct images_request *req, struct fail *f);
struct remove_image_request {
	const char *name; /* name of an image that manager_old_images() lists */
	/* FAIL_BUSY: a container uses the image. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
/* NULL with f if manager_old_images() would not list the image. */
struct op *manager_remove_image(struct manager *m, const struct remove_image_request *req, struct fail *f);
/* The id of the user's own conversation; NULL if there is none yet. The caller owns it. Reads a file. */
char *manager_own_conversation(const struct config *config);

/* --- health ------------------------------------------------------------------------------------------------------ */
struct ready_request {
	/* The failure of each, or NULL if it answers. */
	void (*on_done)(void *ctx, const struct fail *store, const struct fail *engine);
	void *ctx;
};
/* Appends the counters and the present state of this server as Prometheus text. */
struct buf;
void manager_metrics(struct manager *m, struct buf *out);
/* Asks the store and the engine for a sign of life. */
struct op *manager_ready(struct manager *m, const struct ready_request *req, struct fail *f);

/* --- the program's own helpers ------------------------------------------------------------------------------------ */
/* Removes containers of a server that has exited: `husk reap`. Blocks; returns an exit code. */
int manager_reap(const char *engine, const char *program, char *const *containers);

/* --- doctor ------------------------------------------------------------------------------------------------------- */
enum check_status {
	CHECK_OK,
	CHECK_WARN, /* sessions work, but there is something to know or to do */
	CHECK_FAIL, /* sessions do not work, or not as safely as promised */
};

/* One finding. Each string is one line of clean UTF-8. */
struct check {
	char *name; /* "engine", "image python" */
	enum check_status status;
	char *detail;
	char *fix; /* what to do; NULL = nothing */
};

struct doctor;

struct doctor_request {
	const char *env_file; /* as for config_load(); must outlive the doctor */
	bool try_sessions;    /* create a session of each runtime, run a cell, run the probe, stop it */
	bool verbose;	      /* one check for each forbidden act, not only for each group of acts */
	/* Called for each check, in a fixed order, as soon as all checks before it are known. */
	void (*on_check)(void *ctx, const struct check *check);
	/* Called once, after the last check. Do not free the doctor from inside either callback. */
	void (*on_done)(void *ctx);
	void *ctx;
};

/* Checks everything that sessions need. All queries are sent at once, and none takes longer than 10 s. Changes
 * nothing unless try_sessions is set. */
struct doctor *doctor_new(struct loop *loop, const struct doctor_request *request);
/* May be called at any time; a session that is being tried is removed. Accepts NULL, returns NULL. */
struct doctor *doctor_free(struct doctor *d);

#endif
