#include "kernels/probe/trial.h"

#include <assert.h>
#include <signal.h>

#include "kernels/probe/probe.h"
#include "kernels/protocol.h"

void trial_name(struct trial t, char name[TRIAL_NAME_SIZE])
{
	static const char *const outcomes[] = { "no-effect", "filtered", "no-answer", "no-neighbour", "not-tried" };
	static_assert(ARRAY_LEN(outcomes) == OUTCOME_END - OUTCOME_FIRST, "each outcome has a name");
	const char *error = strerrorname_np(t.error), *signal = sigabbrev_np(t.signal);
	if (t.signal == SIGALRM)
		snprintf(name, TRIAL_NAME_SIZE, "no-answer");
	else if (t.signal)
		snprintf(name, TRIAL_NAME_SIZE, "SIG%s", signal ? signal : "?");
	else if (t.error >= OUTCOME_FIRST && t.error < OUTCOME_END)
		snprintf(name, TRIAL_NAME_SIZE, "%s", outcomes[t.error - OUTCOME_FIRST]);
	else
		snprintf(name, TRIAL_NAME_SIZE, "%s", t.error == 0 ? "worked" : error ? error : "unknown-error");
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = words; (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

/* A filter that kills (SIGSYS) also counts as a refusal. */
const char *trial_judge(struct trial t, const char *held, const char *open)
{
	char name[TRIAL_NAME_SIZE];
	trial_name(t, name);
	if ((!t.signal && t.error == 0) || has_word(open, name))
		return PROBE_OPEN;
	if (has_word(held, name) || t.signal == SIGSYS)
		return PROBE_HELD;
	return !t.signal && t.error == NO_NEIGHBOUR ? PROBE_NO_PEER : PROBE_UNSURE;
}
