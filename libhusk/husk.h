/* libhusk: sandboxes for C programs, and for languages that can call C.
 *
 * A manager (struct husk) makes sessions: interpreters and shells, each in a hardened container of its own, as `husk mcp` makes them
 * for a model. Variables, imports and files stay alive from one call to the next.
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
 * Errors. A function that can fail returns a struct husk_error, which is yours to free, or NULL. Nothing aborts, exits or prints: also a
 * NULL where something is needed, a manager that was closed and a structure without its size come back as an error, of kind "invalid" and
 * cause "misuse". (When the system has no memory left at all, the process ends, as it does in most programs.) An out-parameter is set on
 * success only.
 *
 * A run that ended badly is no error: code that raised, timed out or ran out of memory gives a result that says so. An error means that
 * nothing ran, or that nobody knows.
 *
 * Ownership. What a call gives is yours: free it with the function of its name. Every husk_*_free() accepts NULL. Strings that you pass
 * are read before the call returns and not kept. Text is UTF-8, without NULs.
 *
 * Structures that you fill begin with their size: set .size = sizeof(struct husk_…), leave the rest zero for the defaults. Later versions
 * add fields at the end; a program that was compiled before goes on as it was. Structures that you are given may grow at the end too, so
 * never copy or embed one, nor take its size.
 *
 * Waiting. Every call blocks until it is done. struct husk_wait gives it a deadline and a way to cancel it, from any thread; what it had
 * begun is then interrupted and cleaned up behind the scenes. A cancelled create leaves no container; an interrupted run keeps the
 * session's variables.
 *
 * Threads. Any thread may call any function at any time, on the same manager and even on the same session: runs of one session are
 * queued, those of several run side by side. Callbacks run in the thread that made the call, while it waits, and may call libhusk.
 * All managers of a process share one private thread, which is there while a manager is open; it blocks all signals but SIGCHLD, whose
 * handler is installed process-wide while the docker client runs (programs that reap their own children by pid are not disturbed; ones
 * that wait for any child at all would take ours away).
 *
 * fork. A child that calls exec at once has nothing to heed: descriptors are close-on-exec. One that goes on may use none of the
 * managers that it inherited (calls return cause "forked", husk_close() included, and do nothing), and may open its own. While such a
 * child lives, other servers consider the parent's sessions as owned, also after the parent has ended. Fork before opening where you can.
 *
 * Ending. husk_close() ends the sessions that were made through the manager, unless .keep_sessions is set. If the process ends without
 * it, they end with their lease (SESSION_LEASE_SECONDS).
 *
 * Versions. Exported symbols are versioned (HUSK_0.1, HUSK_0.2) and begin with husk_. A symbol, once released, keeps its meaning. */
#ifndef HUSK_H
#define HUSK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HUSK_MUST_CHECK __attribute__((__warn_unused_result__))

/* "0.1.0": of the library that runs, which may be newer than this header. */
const char *husk_version(void);

/* --- errors ------------------------------------------------------------------------------------------------------- */

struct husk_error {
	/* What kind of failure: "invalid" (the call makes no sense), "not_found", "foreign" (of another conversation), "limit", "busy",
	 * "timeout" (the deadline of the call), "cancelled", "engine", "image" (not there), "died" (the session is gone), "store",
	 * "install", "internal". */
	const char *kind;
	/* Why, finer: a word such as "no_engine", "no_session", "limit_sessions", "oom", "install_failed". Of this library itself:
	 * "misuse", "closed", "forked", "deadline", "cancelled". "none" if there is nothing finer. Programs decide by kind and cause,
	 * never by the sentences. */
	const char *cause;
	/* One sentence for a person: what happened. */
	const char *message;
	/* What to do next; "" if there is nothing to say. */
	const char *hint;
};
void husk_error_free(struct husk_error *e);

/* --- managers ----------------------------------------------------------------------------------------------------- */

struct husk;

struct husk_settings {
	size_t size;
	/* "NAME=value", ends with NULL: settings as husk(1) lists them, and XDG_STATE_HOME, XDG_DATA_HOME and XDG_CONFIG_HOME, which say
	 * where records and files are. They win over the other two sources. A name that does not exist is an error. */
	const char *const *values;
	/* Not 0: also the settings in the environment, … */
	int use_environment;
	/* … and in $XDG_CONFIG_HOME/husk/.env, … */
	int use_file;
	/* … or in this file, which must then exist. NULL = the usual one. */
	const char *file;
	/* Not 0: husk_close() leaves its sessions to their lease, for another process with the same conversation to take over. */
	int keep_sessions;
	/* The husk program, for a helper that cleans up behind a process that has ended. NULL = husk on the PATH, if it is there. */
	const char *program;
};

/* settings NULL: all defaults; neither environment nor file is read. Contacts nothing yet. */
struct husk_error *husk_open(const struct husk_settings *settings, struct husk **ret) HUSK_MUST_CHECK;
/* Ends the sessions that it made (see .keep_sessions) and waits for that, at most 10 s. Calls that wait in other threads return with
 * cause "closed". The manager and its conversations are then gone, also where an error says that something went wrong on the way. */
struct husk_error *husk_close(struct husk *h);

/* The languages of this build: NULL past the last; they are never freed. */
struct husk_language {
	const char *name;      /* "python" */
	const char *title;     /* "Python" */
	const char *extension; /* ".py" */
	const char *image;
};
const struct husk_language *husk_language(size_t i);

/* --- waiting ------------------------------------------------------------------------------------------------------ */

struct husk_cancel;

/* A switch that ends calls: those that wait with it now, and those that will. */
struct husk_error *husk_cancel_new(struct husk_cancel **ret) HUSK_MUST_CHECK;
/* From any thread. */
void husk_cancel(struct husk_cancel *cancel);
/* No call may wait with it any more. */
void husk_cancel_free(struct husk_cancel *cancel);

struct husk_wait {
	size_t size;
	/* Milliseconds from now, after which the call is given up: kind "timeout", cause "deadline". 0 = none. Not the same as the
	 * timeout of a run, which is kept inside the sandbox and gives a result. */
	uint64_t deadline_ms;
	/* Kind "cancelled", cause "cancelled". NULL = none. */
	struct husk_cancel *cancel;
	/* Called while the call waits, about ten times a second, in the calling thread; anything but 0 cancels. For interpreters that
	 * have to look after signals. NULL = not called. */
	int (*on_idle)(void *ctx);
	void *ctx;
};

/* --- conversations ------------------------------------------------------------------------------------------------ */

struct husk_conversation;

/* What sessions, exports and limits belong to. */
struct husk_conversation_options {
	size_t size;
	/* Up to 128 letters, digits, '.', '_' and '-'. NULL = a new one of its own, unless … */
	const char *id;
	/* … this is not 0: the one of this user, which `husk mcp` serves too. */
	int own;
	/* 0 = CONTAINER_MAX_SESSIONS_PER_THREAD. */
	uint64_t max_sessions;
};
/* One with an id, and the user's own, take over sessions that a former process of the same conversation has left. */
struct husk_error *husk_conversation_open(struct husk *h, const struct husk_conversation_options *options,
					  struct husk_conversation **ret) HUSK_MUST_CHECK;
/* Its sessions stay until husk_close(), which closes conversations too. */
struct husk_error *husk_conversation_close(struct husk_conversation *c);

/* --- sessions ----------------------------------------------------------------------------------------------------- */

struct husk_session {
	const char *id;
	const char *language;
	const char *
		status; /* "starting", "adopting", "running", "dead"; of husk_list_all() "starting", "running", "busy", "left" */
	const char *dependencies; /* JSON: name to version as installed; NULL if there are none */
	uint64_t age_seconds, idle_seconds;
	/* Of husk_list_all() only: */
	const char *conversation;
	const char *owner;     /* "process 123 on box" */
	uint64_t left_seconds; /* until its hard lifetime ends */
	uint64_t memory;       /* bytes; 0 = not known */
	/* What it may have: bytes of memory, bytes of its home directory on disk, CPUs. */
	uint64_t memory_limit, disk_limit;
	double cpus;
	const char *name; /* NULL = it has none */
};
void husk_session_free(struct husk_session *s);

struct husk_create {
	size_t size;
	const char *language; /* or an alias; NULL = "python" */
	/* "name" or "name==version", ends with NULL: installed before it starts; a set is kept, so that the next session with it starts
	 * at once. */
	const char *const *dependencies;
	/* 0 = as CONTAINER_NETWORK_ENABLED says, 1 = on (refused where that says no), -1 = off. */
	int network;
	/* What the installer says, as it says it. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	void *ctx;
	/* "NAME=value", ends with NULL: of the interpreter and all commands. Values are kept nowhere. */
	const char *const *env;
	/* Where they start: absolute, or from /workspace; NULL = /workspace. */
	const char *cwd;
	/* What it may have, in bytes of memory, bytes of its home directory on disk, and CPUs: 0 = as the settings say; more than
	 * CONTAINER_MEMORY_MAX, CONTAINER_DISK_MAX and CONTAINER_CPUS_MAX allow is refused. */
	uint64_t memory, disk;
	double cpus;
	/* One of CONTAINER_IMAGES, by its name, instead of the language's own image; NULL = that. */
	const char *image;
	/* To use in place of its id, within the conversation and for husk's verbs: letters, digits, '.', '_' and '-', a letter first, at
	 * most 25; NULL = none. */
	const char *name;
};
/* It runs when this returns. options NULL = a Python session. */
struct husk_error *husk_create(struct husk_conversation *c, const struct husk_create *options,
			       const struct husk_wait *wait, struct husk_session **ret) HUSK_MUST_CHECK;
/* Its container is gone when this returns. */
struct husk_error *husk_stop(struct husk_conversation *c, const char *session, const struct husk_wait *wait);

struct husk_sessions {
	size_t n;
	const struct husk_session *const *v;
	/* Why the list may not be complete; NULL if it is. */
	const char *unsure;
};
void husk_sessions_free(struct husk_sessions *s);
/* Those of the conversation that this manager has, oldest first. */
struct husk_error *husk_list(struct husk_conversation *c, const struct husk_wait *wait,
			     struct husk_sessions **ret) HUSK_MUST_CHECK;
/* One of them. */
struct husk_error *husk_info(struct husk_conversation *c, const char *session, const struct husk_wait *wait,
			     struct husk_session **ret) HUSK_MUST_CHECK;

/* --- runs --------------------------------------------------------------------------------------------------------- */

struct husk_run {
	size_t size;
	/* Seconds that it may take, 1 to 300; then it is interrupted, and its variables are kept.
	 * 0 = CONTAINER_EXECUTION_TIMEOUT_SECONDS. */
	uint64_t timeout;
	/* Live output by whole lines, or what there is of a line after 50 ms; stream is 1 (stdout) or 2 (stderr). The result has all of it
	 * once more. */
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	void *ctx;
	/* "NAME=value", ends with NULL: for this run alone. */
	const char *const *env;
	/* Of a command, for this run alone: absolute, or from where the last one ended; NULL = there. */
	const char *cwd;
	/* Not 0: the call returns after wait_seconds, at most 300, at the latest. A run that goes on then is told with the ending "running",
	 * its number and what there is so far. Its .timeout may be any number, and without one it may take as long as the session lives. */
	int has_wait;
	uint64_t wait_seconds;
	/* A run that goes on, by number, in place of code or a command, which are NULL then: it is waited for once more
	 * (wait_seconds, or as long as a run may take by default), and only what is new of it comes. 0 = none. */
	uint64_t run;
	/* Not 0, with .run: ends it. */
	int interrupt;
	/* Not 0, of husk_execute(): a new interpreter first; the code may be NULL. Variables are gone, files are kept. */
	int restart;
	/* Not 0: it may ask. The call returns when it does, with the ending "waiting" and the prompt, and after wait_seconds (by default as
	 * long as a run may take); .run with .input answers it. A command has a terminal of rows and cols; 0 = 24 and 80. */
	int interactive;
	int rows, cols;
	/* With .run: the answer, at most 32 KiB; keys by name, as <Ctrl-C>, <Tab>, <Up>. Enter follows, but not after a key. */
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
	 * "running" or "waiting" if it goes on. */
	const char *ending;
	/* One sentence: what happened and what is left; NULL if there is nothing to say. */
	const char *detail;
	/* Why, where an ending did not come from inside the container; "none" otherwise. */
	const char *cause;
	const char *out, *err;	       /* printed text, cut to MAX_STDOUT_CHARS and MAX_STDERR_CHARS; never NULL */
	uint64_t out_bytes, err_bytes; /* what was printed */
	int out_truncated, err_truncated;
	const struct husk_bundle *value; /* of the last expression; NULL if there was none */
	size_t n_displays;
	const struct husk_bundle *const *displays; /* pictures, tables and whatever else was shown, in order */
	uint64_t displays_dropped;
	const char *error_type; /* NULL if the code raised nothing; then the next two are NULL too */
	const char *error_message;
	const char *error_traceback;
	int has_exit_code; /* commands, and kernels that ended themselves */
	int exit_code;
	int signal; /* 0 = none */
	uint64_t duration_ms;
	uint64_t memory_peak, memory_limit; /* bytes; 0 = not known */
	uint64_t oom_kills;		    /* processes that were killed for memory during the run */
	int kernel_restarted;		    /* variables are gone, files are kept */
	int session_gone;		    /* all is gone */
	const char *notice;		    /* how long the session still has, where that is not long; NULL otherwise */
	/* Runs that nobody waited for, a former process's too, and that have ended since: each is told once. */
	size_t n_earlier;
	const struct husk_result *const *earlier;
	uint64_t run;	  /* its number in the session */
	int queued;	  /* it has not begun yet */
	uint64_t behind;  /* the run that it had to wait for, if nobody waits for that one; 0 = none */
	const char *lost; /* variables that went with an interpreter, as far as they were known; NULL if none did */
	/* Numbers of the runs that go on, and that nobody waits for. */
	size_t n_running;
	const uint64_t *running;
	/* Of the ending "waiting": what it asks, and whether what is typed is shown. NULL otherwise. */
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
/* Runs a command with bash beside it; its directory, exported variables and background jobs persist. */
struct husk_error *husk_terminal(struct husk_conversation *c, const char *session, const char *command,
				 const struct husk_run *options, const struct husk_wait *wait,
				 struct husk_result **ret) HUSK_MUST_CHECK;

/* --- the status of a session ---------------------------------------------------------------------------------------- */

struct husk_variable {
	const char *name, *type;
	const char *shape; /* "" if that says nothing */
	uint64_t bytes;	   /* 0 = not known */
};
struct husk_disk {
	const char *path;
	uint64_t used, size; /* bytes */
};
struct husk_run_state {
	uint64_t number;
	const char *kind;  /* "code", "terminal" */
	const char *state; /* "queued", "running", "waiting": for an answer, "ended": and not told yet */
	uint64_t age_ms;
};
struct husk_look {
	const struct husk_session *session; /* not yours to free */
	uint64_t left_seconds;		    /* until its hard lifetime ends; UINT64_MAX = it has none */
	uint64_t idle_left_seconds;	    /* until it ends for want of use */
	size_t n_runs;
	const struct husk_run_state *const *runs;
	int answered;		       /* 0: the container did not answer in time, and nothing below is known */
	uint64_t memory, memory_limit; /* bytes; 0 = not known */
	size_t n_disks;
	const struct husk_disk *const *disks;
	int has_variables; /* the interpreter has told them; */
	int fresh;	   /* 0: a cell is running, and they are from before it */
	size_t n_variables;
	const struct husk_variable *const *variables; /* the largest first */
	uint64_t more_variables;		      /* that are not listed */
};
/* The status of a session, found without running anybody's code. keep_alive not 0: this counts as use. husk_look() and
 * husk_look_free() are the same under their names of HUSK_0.1; the struct keeps its name. */
struct husk_error *husk_status(struct husk_conversation *c, const char *session, int keep_alive,
			       const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_status_free(struct husk_look *l);
struct husk_error *husk_look(struct husk_conversation *c, const char *session, int keep_alive,
			     const struct husk_wait *wait, struct husk_look **ret) HUSK_MUST_CHECK;
void husk_look_free(struct husk_look *l);

/* --- queries to an interpreter ------------------------------------------------------------------------------------ */

/* What editors and consoles ask while somebody types. The interpreter answers as it stands, and nothing is left behind: no execution,
 * no value, no history. It counts as use of the session. Only an idle interpreter can be asked: while code runs, or when some begins,
 * the error is kind "busy", cause "interpreter_busy"; one that takes seconds is told to leave it (kind "timeout"). Runtimes that cannot
 * say give cause "cannot_answer", sessions from older images "old_session". Positions count Unicode code points. At most 256 KiB of code. */

/* What could stand in place of the code from start to before end. */
struct husk_completion {
	size_t start, end;
	size_t n;
	const char *const *matches;
	int more; /* not 0: there are others */
};
void husk_completion_free(struct husk_completion *c);
struct husk_error *husk_complete(struct husk_conversation *c, const char *session, const char *code, size_t cursor,
				 const struct husk_wait *wait, struct husk_completion **ret) HUSK_MUST_CHECK;

/* What is known of the name at the cursor. */
struct husk_help {
	int found;
	const char *text; /* NULL if nothing was found */
	const char *html; /* the same; NULL if the interpreter has none */
};
void husk_help_free(struct husk_help *h);
/* detail not 0: all that there is, such as the source. */
struct husk_error *husk_inspect(struct husk_conversation *c, const char *session, const char *code, size_t cursor,
				int detail, const struct husk_wait *wait, struct husk_help **ret) HUSK_MUST_CHECK;

/* Is the code whole, or does it go on? */
struct husk_wholeness {
	const char *state;  /* "complete", "incomplete", "invalid": no more lines make it right; "unknown" */
	const char *indent; /* of "incomplete": what the next line may begin with; "" otherwise */
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
		source; /* a file or folder of the host that this process can read; IMPORT_ALLOWED_DIRS limits models only */
	const char *session, *path; /* what another session of the conversation exported, also one that has ended */
	const char *destination;    /* NULL = /workspace and the name of the source; required with content */
};

/* What became of one entry. */
struct husk_file {
	int success;
	const char *source; /* imports: as it was asked for */
	const char *path;   /* in the sandbox, absolute */
	uint64_t bytes;
	const struct husk_error *error; /* why not; NULL on success. Not yours to free */
	/* Exports that succeeded; NULL otherwise: */
	const char *id, *session, *name, *mime, *hash, *uri;
	/* The hash is the BLAKE2b of the file at host_path, 256 bits, in hex. Of more than 4 MiB it is the SHA-256 of the SHA-256s of
	 * its pieces of 4 MiB, one after the other, as bytes. */
	const char *host_path; /* of the file, or of a tar of the folder */
	int folder;
	uint64_t stored;     /* bytes of the file at host_path */
	uint64_t created_ms; /* since the epoch */
	size_t n_notices;
	const char *const *notices; /* what was left out, and why */
};
struct husk_files {
	size_t n;
	const struct husk_file *const *v;
	int success; /* of all of them */
};
void husk_files_free(struct husk_files *f);

struct husk_copy {
	size_t size;
	/* One line on how far it is. */
	void (*on_progress)(void *ctx, const char *line);
	void *ctx;
};
/* Copies files and folders into the session; each entry is tried, and one that fails does not stop the others. */
struct husk_error *husk_import(struct husk_conversation *c, const char *session, const struct husk_import *const *items,
			       size_t n, const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret) HUSK_MUST_CHECK;
/* Copies files and folders out of it, to outlive it; relative paths are below /workspace. */
struct husk_error *husk_export(struct husk_conversation *c, const char *session, const char *const *paths, size_t n,
			       const struct husk_copy *options, const struct husk_wait *wait,
			       struct husk_files **ret) HUSK_MUST_CHECK;
/* Exports of the conversation, newest first, at most limit (0 = 100). */
struct husk_error *husk_exports(struct husk_conversation *c, size_t limit, const struct husk_wait *wait,
				struct husk_files **ret) HUSK_MUST_CHECK;

/* The content of an export: of a folder, the tar of it. */
struct husk_content {
	const void *data; /* never NULL */
	size_t n;
};
void husk_content_free(struct husk_content *content);
/* Reads an export, by the id that husk_export() or husk_exports() gave it. One of more than max bytes (0 = 64 MiB) is refused as "limit":
 * read it at its host_path. */
struct husk_error *husk_read_export(struct husk_conversation *c, const char *id, size_t max,
				    const struct husk_wait *wait, struct husk_content **ret) HUSK_MUST_CHECK;

/* --- for the person whose sessions these are: all conversations, all processes -------------------------------------- */

/* The sessions of all conversations. husk_everything() is the same under its name of HUSK_0.1. */
struct husk_error *husk_list_all(struct husk *h, const struct husk_wait *wait,
				 struct husk_sessions **ret) HUSK_MUST_CHECK;
struct husk_error *husk_everything(struct husk *h, const struct husk_wait *wait,
				   struct husk_sessions **ret) HUSK_MUST_CHECK;
/* Removes a session, whoever uses it; NULL = all of them. ret_n (may be NULL): how many. */
struct husk_error *husk_remove(struct husk *h, const char *session, const struct husk_wait *wait, size_t *ret_n);
/* Tidies up behind processes that ended. ret_n (may be NULL): how many containers were removed. */
struct husk_error *husk_collect(struct husk *h, const struct husk_wait *wait, size_t *ret_n);

/* What was executed in a session, by number. */
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
/* The last ones, at most limit (0 = 100). */
struct husk_error *husk_history(struct husk *h, const char *session, size_t limit, const struct husk_wait *wait,
				struct husk_history **ret) HUSK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
