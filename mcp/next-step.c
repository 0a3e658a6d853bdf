#include "mcp/next-step.h"

#include "base/alloc.h"
#include "mcp/error-hint.h"

#define MIB (1u << 20)
#define TIMEOUT_MAX 300

#define NEW_SESSION "Call create_session for a new one."
#define REPLACE "Call stop_session, then create_session."
#define TELL_USER "Ask the user to do this, then call create_session again."

static const char replace_and_think[] =
	"Call stop_session, then create_session. Before running the same code again, find the cause: files imported into "
	"this session? memory exhausted? an unhandled error? Never re-run the same code unchanged.";

/* The next step for each cause; NULL where the manager's hint is enough. */
static const char *const steps[CAUSE_COUNT] = {
	[CAUSE_NO_CLIENT] = TELL_USER,
	[CAUSE_NO_ENGINE] = TELL_USER,
	[CAUSE_NO_NODE] = TELL_USER,
	[CAUSE_NO_IMAGE] = TELL_USER,
	[CAUSE_ENGINE_SILENT] = "Try again once the engine answers; sessions are kept for their lease.",

	[CAUSE_NO_CONTAINER] = REPLACE,
	[CAUSE_STOPPED] = NEW_SESSION,
	[CAUSE_STOPPED_BY_HAND] = "The user ended it: ask before you call create_session for a new one.",
	[CAUSE_IDLE] = REPLACE,
	[CAUSE_LIFETIME] = REPLACE,
	[CAUSE_LEASE] = REPLACE,
	[CAUSE_OOM] = replace_and_think,
	[CAUSE_EXITED] = replace_and_think,
	[CAUSE_REMOVED] = REPLACE,
	[CAUSE_NODE] = REPLACE,
	[CAUSE_ENGINE_RESTARTED] = REPLACE,
	[CAUSE_UNWATCHED] = replace_and_think,
	[CAUSE_TAKEN_OVER] = NEW_SESSION,
	[CAUSE_DISK] =
		"Call stop_session, then create_session, and keep less in the home directory (CONTAINER_HOME_SIZE) and its ~/.tmp; name packages in `dependencies`.",
	[CAUSE_KERNEL_FAILED] = replace_and_think,
	[CAUSE_PROTOCOL] = replace_and_think,
	[CAUSE_HALF_MADE] = NEW_SESSION,

	[CAUSE_OTHER_SERVER] = NEW_SESSION,
	[CAUSE_OTHER_ENGINE] = NEW_SESSION,
	[CAUSE_STARTING] = "Call again in a few seconds.",
	[CAUSE_ADOPTING] = "Call again in a few seconds.",
	[CAUSE_RECONNECTING] = "Call again in a few seconds.",
	[CAUSE_QUEUE_FULL] = "Wait for the answers to earlier calls, or end a run with `interrupt`.",
	[CAUSE_NO_RUN] = "Use the number that an answer named as `run`.",
	[CAUSE_RUN_TOLD] = "See the earlier answer that reported it.",
	[CAUSE_RUN_WAITED] = "Wait for the answer to that call.",
	[CAUSE_RUN_FOREIGN] = "Leave it alone, or end it with `interrupt`.",
	[CAUSE_NOT_INTERACTIVE] =
		"End it and start it again with `interactive`, or give it its input in a file or a pipe.",
	[CAUSE_NO_PROMPT] = "Call with `run` only: the answer shows its state.",
	[CAUSE_OLD_SESSION] = "Call create_session for a new one, or call without them.",
	[CAUSE_TOO_LONG] = "Put it into a file with import_files and run that.",

	[CAUSE_NO_ANSWER] = "Try again once the engine answers; the session is kept for its lease.",
	[CAUSE_NO_END] = "First check what it did with execute_terminal.",

	[CAUSE_INSTALL_FAILED] =
		"Correct the names or versions in `dependencies` and call create_session again. No session was made.",
	[CAUSE_INSTALL_TIME] = "Call create_session with fewer `dependencies`. No session was made.",
	[CAUSE_INSTALL_MEMORY] = "Call create_session with versions that need no compiling. No session was made.",
	[CAUSE_INSTALL_SIZE] = "Call create_session with fewer or smaller `dependencies`. No session was made.",
	[CAUSE_INSTALL_LOST] = "Call create_session again. No session was made.",

	[CAUSE_STREAM_BROKE] = "Check what is there with execute_terminal, and retry.",
	[CAUSE_STALLED] = "Check what is running with execute_terminal, and try again.",
	[CAUSE_PATH_DENIED] = "Ask the user to do that, or to give you the content.",
	[CAUSE_NOT_EXPORTED] = "Call export_files in that session first.",
};

/* The step after a failure that has neither a hint nor a step for its cause. */
static const char *step_for_kind(enum fail_kind kind, bool listed)
{
	switch (kind) {
	case FAIL_INVALID:
		return "Correct the arguments and call again.";
	case FAIL_NOT_FOUND:
	case FAIL_FOREIGN:
		return listed ? "Use one of the active session_ids listed above." :
				"No active sessions. Call create_session first.";
	case FAIL_DIED:
		return replace_and_think;
	case FAIL_LIMIT:
	case FAIL_NONE:
	case FAIL_BUSY:
	case FAIL_TIMEOUT:
	case FAIL_CANCELLED:
	case FAIL_ENGINE:
	case FAIL_IMAGE:
	case FAIL_STORE:
	case FAIL_INSTALL:
	case FAIL_INTERNAL:
		break;
	}
	return NULL;
}

/* A conversation without sessions of its own cannot end one to make room. */
static const char *step_after_session_limit(bool listed)
{
	return listed ? "Use one of the active sessions, or end one with stop_session." :
			"The sessions belong to other conversations: ask the user to end one or try again later.";
}

static bool is_session_limit(enum cause cause)
{
	return cause == CAUSE_LIMIT_SESSIONS || cause == CAUSE_LIMIT_CONVERSATION_SESSIONS ||
	       cause == CAUSE_LIMIT_CONVERSATIONS || cause == CAUSE_LIMIT_TENANT;
}

/* If a hint tells the user to run `husk`, adds where the program is: a bundle or npx does not add husk to PATH. */
static char *where_the_program_is(const char *hint, bool remote)
{
	AUTO(freep) char *self = !remote && strstr(hint, "`husk ") ? realpath("/proc/self/exe", NULL) : NULL;
	return self ? xasprintf(" (`husk` is %s)", self) : xstrdup("");
}

char *next_step_after_fail(const struct fail *f, bool listed, bool remote)
{
	const char *step = is_session_limit(cause_of(f)) ? step_after_session_limit(listed) : steps[cause_of(f)];
	if (!step && !f->hint)
		step = step_for_kind(f->kind, listed);
	if (!f->hint)
		return step ? xstrdup(step) : NULL;
	AUTO(freep) char *place = where_the_program_is(f->hint, remote);
	if (!step)
		return xasprintf("%s%s", f->hint, place);
	bool is_sentence = *f->hint && strchr(".!?", f->hint[strlen(f->hint) - 1]);
	return xasprintf("%s%s%s %s", f->hint, place, is_sentence && !*place ? "" : ".", step);
}

/* --- after a run -------------------------------------------------------------------------------------------------- */

/* Says what remains after the run. For a cell, PID 1's detail already says it. */
static const char *what_is_left(const struct run_result *run, const struct run_terms *terms)
{
	if (terms->terminal)
		return "Files and background processes are kept. ";
	if (run->detail || terms->restarted)
		return "";
	return run->kernel_restarted ? "The kernel was restarted: variables and imports are gone, files are kept. " :
				       "Variables, imports and files are kept. ";
}

static char *memory_limit(const struct run_result *run)
{
	if (!run->memory_limit)
		return xstrdup("the memory limit");
	if (!run->memory_files)
		return xasprintf("the memory limit of %llu MiB", (unsigned long long)(run->memory_limit / MIB));
	return xasprintf("the memory limit of %llu MiB, of which files in /workspace and /tmp take %llu MiB",
			 (unsigned long long)(run->memory_limit / MIB), (unsigned long long)(run->memory_files / MIB));
}

static char *after_timeout(const struct run_result *run, const struct run_terms *terms)
{
	const char *left = what_is_left(run, terms);
	const char *how = terms->terminal ? "run it in the background (command > log 2>&1 &) and check it later" :
					    "split the work into smaller cells";
	static const char wait[] = "use `wait` to get an early answer while it runs";
	if (terms->timeout_seconds >= TIMEOUT_MAX)
		return xasprintf("%s%d s is the longest timeout without `wait`: %s, or %s.", left, TIMEOUT_MAX, wait,
				 how);
	if (!terms->timeout_seconds)
		return xasprintf("%sRaise `timeout` (at most %d), %s, or %s.", left, TIMEOUT_MAX, wait, how);
	return xasprintf("%sRaise `timeout` (at most %d, this was %llu), %s, or %s.", left, TIMEOUT_MAX,
			 (unsigned long long)terms->timeout_seconds, wait, how);
}

#define AFTER_OOM                                                                                                      \
	"Work on smaller pieces, delete what is no longer needed, or read data in chunks before trying again; create_session takes a larger `memory`."

static char *after_oom(const struct run_result *run, const char *left)
{
	AUTO(freep) char *memory = memory_limit(run);
	/* If the interpreter was killed, PID 1's detail has the amount. */
	if (run->ending == ENDING_OOM && run->detail)
		return xasprintf("%s" AFTER_OOM, left);
	return xasprintf("It needed more than %s. %s" AFTER_OOM, memory, left);
}

static char *after_queued(const struct run_result *run)
{
	unsigned long long own = run->run, ahead = run->behind;
	AUTO(freep) char *answer =
		run->behind_prompts ?
			xasprintf("Answer run %llu first with {run: %llu, input: \"…\"}. ", ahead, ahead) :
			xstrdup("");
	return xasprintf(
		"%s{run: %llu, interrupt: true} ends run %llu, so that this one begins; {run: %llu, wait: 60} waits for it.",
		answer, ahead, ahead, own);
}

/* Looks for the C library's message, which every interpreter and installer repeats. */
static bool ran_out_of_space(const struct run_result *run)
{
	static const char words[] = "No space left on device";
	return strstr(run->stderr_text, words) || strstr(run->stdout_text, words) ||
	       (run->error_message && strstr(run->error_message, words));
}

static const char *after_loss(enum cause cause)
{
	if (cause == CAUSE_NO_ANSWER || cause == CAUSE_NO_END)
		return "It may have run or be running. Once the engine answers, check what it did before you run it again; the session is kept for its lease.";
	return steps[cause] ? steps[cause] : replace_and_think;
}

char *next_step_after_run(const struct run_result *run, const struct run_terms *terms)
{
	const char *left = what_is_left(run, terms);
	char *hint;
	if (run->kernel_gone)
		return xstrdup(run->cause == CAUSE_DISK ? steps[CAUSE_DISK] : replace_and_think);
	switch (run->ending) {
	case ENDING_TIMEOUT:
		return after_timeout(run, terms);
	case ENDING_INTERRUPTED:
		if (terms->cause)
			return xasprintf("The session is gone with its variables and files. %s",
					 after_loss(terms->cause));
		return *left ? xstrndup(left, strlen(left) - 1) : NULL;
	case ENDING_OOM:
		return after_oom(run, left);
	case ENDING_KERNEL_DIED:
		return xasprintf(
			"%sFind out what ended the process (os._exit, a crash in native code, a kill) before running it again.",
			left);
	case ENDING_CONTAINER_DIED:
	case ENDING_SESSION_LOST:
		return xstrdup(after_loss(terms->cause));
	case ENDING_ERROR:
		if (run->cause == CAUSE_DISK)
			return xstrdup(
				"The home directory is limited to CONTAINER_HOME_SIZE, or `disk` of create_session. First delete what is "
				"no longer needed in it (~/.cache, ~/.tmp). Packages take no room there when create_session installs "
				"them: name them in `dependencies`; for PyTorch ask for the CPU build (pip install --index-url with its "
				"/whl/cpu).");
		if (ran_out_of_space(run))
			return xstrdup(
				"A directory of the session is full: /workspace and /tmp are in memory, each as large as "
				"`df -h` says, and grow with `memory` of create_session. Delete what is no longer needed, or keep large files below the home "
				"directory, which is on disk. Packages take no room when create_session installs them: name them in "
				"`dependencies`.");
		hint = error_hint(run);
		if (hint)
			return hint;
		break;
	case ENDING_RUNNING:
		if (run->queued && run->behind)
			return after_queued(run);
		return xasprintf(
			"Do something else meanwhile, or call with {run: %llu, wait: 60} for new output; {run: %llu, interrupt: true} ends it.",
			(unsigned long long)run->run, (unsigned long long)run->run);
	case ENDING_WAITING:
		return xasprintf("Answer with {run: %llu, input: \"…\"}; {run: %llu, interrupt: true} ends it.",
				 (unsigned long long)run->run, (unsigned long long)run->run);
	case ENDING_OK:
		hint = warning_hint(run);
		if (hint)
			return hint;
		break;
	}
	if (run->oom_kills)
		return after_oom(run, "");
	return NULL;
}
