#include "kernels/commands/shell.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

#include "base/alloc.h"

#define END_MARK "husk-end"
/* Prefix for the name of a variable that is held back. */
#define HELD "HUSK_HELD_"
/* The length that Linux accepts for one argument, with room to spare. */
#define ARGUMENT_MAX (120u << 10)
#define SET_FLAGS "abefhkmnptuvxBCEHPT"

/* The command is read by eval, not as a script file: `$0`, line numbers and exit status are those of `bash -c`, and it
 * may be longer than an argument.
 *
 * The trap survives `exit` and hides itself from `set -x`. It does not fork: at the process limit bash would retry for
 * 15 seconds and change the exit status. So the names of the exported variables pass through the state's own file. If
 * the command replaces the shell or the trap, nothing is written and the old state stays. */
#define TRAP                                                                                                                      \
	"trap '{ set +x; builtin trap \"\" XFSZ; builtin compgen -e; builtin mapfile -t HUSK_NAMES </proc/self/fd/199;"           \
	" builtin printf \"\\0%s\\0\" \"$PWD\"; for HUSK_NAME in \"${HUSK_NAMES[@]}\"; do"                                        \
	"  [[ -v $HUSK_NAME ]] && builtin printf \"%s=%s\\0\" \"$HUSK_NAME\" \"${!HUSK_NAME}\"; done; builtin printf \"" END_MARK \
	"\\0\"; } >&199 2>/dev/null' EXIT; "
/* Bash reads a pipe one character at a time, so only two are sent. TMOUT is cleared because it would end the read. The
 * first character wakes bash, and any signal that arrived earlier takes effect then. So a shell counts as started once
 * it has read the second character. If bash reads the end of the pipe instead, there is no command and it exits. */
#define READ_GO "IFS= TMOUT= builtin read -r -N1 HUSK_COMMAND <&197 || { builtin trap - EXIT; builtin exit 1; }; "
#define WAIT READ_GO "[[ $HUSK_COMMAND = w ]] && SECONDS=0; " READ_GO
/* Variables that were held back (shell_hold_back()) are exported just before the command: bash itself started without
 * them, but the command's programs get them. */
#define RESTORE                                                                                                        \
	"for HUSK_NAME in \"${!" HELD "@}\"; do builtin export \"${HUSK_NAME#" HELD "}=${!HUSK_NAME}\";"               \
	" builtin unset -v \"$HUSK_NAME\" HUSK_NAME; done; "
#define BEGIN "exec 2>&196 196>&- 197<&- 198<&-; eval \"$HUSK_COMMAND\""
const char shell_wrapper[] = TRAP WAIT "IFS= builtin read -r -d '' HUSK_COMMAND <&198; " RESTORE BEGIN;
const char shell_prelude[] = TRAP "exec 198<&-; builtin unset -v BASH_ENV; " RESTORE;

/* As an argument, the command could be killed by its own `pkill -f`, and its length is limited. As the text of an
 * eval, its trace would have an extra `+`. So it is an argument only if it may trace. */
bool shell_may_trace(const char *command, size_t n)
{
	if (n > ARGUMENT_MAX)
		return false;
	if (strstr(command, "xtrace"))
		return true;
	for (const char *at = command; (at = strstr(at, "set -"));) {
		at += strlen("set -");
		if (memchr(at, 'x', strspn(at, SET_FLAGS)))
			return true;
	}
	return false;
}

void shell_state_release(struct shell_state *s)
{
	free(s->cwd);
	strv_release(&s->env);
	*s = (struct shell_state){ 0 };
}

static bool is_name(const char *s, size_t n)
{
	if (!n || isdigit((unsigned char)s[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return true;
}

/* Exported functions and the like have no plain name. They belong to one shell and do not pass to the next. */
static bool is_kept(const char *variable)
{
	static const char *const not_kept[] = { "_", "SHLVL", "BASHOPTS", "SHELLOPTS", "PWD" };
	size_t n = strcspn(variable, "=");
	if (variable[n] != '=' || !is_name(variable, n) || strncmp(variable, "HUSK_", 5) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(not_kept); i++)
		if (strlen(not_kept[i]) == n && strncmp(variable, not_kept[i], n) == 0)
			return false;
	return true;
}

void shell_hold_back(struct strv *ret, const struct strv *env)
{
	static const char *const beginnings[] = { "LD_",  "GLIBC_TUNABLES=", "GCONV_PATH=", "BASH_ENV=",
						  "ENV=", "PROMPT_COMMAND=" };
	for (size_t i = 0; i < env->n; i++) {
		bool held = false;
		for (size_t k = 0; k < ARRAY_LEN(beginnings) && !held; k++)
			held = strncmp(env->v[i], beginnings[k], strlen(beginnings[k])) == 0;
		/* A held variable with any other name is dropped: bash could not restore it. */
		if (held && is_name(env->v[i], strcspn(env->v[i], "=")))
			strv_addf(ret, HELD "%s", env->v[i]);
		else if (!held)
			strv_add(ret, env->v[i]);
	}
}

void shell_state_undo(struct shell_state *after, const struct shell_state *before, const struct shell_state *given)
{
	for (size_t i = 0; i < given->env.n; i++) {
		size_t at = strv_find(&after->env, given->env.v[i]);
		if (at == SIZE_MAX)
			continue;
		strv_remove(&after->env, at);
		size_t n = strcspn(given->env.v[i], "=") + 1;
		for (size_t k = 0; k < before->env.n; k++)
			if (strncmp(before->env.v[k], given->env.v[i], n) == 0)
				strv_add(&after->env, before->env.v[k]);
	}
	AUTO(freep) char *given_real = given->cwd ? realpath(given->cwd, NULL) : NULL;
	AUTO(freep) char *after_real = given_real ? realpath(after->cwd, NULL) : NULL;
	if (!given->cwd || (after_real && !streq(given_real, after_real)))
		return;
	AUTO(freep) char *pwd = xasprintf("PWD=%s", before->cwd);
	free(after->cwd);
	after->cwd = xstrdup(before->cwd);
	strv_set_env(&after->env, pwd);
}

int shell_state_parse(struct shell_state *ret, const char *data, size_t n)
{
	struct shell_state s AUTO(shell_state_release) = { 0 };
	if (!n || n > SHELL_STATE_MAX || data[n - 1] != '\0')
		return -EINVAL;
	const char *cwd = data + strlen(data) + 1, *end = data + n;
	if (cwd >= end || cwd[0] != '/' || strlen(cwd) >= PATH_MAX)
		return -EINVAL;
	s.cwd = xstrdup(cwd);
	for (const char *at = cwd + strlen(cwd) + 1; at < end; at += strlen(at) + 1) {
		if (streq(at, END_MARK)) {
			/* With PWD set, bash keeps a path that goes through symbolic links. */
			strv_addf(&s.env, "PWD=%s", s.cwd);
			shell_state_release(ret);
			*ret = s;
			s = (struct shell_state){ 0 };
			return 0;
		}
		if (is_kept(at))
			strv_add(&s.env, at);
	}
	return -EINVAL;
}
