/* Files that a session writes and PID 1 reads: the state that a shell leaves to the next one, and /proc/PID/stat,
 * whose second field is a name that a process chose. */
#include "kernels/commands/shell.h"

#include "base/alloc.h"
#include "base/proc.h"
#include "tests/fuzz/fuzz.h"

static void check_state(const struct shell_state *s)
{
	CHECK(s->cwd && s->cwd[0] == '/');
	for (size_t i = 0; i < s->env.n; i++) {
		const char *equals = strchr(s->env.v[i], '=');
		CHECK(equals && equals != s->env.v[i]);
		CHECK(strncmp(s->env.v[i], "HUSK_", 5) != 0);
	}
	CHECK(s->env.n > 0 && strncmp(s->env.v[s->env.n - 1], "PWD=/", 5) == 0);
}

/* The bash that reports exit codes starts without variables that would make it run a command's code. */
static void check_held_back(const struct shell_state *s)
{
	AUTO(strv_release) struct strv env = { 0 };
	shell_hold_back(&env, &s->env);
	CHECK(env.n <= s->env.n);
	for (size_t i = 0; i < env.n; i++)
		CHECK(strncmp(env.v[i], "LD_", 3) != 0 && strncmp(env.v[i], "BASH_ENV=", 9) != 0 &&
		      strncmp(env.v[i], "ENV=", 4) != 0 && strncmp(env.v[i], "PROMPT_COMMAND=", 15) != 0);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(shell_state_release) struct shell_state state = { .cwd = xstrdup("/workspace") };
	if (shell_state_parse(&state, (const char *)data, n) == 0) {
		check_state(&state);
		check_held_back(&state);
	} else {
		CHECK(streq(state.cwd, "/workspace") && state.env.n == 0);
	}
	AUTO(freep) char *text = xstrndup((const char *)data, n);
	struct proc_stat stat;
	(void)proc_parse_stat(text, &stat);
	return 0;
}
