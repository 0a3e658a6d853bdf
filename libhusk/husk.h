/* libhusk: sessions for C programs, and for languages that can call C.
 *
 * A manager (struct husk) creates sessions: interpreters and shells, each in its own hardened container, as `husk mcp`
 * creates them for a model. Variables, imports and files persist between calls.
 *
 *	struct husk *h = NULL;
 *	struct husk_conversation *c = NULL;
 *	struct husk_session *s = NULL;
 *	struct husk_result *r = NULL;
 *	struct husk_error *e = husk_open(NULL, &h);
 *	if (!e)
 *		e = husk_conversation_open(h, NULL, &c);
 *	if (!e)
 *		e = husk_create(c, NULL, NULL, &s);
 *	if (!e)
 *		e = husk_execute(c, s->id, "6 * 7", NULL, NULL, &r);
 *	if (e)
 *		fprintf(stderr, "%s: %s\n%s\n", e->cause, e->message, e->hint);
 *	else
 *		puts(husk_text(r));
 *	husk_error_free(e);
 *	husk_result_free(r);
 *	husk_session_free(s);
 *	husk_error_free(husk_close(h));
 *
 * RULES
 *
 * Errors. A function that can fail returns NULL on success or a struct husk_error, which you free. No function aborts,
 * exits or prints: a NULL for a required argument, a closed manager or a structure without its size gives an error of
 * kind "invalid" and cause "misuse". (If the system has no memory left, the process ends, as most programs do.) An
 * out-parameter is set only on success.
 *
 * A run that fails is not an error: code that raised, timed out or ran out of memory gives a result that says so. An
 * error means that nothing ran, or that the outcome is unknown.
 *
 * Ownership. You own what a call returns. Free it with the husk_*_free() function of its type, which accepts NULL.
 * Strings that you pass are read before the call returns and not kept. Text is UTF-8, without NULs.
 *
 * Structures that you fill begin with their size: set .size = sizeof(struct husk_…) and leave the rest zero for the
 * defaults. Later versions add fields at the end; programs compiled earlier keep working. Structures that you receive
 * may also grow at the end, so never copy or embed one, and do not use its sizeof.
 *
 * Waiting. Every call blocks until it is done. struct husk_wait gives a call a deadline and a way to cancel it from any
 * thread. The work of such a call is interrupted and cleaned up in the background. A cancelled create leaves no
 * container; an interrupted run keeps the session's variables.
 *
 * Threads. Any thread may call any function at any time, on the same manager and even on the same session: runs of
 * one session are queued, runs of several sessions execute in parallel. Callbacks run in the calling thread while it
 * waits, and may call libhusk. All managers of a process share one private thread, which exists while a manager is
 * open. The thread blocks all signals except SIGCHLD, whose handler is installed process-wide while the docker client
 * runs.
 * Programs that reap their own children by pid are not affected. A program that waits for any child would also reap
 * the children of libhusk.
 *
 * fork. A child that calls exec immediately needs no care: descriptors are close-on-exec. Any other child must not
 * use the managers that it inherited (calls, including husk_close(), do nothing and return cause "forked"), but may
 * open its own. While such a child lives, other servers treat the parent's sessions as owned, even after the parent
 * has ended. Fork before opening if you can.
 *
 * Ending. husk_close() ends the sessions that were created through the manager, unless .keep_sessions is set. If the
 * process ends without husk_close(), the sessions end with their lease (SESSION_LEASE_SECONDS).
 *
 * Versions. Exported symbols are versioned (HUSK_0.1, HUSK_0.2) and begin with husk_. A released symbol keeps its
 * meaning. */
#ifndef HUSK_H
#define HUSK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUSK_MUST_CHECK __attribute__((__warn_unused_result__))

/* "0.1.0": the version of the running library, which may be newer than this header. */
const char *husk_version(void);

/* --- errors ------------------------------------------------------------------------------------------------------- */

struct husk_error {
	/* The kind of failure: "invalid" (wrong arguments), "not_found", "foreign" (belongs to another conversation),
	 * "limit", "busy", "timeout" (the deadline of the call), "cancelled", "engine", "image" (missing), "died"
	 * (the session is gone), "store", "install", "internal". */
	const char *kind;
	/* The cause, which is more specific than the kind: a word such as "no_engine", "no_session",
	 * "limit_sessions", "oom", "install_failed"; "none" if there is nothing more specific. This library adds
	 * "misuse", "closed", "forked", "deadline", "cancelled". Programs should test the kind and the cause, never
	 * the sentences. */
	const char *cause;
	/* One sentence for people: what happened. */
	const char *message;
	/* The next step; "" if there is no hint. */
	const char *hint;
};
void husk_error_free(struct husk_error *e);

/* --- managers ----------------------------------------------------------------------------------------------------- */

struct husk;

struct husk_settings {
	size_t size;
	/* "NAME=value", ends with NULL: settings as husk(1) lists them, and XDG_STATE_HOME, XDG_DATA_HOME and
	 * XDG_CONFIG_HOME, which say where records and files are. These values override the environment and the
	 * file. An unknown name is an error. */
	const char *const *values;
	/* Not 0: also read settings from the environment. */
	int use_environment;
	/* Not 0: also read settings from a file, by default $XDG_CONFIG_HOME/husk/.env. */
	int use_file;
	/* Read this file instead, which must exist; .use_file is then not needed. NULL = the default file. */
	const char *file;
	/* Not 0: husk_close() leaves its sessions running until their lease ends, so another process with the same
	 * conversation can take them over. */
	int keep_sessions;
	/* The husk program, for a helper that cleans up after a process that has ended. NULL = husk on the PATH,
	 * if it exists. */
	const char *program;
};

/* If settings is NULL, all settings have their defaults, and neither the environment nor a file is read. Does not
 * connect to the engine yet. */
struct husk_error *husk_open(const struct husk_settings *settings, struct husk **ret) HUSK_MUST_CHECK;
/* Ends the sessions that the manager created (see .keep_sessions) and waits for that, at most 10 s. Calls that
 * wait in other threads return with cause "closed". The manager and its conversations are then gone, even if an
 * error is returned. */
struct husk_error *husk_close(struct husk *h);

/* A language of this build, from husk_language(), which returns NULL past the last one. Never freed. */
struct husk_language {
	const char *name;      /* "python" */
	const char *title;     /* "Python" */
	const char *extension; /* ".py" */
	const char *image;
};
const struct husk_language *husk_language(size_t i);

/* --- waiting ------------------------------------------------------------------------------------------------------ */

struct husk_cancel;

/* A cancel object cancels the calls that wait with it now, and later ones. */
struct husk_error *husk_cancel_new(struct husk_cancel **ret) HUSK_MUST_CHECK;
/* May be called from any thread. */
void husk_cancel(struct husk_cancel *cancel);
/* No call may be waiting with the object any more. */
void husk_cancel_free(struct husk_cancel *cancel);

struct husk_wait {
	size_t size;
	/* Milliseconds from now until the call fails with kind "timeout", cause "deadline". 0 = no deadline. The
	 * timeout of a run is different: it applies inside the session and gives a result. */
	uint64_t deadline_ms;
	/* Cancels the call, which fails with kind "cancelled", cause "cancelled". NULL = none. */
	struct husk_cancel *cancel;
	/* Called about ten times a second in the calling thread while the call waits; a return value other than 0
	 * cancels. For interpreters that must check for signals. NULL = not called. */
	int (*on_idle)(void *ctx);
	void *ctx;
};

/* --- conversations ------------------------------------------------------------------------------------------------ */

struct husk_conversation;

/* The owner of sessions, exports and limits. */
struct husk_conversation_options {
	size_t size;
	/* Up to 128 letters, digits, '.', '_' and '-'. NULL = a new conversation, unless .own is set. */
	const char *id;
	/* Not 0: the user's own conversation, which `husk mcp` serves too. */
	int own;
	/* 0 = CONTAINER_MAX_SESSIONS_PER_THREAD. */
	uint64_t max_sessions;
};
/* A conversation with an id, and the user's own, takes over sessions that an earlier process of the same
 * conversation left. */
struct husk_error *husk_conversation_open(struct husk *h, const struct husk_conversation_options *options,
					  struct husk_conversation **ret) HUSK_MUST_CHECK;
/* The conversation's sessions stay until husk_close(), which closes conversations too. */
struct husk_error *husk_conversation_close(struct husk_conversation *c);

/* --- sessions ----------------------------------------------------------------------------------------------------- */

struct husk_session {
	const char *id;
	const char *language;
	const char *
		status; /* "starting", "adopting", "running", "dead"; in husk_list_all() "starting", "running", "busy", "left" */
	const char *dependencies; /* JSON: name to installed version; NULL if there are none */
	uint64_t age_seconds, idle_seconds;
	/* Only in husk_list_all(): */
	const char *conversation;
	const char *owner;     /* "process 123 on host" */
	uint64_t left_seconds; /* until its maximum lifetime ends */
	uint64_t memory;       /* bytes; 0 = unknown */
	/* Limits: bytes of memory, bytes of its home directory on disk, CPUs. */
	uint64_t memory_limit, disk_limit;
	double cpus;
	const char *name; /* NULL = no name */
	/* Only in husk_create(): hosts that the operator does not allow, as a sentence; NULL = none was left out. */
	const char *note;
};
void husk_session_free(struct husk_session *s);

struct husk_create {
	size_t size;
	const char *language; /* or an alias; NULL = "python" */
	/* "name" or "name==version", ends with NULL: installed before the session starts. An installed set is kept,
	 * so the next session with the same set starts quickly. */
	const char *const *dependencies;
	/* 0 = as CONTAINER_NETWORK_ENABLED says, 1 = on (refused if the setting forbids it), -1 = off. */
	int network;
	/* Called with the installer's output as it arrives. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	void *ctx;
	/* "NAME=value", ends with NULL: for the interpreter and all commands. Values are not stored. */
	const char *const *env;
	/* Working directory: absolute, below ~ or $HOME, or relative to /workspace; NULL = /workspace. */
	const char *cwd;
	/* Limits in bytes of memory, bytes of its home directory on disk, and CPUs: 0 = as the settings say;
	 * values above CONTAINER_MEMORY_MAX, CONTAINER_DISK_MAX and CONTAINER_CPUS_MAX are refused. */
	uint64_t memory, disk;
	double cpus;
	/* The name of one of CONTAINER_IMAGES, instead of the language's own image; NULL = the language's. */
	const char *image;
	/* A name that can be used instead of the id, within the conversation and with husk's verbs: at most 25
	 * letters, digits, '.', '_' and '-', a letter first; NULL = no name. */
	const char *name;
	/* The only hosts that the session reaches, ends with NULL: names, "*.example.com", "name:port" and sets such as
	 * "@python" (docs/network.md). Hosts that the operator does not allow are left out. NULL = as `network` says;
	 * not together with `network`. */
	const char *const *network_hosts;
	/* Names of secrets (husk secret set), ends with NULL. The variable of each name has a placeholder, which requests to
	 * the secret's hosts can use; the value never enters the session. */
	const char *const *secrets;
};
/* The session is running when this returns. options NULL = a Python session. */
struct husk_error *husk_create(struct husk_conversation *c, const struct husk_create *options,
			       const struct husk_wait *wait, struct husk_session **ret) HUSK_MUST_CHECK;
/* The container is gone when this returns. */
struct husk_error *husk_stop(struct husk_conversation *c, const char *session, const struct husk_wait *wait);

struct husk_sessions {
	size_t n;
	const struct husk_session *const *v;
	/* Why the list may be incomplete; NULL if it is complete. */
	const char *unsure;
};
void husk_sessions_free(struct husk_sessions *s);
/* The conversation's sessions in this manager, oldest first. */
struct husk_error *husk_list(struct husk_conversation *c, const struct husk_wait *wait,
			     struct husk_sessions **ret) HUSK_MUST_CHECK;
/* Returns one session of that list. */
struct husk_error *husk_info(struct husk_conversation *c, const char *session, const struct husk_wait *wait,
			     struct husk_session **ret) HUSK_MUST_CHECK;

/* --- runs --------------------------------------------------------------------------------------------------------- */

struct husk_run {
	size_t size;
	/* Time limit in seconds, 1 to 300. At the limit the run is interrupted, and its variables are kept. 0 =
	 * CONTAINER_EXECUTION_TIMEOUT_SECONDS. */
	uint64_t timeout;
	/* Live output in whole lines, or a partial line after 50 ms; stream is 1 (stdout) or 2 (stderr). The
	 * result has all of the output again. */
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	void *ctx;
	/* "NAME=value", ends with NULL: only for this run. */
	const char *const *env;
	/* Working directory of a command, only for this run: absolute, below ~ or $HOME, or relative to the directory
	 * in which the last command ended; NULL = that directory. */
	const char *cwd;
	/* Not 0: the call returns after at most wait_seconds (0 to 300). If the run has not ended by then, the result
	 * has the ending "running", the run's number and the output so far. .timeout may then be up to a week; by
	 * default it is the session's lifetime. */
	int has_wait;
	uint64_t wait_seconds;
	/* The number of an existing run to wait for, instead of code or a command, which must be NULL. Waits for
	 * wait_seconds, or as long as a run may take by default, and returns only new output. 0 = none. */
	uint64_t run;
	/* Not 0, with .run: ends that run. */
	int interrupt;
	/* Not 0, for husk_execute(): starts a new interpreter first; the code may be NULL. Variables are gone,
	 * files are kept. */
	int restart;
	/* Not 0: the run may prompt for input. The call returns at a prompt, with the ending "waiting" and the
	 * prompt, or after wait_seconds (by default as long as a run may take). Answer with .run and .input. A
	 * command has a terminal of rows and cols; 0 = 24 and 80. */
	int interactive;
	int rows, cols;
	/* With .run: the input for that run, at most 32 KiB. Keys are written by name, such as <Ctrl-C>, <Tab>, <Up>.
	 * Enter is added at the end, unless the input ends with a key. */
	const char *input;
	/* For husk_execute(): runs in this branch of the interpreter, which is made if there is none. Since 0.2. */
	const char *branch;
};

/* A copy of a session's interpreter: a checkpoint, which the session keeps, or a branch, which runs beside it. */
struct husk_checkpoint {
	const char *name; /* NULL = the session made it by itself */
	uint64_t run;	  /* variables are as they were after this run; 0 = before the first */
	uint64_t age_ms;
	uint64_t bytes; /* of memory that only this copy holds */
	size_t n_lost;
	const char *const *lost; /* what it lacks, such as threads and connections */
	const char *state;	 /* of a branch: "starting", "ready" or "busy"; NULL = it is a checkpoint */
	size_t n_runs;
	const uint64_t *runs; /* of a branch: numbers of the runs that only it has run */
};

/* The gaps of an interpreter after a checkpoint took its place. */
struct husk_restored {
	const char *name; /* NULL = the session had made the checkpoint by itself */
	uint64_t run;	  /* variables are as they were after this run; 0 = before the first */
	size_t n_missing;
	const uint64_t *missing; /* numbers of the runs whose effects are gone */
	size_t n_lost;
	const char *const *lost;
	size_t n_files;
	const char *const *files; /* in /workspace, that have changed since; files are never restored */
	int more_files;		  /* not 0: there are more such files */
};

/* A value or display in one or several forms. */
struct husk_part {
	const char *type; /* "text/plain", "image/png", "text/html", … */
	const char *data; /* text; base64 for binary types */
	size_t n;	  /* bytes of data */
};
struct husk_bundle {
	size_t n;
	const struct husk_part *const *parts;
};

struct husk_result {
	/* "ok", "error", "timeout", "interrupted", "oom", "kernel_died", "container_died", "session_lost";
	 * "running" or "waiting" if the run has not ended. */
	const char *ending;
	/* One sentence: what happened and what remains; NULL if there is none. */
	const char *detail;
	/* The cause of an ending that did not come from inside the container; "none" otherwise. */
	const char *cause;
	const char *out, *err;	       /* printed text, cut to MAX_STDOUT_CHARS and MAX_STDERR_CHARS; never NULL */
	uint64_t out_bytes, err_bytes; /* bytes printed */
	int out_truncated, err_truncated;
	const struct husk_bundle *value; /* value of the last expression; NULL if there was none */
	size_t n_displays;
	const struct husk_bundle *const *displays; /* pictures, tables and other displays, in order */
	uint64_t displays_dropped;
	const char *error_type; /* NULL if the code raised no error; the next two are NULL then, too */
	const char *error_message;
	const char *error_traceback;
	int has_exit_code; /* set for commands, cells that called exit, and interpreters that ended themselves */
	int exit_code;
	int signal; /* 0 = none */
	uint64_t duration_ms;
	uint64_t memory_peak, memory_limit; /* bytes; 0 = unknown */
	uint64_t oom_kills;		    /* processes that were killed for memory during the run */
	int kernel_restarted;		    /* variables are gone, files are kept */
	int session_gone;		    /* everything is gone */
	const char *notice;		    /* the remaining lifetime of the session, if it is short; NULL otherwise */
	/* Runs that have ended since while no call waited for them, also those of an earlier process. Each is
	 * reported once. */
	size_t n_earlier;
	const struct husk_result *const *earlier;
	uint64_t run;	  /* the run's number in the session */
	int queued;	  /* not begun yet */
	uint64_t behind;  /* the run ahead of this one in the queue, if no call waits for that run; 0 = none */
	const char *lost; /* variables lost with an interpreter, as far as they were known; NULL if none were lost */
	/* Numbers of the runs that continue although no call waits for them. */
	size_t n_running;
	const uint64_t *running;
	/* For the ending "waiting": the prompt, and whether typed text is hidden. NULL otherwise. */
	const char *prompt;
	int password;
	const struct husk_restored *restored; /* a checkpoint took the place of the interpreter; NULL = none did */
	const char *branch;		      /* that the cell ran in; NULL = the main interpreter */
};
void husk_result_free(struct husk_result *r);
/* The value's plain text; "" if there is none. Valid as long as the result. Accepts NULL. */
const char *husk_text(const struct husk_result *r);

/* Runs code in the session's interpreter: the last expression is the value, as in a notebook. */
struct husk_error *husk_execute(struct husk_conversation *c, const char *session, const char *code,
				const struct husk_run *options, const struct husk_wait *wait,
				struct husk_result **ret) HUSK_MUST_CHECK;
/* Runs a command with bash in the session's container. The working directory, exported variables and background jobs
 * persist. */
struct husk_error *husk_terminal(struct husk_conversation *c, const char *session, const char *command,
				 const struct husk_run *options, const struct husk_wait *wait,
				 struct husk_result **ret) HUSK_MUST_CHECK;

/* --- the status of a session ---------------------------------------------------------------------------------------- */

struct husk_variable {
	const char *name, *type;
	const char *shape; /* "" if the value has none */
	uint64_t bytes;	   /* 0 = unknown */
};
struct husk_disk {
	const char *path;
	uint64_t used, size; /* bytes */
};
struct husk_run_state {
	uint64_t number;
	const char *kind;  /* "code", "terminal" */
	const char *state; /* "queued", "running", "waiting" (for input), "ended" (not reported yet) */
	uint64_t age_ms;
};
struct husk_look {
	const struct husk_session *session; /* freed with this struct */
	uint64_t left_seconds;		    /* until its maximum lifetime ends; UINT64_MAX = unlimited */
	uint64_t idle_left_seconds;	    /* until it ends because it is idle */
	size_t n_runs;
	const struct husk_run_state *const *runs;
	int answered;		       /* 0: the container did not answer in time, and the fields below are unknown */
	uint64_t memory, memory_limit; /* bytes; 0 = unknown */
	size_t n_disks;
	const struct husk_disk *const *disks;
	int has_variables; /* not 0: the interpreter has reported its variables */
	int fresh;	   /* 0: a cell is running, and the variables are those before it */
	size_t n_variables;
	const struct husk_variable *const *variables; /* the largest first */
	uint64_t more_variables;		      /* number of variables that are not listed */
	size_t n_checkpoints;
	const struct husk_checkpoint *const *checkpoints; /* the oldest first */
	const char *no_checkpoints;			  /* why there are none, or no new ones; NULL = there may be */
	size_t n_branches;
	const struct husk_checkpoint *const *branches; /* the oldest first */
};
/* Returns the status of a session without running code in it. If keep_alive is not 0, this counts as use of the
 * session. husk_look() and husk_look_free() are the names in HUSK_0.1; the struct keeps its name. */
struct husk_error *husk_status(struct husk_conversation *c, const char *session, int keep_alive,
			       const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_status_free(struct husk_look *l);
struct husk_error *husk_look(struct husk_conversation *c, const char *session, int keep_alive,
			     const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_look_free(struct husk_look *l);

/* --- queries to an interpreter ------------------------------------------------------------------------------------ */

/* Queries of editors and consoles. The interpreter answers from its current state and records nothing: no
 * execution, no value, no history. A query counts as use of the session. Only an idle interpreter can answer: if code
 * is running, or begins to run, the error has kind "busy", cause "interpreter_busy". A query that takes seconds ends
 * with kind "timeout". Runtimes without queries give cause "cannot_answer", sessions from older images "old_session".
 * Positions count Unicode code points. The code may have at most 256 KiB. */

/* Possible replacements for the code from start up to, but not including, end. */
struct husk_completion {
	size_t start, end;
	size_t n;
	const char *const *matches;
	int more; /* not 0: there are more matches */
};
void husk_completion_free(struct husk_completion *c);
struct husk_error *husk_complete(struct husk_conversation *c, const char *session, const char *code, size_t cursor,
				 const struct husk_wait *wait, struct husk_completion **ret) HUSK_MUST_CHECK;

/* Help for the name at the cursor. */
struct husk_help {
	int found;
	const char *text; /* NULL if nothing was found */
	const char *html; /* the same as HTML; NULL if the interpreter has none */
};
void husk_help_free(struct husk_help *h);
/* If detail is not 0, the help includes everything, such as the source. */
struct husk_error *husk_inspect(struct husk_conversation *c, const char *session, const char *code, size_t cursor,
				int detail, const struct husk_wait *wait, struct husk_help **ret) HUSK_MUST_CHECK;

/* Whether code is complete or continues on the next line. */
struct husk_wholeness {
	const char *state;  /* "complete", "incomplete", "invalid" (no further lines can make it valid), "unknown" */
	const char *indent; /* for "incomplete": the indent of the next line; "" otherwise */
};
void husk_wholeness_free(struct husk_wholeness *w);
struct husk_error *husk_is_complete(struct husk_conversation *c, const char *session, const char *code,
				    const struct husk_wait *wait, struct husk_wholeness **ret) HUSK_MUST_CHECK;

/* --- checkpoints -------------------------------------------------------------------------------------------------- */

/* Python and R sessions keep copies of their interpreter (docs/undo.md). Files are not part of them. These calls fail with kind
 * "busy", cause "interpreter_busy" while a cell runs; "invalid", "cannot_answer" if the session cannot have checkpoints;
 * "invalid" for a wrong name and for the ninth one; "not_found" if there is no such checkpoint, with a hint that lists
 * those that there are. */

/* The answer of each of these calls. */
struct husk_checkpoints {
	const struct husk_checkpoint *saved;  /* by husk_checkpoint(); NULL otherwise */
	const struct husk_restored *restored; /* by husk_undo() and husk_keep(); NULL otherwise */
	const char *note;		      /* the same in words; NULL otherwise */
	size_t n;
	const struct husk_checkpoint *const *v; /* all that there are now, the oldest first */
	size_t n_branches;
	const struct husk_checkpoint *const *branches; /* likewise */
	size_t n_dropped;
	const char *const *dropped; /* by husk_keep(): names of the other branches */
};
void husk_checkpoints_free(struct husk_checkpoints *c);
/* Makes a checkpoint. The name has 1 to 64 letters, digits, '-', '_' and '.', a letter first; a checkpoint of the same
 * name is replaced. */
struct husk_error *husk_checkpoint(struct husk_conversation *c, const char *session, const char *name,
				   const struct husk_wait *wait, struct husk_checkpoints **ret) HUSK_MUST_CHECK;
/* Returns to the checkpoint of this name, or, if the name is NULL, to the one that was made after this run. */
struct husk_error *husk_undo(struct husk_conversation *c, const char *session, const char *name, uint64_t run,
			     const struct husk_wait *wait, struct husk_checkpoints **ret) HUSK_MUST_CHECK;
/* Drops a checkpoint, chosen in the same way, or the branch of this name. */
struct husk_error *husk_checkpoint_drop(struct husk_conversation *c, const char *session, const char *name,
					uint64_t run, const struct husk_wait *wait,
					struct husk_checkpoints **ret) HUSK_MUST_CHECK;
/* Copies the interpreter into branches, which run beside it: names are separated by commas. All are made, or none. */
struct husk_error *husk_branch(struct husk_conversation *c, const char *session, const char *names,
			       const struct husk_wait *wait, struct husk_checkpoints **ret) HUSK_MUST_CHECK;
/* Makes a branch the main interpreter. The former one and the other branches end. */
struct husk_error *husk_keep(struct husk_conversation *c, const char *session, const char *name,
			     const struct husk_wait *wait, struct husk_checkpoints **ret) HUSK_MUST_CHECK;

/* --- files -------------------------------------------------------------------------------------------------------- */

/* One thing to import. Set exactly one of: content; source; session and path; session and variable. The last copies a
 * variable of another session, which must be alive, into the variable `destination` (NULL = of the same name). */
struct husk_import {
	size_t size;
	const void *content; /* the bytes of the file */
	size_t n;
	const char *
		source; /* a file or folder of the host that this process can read; IMPORT_ALLOWED_DIRS limits only models */
	const char *session,
		*path;		 /* an export of another session of the conversation, even if that session has ended */
	const char *destination; /* NULL = /workspace and the name of the source; required with content */
	const char *variable;
};

/* The result of one entry. */
struct husk_file {
	int success;
	const char *source; /* imports: as requested */
	const char *path;   /* in the session, absolute */
	uint64_t bytes;
	const struct husk_error *error; /* why it failed; NULL on success. Do not free it */
	/* For exports that succeeded; NULL otherwise: */
	const char *id, *session, *name, *mime, *hash, *uri;
	/* The hash is the BLAKE2b of the file at host_path, 256 bits, in hex. For more than 4 MiB it is the
	 * SHA-256 of the concatenated binary SHA-256s of its 4 MiB pieces. */
	const char *host_path; /* path of the file, or of a tar of the folder */
	int folder;
	uint64_t stored;     /* bytes of the file at host_path */
	uint64_t created_ms; /* since the epoch */
	size_t n_notices;
	const char *const *notices; /* what was left out, with the reason */
};
struct husk_files {
	size_t n;
	const struct husk_file *const *v;
	int success; /* total */
};
void husk_files_free(struct husk_files *f);

struct husk_copy {
	size_t size;
	/* Called with one line of progress. */
	void (*on_progress)(void *ctx, const char *line);
	void *ctx;
};
/* Copies files and folders into the session. Each entry is tried; a failed entry does not stop the others. */
struct husk_error *husk_import(struct husk_conversation *c, const char *session, const struct husk_import *const *items,
			       size_t n, const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret) HUSK_MUST_CHECK;
/* Copies files and folders out of the session. The copies outlive the session. Relative paths are below /workspace. */
struct husk_error *husk_export(struct husk_conversation *c, const char *session, const char *const *paths, size_t n,
			       const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret) HUSK_MUST_CHECK;
/* Exports of the conversation, newest first, at most limit (0 = 100). */
struct husk_error *husk_exports(struct husk_conversation *c, size_t limit, const struct husk_wait *wait,
				struct husk_files **ret) HUSK_MUST_CHECK;

/* The content of an export; for a folder, a tar of it. */
struct husk_content {
	const void *data; /* never NULL */
	size_t n;
};
void husk_content_free(struct husk_content *content);
/* Reads an export by its id from husk_export() or husk_exports(). An export of more than max bytes (0 = 64 MiB) is
 * refused with kind "limit"; read the file at its host_path instead. */
struct husk_error *husk_read_export(struct husk_conversation *c, const char *id, size_t max,
				    const struct husk_wait *wait, struct husk_content **ret) HUSK_MUST_CHECK;

/* --- for the user who owns the sessions: all conversations, all processes ----------------------------------------- */

/* Lists the sessions of all conversations. husk_everything() is the name of this function in HUSK_0.1. */
struct husk_error *husk_list_all(struct husk *h, const struct husk_wait *wait,
				 struct husk_sessions **ret) HUSK_MUST_CHECK;
struct husk_error *husk_everything(struct husk *h, const struct husk_wait *wait,
				   struct husk_sessions **ret) HUSK_MUST_CHECK;
/* Removes a session, even if it is in use; NULL = all sessions. ret_n, if not NULL, is set to the number removed. */
struct husk_error *husk_remove(struct husk *h, const char *session, const struct husk_wait *wait, size_t *ret_n);
/* Cleans up after processes that ended. ret_n, if not NULL, is set to the number of containers that were removed. */
struct husk_error *husk_collect(struct husk *h, const struct husk_wait *wait, size_t *ret_n);

/* One execution in a session. */
struct husk_execution {
	uint64_t number;
	const char *kind;	       /* "code", "terminal", … */
	uint64_t started_ms, ended_ms; /* since the epoch; ended 0 = not known yet */
	const char *ending;	       /* NULL = not known yet */
	uint64_t in_bytes, out_bytes;
};
struct husk_history {
	size_t n;
	const struct husk_execution *const *v;
};
void husk_history_free(struct husk_history *r);
/* Returns the last executions of a session, at most limit (0 = 100). */
struct husk_error *husk_history(struct husk *h, const char *session, size_t limit, const struct husk_wait *wait,
				struct husk_history **ret) HUSK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
