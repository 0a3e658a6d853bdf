#include "manager/session/advice.h"

#include <string.h>

#include "base/alloc.h"

#define MIB (1u << 20)
/* Long enough for a model to finish what it is at. */
#define LIFETIME_NOTICE_SECONDS 600u
/* Nobody has to be told of half an hour with every answer. */
#define IDLE_NOTICE_SECONDS 120u

const char *advice_after_death(void)
{
	return "The session is unusable: call stop_session, then create_session. Before running the same code again, find the "
	       "cause: files imported into this session? memory exhausted? an unhandled error? Never re-run the same code unchanged.";
}

static const char *left_over(const struct run_result *r, bool terminal)
{
	if (terminal)
		return "Files and background processes are kept.";
	return r->kernel_restarted ? "The kernel was restarted: variables and imports are gone, files are kept." :
				     "Variables, imports and files are kept.";
}

static char *memory_words(const struct run_result *r)
{
	if (!r->memory_limit)
		return xstrdup("the memory limit");
	if (!r->memory_files)
		return xasprintf("the memory limit of %llu MiB", (unsigned long long)(r->memory_limit / MIB));
	return xasprintf(
		"the memory limit of %llu MiB, of which files in /workspace, /tmp and /home/sandbox take %llu MiB",
		(unsigned long long)(r->memory_limit / MIB), (unsigned long long)(r->memory_files / MIB));
}

static char *timeout_hint(const struct run_result *r, bool terminal, uint64_t timeout_seconds)
{
	const char *how = terminal ? "run it in the background (command > log 2>&1 &) and look at it later" :
				     "split the work into smaller cells";
	if (timeout_seconds >= 300)
		return xasprintf("%s 300 s is the longest timeout: %s.", left_over(r, terminal), how);
	return xasprintf("%s Raise `timeout` (at most 300, this was %llu), or %s.", left_over(r, terminal),
			 (unsigned long long)timeout_seconds, how);
}

/* In the words of the C library, which every interpreter and installer passes on. */
static bool ran_out_of_space(const struct run_result *r)
{
	static const char words[] = "No space left on device";
	return strstr(r->stderr_text, words) || strstr(r->stdout_text, words) ||
	       (r->error_message && strstr(r->error_message, words));
}

static char *hint_for(const struct run_result *r, bool terminal, uint64_t timeout_seconds)
{
	AUTO(freep) char *memory = memory_words(r);
	switch (r->ending) {
	case ENDING_TIMEOUT:
		return timeout_hint(r, terminal, timeout_seconds);
	case ENDING_INTERRUPTED:
		return xstrdup(left_over(r, terminal));
	case ENDING_OOM:
		return xasprintf(
			"It needed more than %s. %s Work on smaller pieces, delete what is no longer needed, or read data in chunks before trying again.",
			memory, left_over(r, terminal));
	case ENDING_KERNEL_DIED:
		return xasprintf(
			"%s Find out what ended the process (os._exit, a crash in native code, a kill) before running it again.",
			left_over(r, terminal));
	case ENDING_CONTAINER_DIED:
	case ENDING_SESSION_LOST:
		return xstrdup(advice_after_death());
	case ENDING_ERROR:
		if (ran_out_of_space(r))
			return xstrdup(
				"A directory of the session is full: /workspace, /tmp and /home/sandbox are in memory, each "
				"as large as CONTAINER_TMPFS_SIZE (see `df -h`). Delete what is no longer needed. Packages "
				"take no room there when create_session installs them: name them in `dependencies`.");
		break;
	case ENDING_OK:
		break;
	}
	if (r->oom_kills)
		return xasprintf("A child process was killed for needing more than %s. Give it less to do at once.",
				 memory);
	return NULL;
}

void advice_add(struct run_result *r, bool terminal, uint64_t timeout_seconds)
{
	if (!r->hint && r->kernel_gone)
		r->hint = xstrdup(advice_after_death());
	if (!r->hint)
		r->hint = hint_for(r, terminal, timeout_seconds);
	if (r->ending == ENDING_TIMEOUT && !r->detail)
		r->detail = xasprintf("stopped after %llu s", (unsigned long long)timeout_seconds);
	if (r->ending == ENDING_TIMEOUT && !r->error_type) {
		r->error_type = xstrdup("TimeoutError");
		r->error_message = xasprintf("Execution timed out after %llus", (unsigned long long)timeout_seconds);
	}
}

char *advice_notice(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds)
{
	uint64_t left = left_ms / 1000;
	if (left <= MIN(LIFETIME_NOTICE_SECONDS, lifetime_seconds / 4))
		return xasprintf(
			"The session ends in %llu s, at the end of its lifetime (SESSION_MAX_LIFETIME_SECONDS): its "
			"variables and files are gone then. Bring what matters to safety and create a new session for what follows.",
			(unsigned long long)left);
	if (idle_ttl_seconds <= IDLE_NOTICE_SECONDS)
		return xasprintf("The session ends after %llu s without use (SESSION_IDLE_TTL_SECONDS).",
				 (unsigned long long)idle_ttl_seconds);
	return NULL;
}
