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
 * Errors. A function that can fail returns NULL or a struct husk_error, which you free. Nothing aborts, exits or
 * prints: a NULL for a required argument, a closed manager or a structure without its size gives an error of kind
 * "invalid" and cause "misuse". (If the system has no memory left, the process ends, as most programs do.) An
 * out-parameter is set only on success.
 *
 * A run that fails is not an error: code that raised, timed out or ran out of memory gives a result that says so. An
 * error means that nothing ran, or that the outcome is unknown.
 *
 * Ownership. You own what a call returns: free it with the function of its name. Every husk_*_free() accepts NULL.
 * Strings that you pass are read before the call returns and not kept. Text is UTF-8, without NULs.
 *
 * Structures that you fill begin with their size: set .size = sizeof(struct husk_…) and leave the rest zero for the
 * defaults. Later versions add fields at the end; programs compiled earlier keep working. Structures that you receive
 * may also grow at the end, so never copy or embed one, nor take its size.
 *
 * Waiting. Every call blocks until it is done. struct husk_wait gives it a deadline and a way to cancel it from any
 * thread; its work is then interrupted and cleaned up in the background. A cancelled create leaves no container; an
 * interrupted run keeps the session's variables.
 *
 * Threads. Any thread may call any function at any time, on the same manager and even on the same session: runs of
 * one session are queued, those of several sessions run in parallel. Callbacks run in the calling thread while it
 * waits, and may call libhusk. All managers of a process share one private thread, which exists while a manager is
 * open. It blocks all signals except SIGCHLD, whose handler is installed process-wide while the docker client runs.
 * Programs that reap their own children by pid are not affected; a program that waits for any child would reap ours.
 *
 * fork. A child that calls exec immediately needs no care: descriptors are close-on-exec. Any other child must not
 * use the managers that it inherited (calls, including husk_close(), do nothing and return cause "forked"), but may
 * open its own. While such a child lives, other servers treat the parent's sessions as owned, even after the parent
 * has ended. Fork before opening if you can.
 *
 * Ending. husk_close() ends the sessions that were created through the manager, unless .keep_sessions is set. If the
 * process ends without it, they end with their lease (SESSION_LEASE_SECONDS).
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
	/* The kind of failure: "invalid" (wrong arguments), "not_found", "foreign" (of another conversation),
	 * "limit", "busy", "timeout" (the deadline of the call), "cancelled", "engine", "image" (missing), "died"
	 * (the session is gone), "store", "install", "internal". */
	const char *kind;
	/* The cause, more specific: a word such as "no_engine", "no_session", "limit_sessions", "oom",
	 * "install_failed". This library adds "misuse", "closed", "forked", "deadline", "cancelled". "none" if
	 * there is nothing more specific. Programs decide by kind and cause, never by the sentences. */
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
	 * XDG_CONFIG_HOME, which say where records and files are. They override the other two sources. An unknown
	 * name is an error. */
	const char *const *values;
	/* Not 0: also read the settings in the environment, … */
	int use_environment;
	/* … and in $XDG_CONFIG_HOME/husk/.env, … */
	int use_file;
	/* … or in this file, which must then exist. NULL = the default file. */
	const char *file;
	/* Not 0: husk_close() leaves its sessions running until their lease ends, so another process with the same
	 * conversation can take them over. */
	int keep_sessions;
	/* The husk program, for a helper that cleans up after a process that has ended. NULL = husk on the PATH,
	 * if it exists. */
	const char *program;
};

/* settings NULL: all defaults; reads neither environment nor file. Makes no connection yet. */
struct husk_error *husk_open(const struct husk_settings *settings, struct husk **ret) HUSK_MUST_CHECK;
/* Ends the sessions that the manager created (see .keep_sessions) and waits for that, at most 10 s. Calls that
 * wait in other threads return with cause "closed". The manager and its conversations are then gone, even if an
 * error is returned. */
struct husk_error *husk_close(struct husk *h);

/* The languages of this build: NULL past the last; never freed. */
struct husk_language {
	const char *name;      /* "python" */
	const char *title;     /* "Python" */
	const char *extension; /* ".py" */
	const char *image;
};
const struct husk_language *husk_language(size_t i);

/* --- waiting ------------------------------------------------------------------------------------------------------ */

struct husk_cancel;

/* Cancels calls: those that wait with it now, and later ones. */
struct husk_error *husk_cancel_new(struct husk_cancel **ret) HUSK_MUST_CHECK;
/* From any thread. */
void husk_cancel(struct husk_cancel *cancel);
/* No call may still wait with it. */
void husk_cancel_free(struct husk_cancel *cancel);

struct husk_wait {
	size_t size;
	/* Milliseconds from now until the call fails with kind "timeout", cause "deadline". 0 = none. The timeout
	 * of a run is different: it applies inside the session and gives a result. */
	uint64_t deadline_ms;
	/* Kind "cancelled", cause "cancelled". NULL = none. */
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
	/* Up to 128 letters, digits, '.', '_' and '-'. NULL = a new conversation, unless … */
	const char *id;
	/* … this is not 0: the conversation of this user, which `husk mcp` serves too. */
	int own;
	/* 0 = CONTAINER_MAX_SESSIONS_PER_THREAD. */
	uint64_t max_sessions;
};
/* A conversation with an id, and the user's own, takes over sessions that an earlier process of the same
 * conversation left. */
struct husk_error *husk_conversation_open(struct husk *h, const struct husk_conversation_options *options,
					  struct husk_conversation **ret) HUSK_MUST_CHECK;
/* Its sessions stay until husk_close(), which closes conversations too. */
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
	const char *owner;     /* "process 123 on box" */
	uint64_t left_seconds; /* until its hard lifetime ends */
	uint64_t memory;       /* bytes; 0 = unknown */
	/* Limits: bytes of memory, bytes of its home directory on disk, CPUs. */
	uint64_t memory_limit, disk_limit;
	double cpus;
	const char *name; /* NULL = no name */
};
void husk_session_free(struct husk_session *s);

struct husk_create {
	size_t size;
	const char *language; /* or an alias; NULL = "python" */
	/* "name" or "name==version", ends with NULL: installed before the session starts. A set is kept, so the
	 * next session with it starts quickly. */
	const char *const *dependencies;
	/* 0 = as CONTAINER_NETWORK_ENABLED says, 1 = on (refused if the setting forbids it), -1 = off. */
	int network;
	/* The installer's output, as it arrives. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	void *ctx;
	/* "NAME=value", ends with NULL: for the interpreter and all commands. Values are not stored. */
	const char *const *env;
	/* Working directory: absolute, or relative to /workspace; NULL = /workspace. */
	const char *cwd;
	/* Limits in bytes of memory, bytes of its home directory on disk, and CPUs: 0 = as the settings say;
	 * values above CONTAINER_MEMORY_MAX, CONTAINER_DISK_MAX and CONTAINER_CPUS_MAX are refused. */
	uint64_t memory, disk;
	double cpus;
	/* The name of one of CONTAINER_IMAGES, instead of the language's own image; NULL = the language's. */
	const char *image;
	/* Can be used instead of the id, within the conversation and for husk's verbs: letters, digits, '.', '_'
	 * and '-', a letter first, at most 25; NULL = none. */
	const char *name;
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
/* One session of the list. */
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
	/* For a command, only for this run: absolute, or relative to where the last command ended; NULL = there. */
	const char *cwd;
	/* Not 0: the call returns after at most wait_seconds (at most 300). If the run has not ended by then, the
	 * result has the ending "running", its number and the output so far. Its .timeout may then be any number;
	 * by default it is the session's lifetime. */
	int has_wait;
	uint64_t wait_seconds;
	/* The number of an existing run to wait for, instead of code or a command, which must be NULL. Waits for
	 * wait_seconds, or as long as a run may take by default, and returns only new output. 0 = none. */
	uint64_t run;
	/* Not 0, with .run: ends it. */
	int interrupt;
	/* Not 0, for husk_execute(): starts a new interpreter first; the code may be NULL. Variables are gone,
	 * files are kept. */
	int restart;
	/* Not 0: the run may prompt for input. The call returns at a prompt, with the ending "waiting" and the
	 * prompt, or after wait_seconds (by default as long as a run may take). Answer with .run and .input. A
	 * command has a terminal of rows and cols; 0 = 24 and 80. */
	int interactive;
	int rows, cols;
	/* With .run: the input, at most 32 KiB; keys by name, such as <Ctrl-C>, <Tab>, <Up>. Enter follows, but
	 * not after a key. */
	const char *input;
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
	const char *error_type; /* NULL if the code raised no error; then the next two are NULL too */
	const char *error_message;
	const char *error_traceback;
	int has_exit_code; /* for commands, and kernels that ended themselves */
	int exit_code;
	int signal; /* 0 = none */
	uint64_t duration_ms;
	uint64_t memory_peak, memory_limit; /* bytes; 0 = unknown */
	uint64_t oom_kills;		    /* processes that were killed for memory during the run */
	int kernel_restarted;		    /* variables are gone, files are kept */
	int session_gone;		    /* everything is gone */
	const char *notice;		    /* the remaining lifetime of the session, if it is short; NULL otherwise */
	/* Runs without a waiter that have ended since, also of an earlier process. Each is reported once. */
	size_t n_earlier;
	const struct husk_result *const *earlier;
	uint64_t run;	  /* its number in the session */
	int queued;	  /* not begun yet */
	uint64_t behind;  /* the run that it had to wait for, if nobody waits for that one; 0 = none */
	const char *lost; /* variables lost with an interpreter, as far as they were known; NULL if none were lost */
	/* Numbers of the runs that continue without a waiter. */
	size_t n_running;
	const uint64_t *running;
	/* For the ending "waiting": the prompt, and whether typed text is hidden. NULL otherwise. */
	const char *prompt;
	int password;
};
void husk_result_free(struct husk_result *r);
/* The value's plain text; "" if there is none. Valid as long as the result. Accepts NULL. */
const char *husk_text(const struct husk_result *r);

/* Runs code in the session's interpreter: the last expression is the value, as in a notebook. */
struct husk_error *husk_execute(struct husk_conversation *c, const char *session, const char *code,
				const struct husk_run *options, const struct husk_wait *wait,
				struct husk_result **ret) HUSK_MUST_CHECK;
/* Runs a command with bash in the session's container; its directory, exported variables and background jobs
 * persist. */
struct husk_error *husk_terminal(struct husk_conversation *c, const char *session, const char *command,
				 const struct husk_run *options, const struct husk_wait *wait,
				 struct husk_result **ret) HUSK_MUST_CHECK;

/* --- the status of a session ---------------------------------------------------------------------------------------- */

struct husk_variable {
	const char *name, *type;
	const char *shape; /* "" if it is not informative */
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
	const struct husk_session *session; /* not yours to free */
	uint64_t left_seconds;		    /* until its hard lifetime ends; UINT64_MAX = unlimited */
	uint64_t idle_left_seconds;	    /* until it ends because it is idle */
	size_t n_runs;
	const struct husk_run_state *const *runs;
	int answered;		       /* 0: the container did not answer in time, and nothing below is known */
	uint64_t memory, memory_limit; /* bytes; 0 = unknown */
	size_t n_disks;
	const struct husk_disk *const *disks;
	int has_variables; /* the interpreter has reported them; */
	int fresh;	   /* 0: a cell is running, and they are from before it */
	size_t n_variables;
	const struct husk_variable *const *variables; /* the largest first */
	uint64_t more_variables;		      /* not listed */
};
/* The status of a session, without running code in it. keep_alive not 0: counts as use. husk_look() and
 * husk_look_free() are the HUSK_0.1 names; the struct keeps its name. */
struct husk_error *husk_status(struct husk_conversation *c, const char *session, int keep_alive,
			       const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_status_free(struct husk_look *l);
struct husk_error *husk_look(struct husk_conversation *c, const char *session, int keep_alive,
			     const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_look_free(struct husk_look *l);

/* --- queries to an interpreter ------------------------------------------------------------------------------------ */

/* Queries of editors and consoles. The interpreter answers from its current state and records nothing: no
 * execution, no value, no history. A query counts as use of the session. Only an idle interpreter can answer:
 * while code runs, or when some begins, the error has kind "busy", cause "interpreter_busy"; a query that takes
 * seconds is ended (kind "timeout"). Runtimes without queries give cause "cannot_answer", sessions from older
 * images "old_session". Positions count Unicode code points. At most 256 KiB of code. */

/* Possible replacements for the code from start to before end. */
struct husk_completion {
	size_t start, end;
	size_t n;
	const char *const *matches;
	int more; /* not 0: there are more */
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
/* detail not 0: everything, such as the source. */
struct husk_error *husk_inspect(struct husk_conversation *c, const char *session, const char *code, size_t cursor,
				int detail, const struct husk_wait *wait, struct husk_help **ret) HUSK_MUST_CHECK;

/* Whether the code is complete, or continues on the next line. */
struct husk_wholeness {
	const char *state;  /* "complete", "incomplete", "invalid" (no further lines can make it valid), "unknown" */
	const char *indent; /* for "incomplete": the indent of the next line; "" otherwise */
};
void husk_wholeness_free(struct husk_wholeness *w);
struct husk_error *husk_is_complete(struct husk_conversation *c, const char *session, const char *code,
				    const struct husk_wait *wait, struct husk_wholeness **ret) HUSK_MUST_CHECK;

/* --- files -------------------------------------------------------------------------------------------------------- */

/* One thing to import. Exactly one of: content; source; session and path. */
struct husk_import {
	size_t size;
	const void *content; /* its bytes */
	size_t n;
	const char *
		source; /* a file or folder of the host that this process can read; IMPORT_ALLOWED_DIRS limits only models */
	const char *session,
		*path;		 /* an export of another session of the conversation, even if that session has ended */
	const char *destination; /* NULL = /workspace and the name of the source; required with content */
};

/* The result of one entry. */
struct husk_file {
	int success;
	const char *source; /* imports: as requested */
	const char *path;   /* in the session, absolute */
	uint64_t bytes;
	const struct husk_error *error; /* the reason of a failure; NULL on success. Not yours to free */
	/* For exports that succeeded; NULL otherwise: */
	const char *id, *session, *name, *mime, *hash, *uri;
	/* The hash is the BLAKE2b of the file at host_path, 256 bits, in hex. For more than 4 MiB it is the
	 * SHA-256 of the concatenated binary SHA-256s of its 4 MiB pieces. */
	const char *host_path; /* size of the file, or of a tar of the folder */
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
	/* One line of progress. */
	void (*on_progress)(void *ctx, const char *line);
	void *ctx;
};
/* Copies files and folders into the session. Each entry is tried; a failed entry does not stop the others. */
struct husk_error *husk_import(struct husk_conversation *c, const char *session, const struct husk_import *const *items,
			       size_t n, const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret) HUSK_MUST_CHECK;
/* Copies files and folders out of the session, to outlive it; relative paths are below /workspace. */
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
/* Reads an export by the id from husk_export() or husk_exports(). More than max bytes (0 = 64 MiB) is refused with
 * "limit": read the file at its host_path. */
struct husk_error *husk_read_export(struct husk_conversation *c, const char *id, size_t max,
				    const struct husk_wait *wait, struct husk_content **ret) HUSK_MUST_CHECK;

/* --- for the person whose sessions these are: all conversations, all processes -------------------------------------- */

/* The sessions of all conversations. husk_everything() is its HUSK_0.1 name. */
struct husk_error *husk_list_all(struct husk *h, const struct husk_wait *wait,
				 struct husk_sessions **ret) HUSK_MUST_CHECK;
struct husk_error *husk_everything(struct husk *h, const struct husk_wait *wait,
				   struct husk_sessions **ret) HUSK_MUST_CHECK;
/* Removes a session, even if it is in use; NULL = all of them. ret_n (may be NULL): how many. */
struct husk_error *husk_remove(struct husk *h, const char *session, const struct husk_wait *wait, size_t *ret_n);
/* Cleans up after processes that ended. ret_n (may be NULL): how many containers were removed. */
struct husk_error *husk_collect(struct husk *h, const struct husk_wait *wait, size_t *ret_n);

/* The executions of a session, by number. */
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
/* The last executions, at most limit (0 = 100). */
struct husk_error *husk_history(struct husk *h, const char *session, size_t limit, const struct husk_wait *wait,
				struct husk_history **ret) HUSK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
