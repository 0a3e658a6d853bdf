#include "kernels/shell.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

#include "base/alloc.h"

#define END_MARK "husk-end"

/* Read by eval, not as a script file: `$0`, line numbers and exit status are those of `bash -c`, and the length of a
 * command is not bound by that of an argument. The trap survives `exit`; it hides itself from `set -x`. If the command
 * replaces the shell or the trap, nothing is written and the old state stays. */
const char shell_wrapper[] = "trap '{ set +x; } 2>/dev/null; { builtin printf \"%s\\0\" \"$PWD\"; /usr/bin/env -0 && "
			     "builtin printf \"" END_MARK "\\0\"; } >&199 2>/dev/null' EXIT; "
			     "IFS= builtin read -r -d '' HUSK_COMMAND <&198; exec 198<&-; "
			     "eval \"$HUSK_COMMAND\"";

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

/* Exported functions and the like have no plain name; these belong to one shell, not to the next. */
static bool is_kept(const char *variable)
{
	static const char *const not_kept[] = { "_", "SHLVL", "BASHOPTS", "SHELLOPTS", "BASH_ENV", "PWD" };
	size_t n = strcspn(variable, "=");
	if (variable[n] != '=' || !is_name(variable, n) || strncmp(variable, "HUSK_", 5) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(not_kept); i++)
		if (strlen(not_kept[i]) == n && strncmp(variable, not_kept[i], n) == 0)
			return false;
	return true;
}

int shell_state_parse(struct shell_state *ret, const char *data, size_t n)
{
	struct shell_state s AUTO(shell_state_release) = { 0 };
	if (!n || n > SHELL_STATE_MAX || data[n - 1] != '\0' || data[0] != '/' || strlen(data) >= PATH_MAX)
		return -EINVAL;
	s.cwd = xstrdup(data);
	for (const char *at = data + strlen(data) + 1; at < data + n; at += strlen(at) + 1) {
		if (streq(at, END_MARK)) {
			/* bash keeps a path through symbolic links if it finds it here. */
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
