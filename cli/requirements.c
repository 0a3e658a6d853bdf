#include "cli/requirements.h"

#include <ctype.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/marker.h"
#include "cli/pep440.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define BLANKS " \t\r\n"

/* --- one requirement ----------------------------------------------------------------------------------------------- */

static char *without_blanks(const char *text, size_t n)
{
	struct buf out = { 0 };
	for (size_t i = 0; i < n; i++)
		if (!strchr(BLANKS "()", text[i]))
			buf_add(&out, &text[i], 1);
	return buf_steal_str(&out);
}

/* "==1.5" becomes 1.5, as the manager writes versions. */
static const char *plain_version(const char *version)
{
	bool exact = strncmp(version, "==", 2) == 0 && version[2] != '=' && !strpbrk(version, ",*");
	return exact ? version + 2 : version;
}

static int refuse_url(const char *requirement, struct fail *f)
{
	fail_set(f, FAIL_INVALID, "'%.100s': URLs are not supported, only packages of an index", requirement);
	return fail_hint(
		f,
		"name the package and its version, or install it in the program: subprocess.run([\"pip\", \"install\", …])");
}

int requirements_add(const char *requirement, const char *python, struct strv *ret, struct fail *f)
{
	const char *start = requirement + strspn(requirement, BLANKS), *at = start + strspn(start, NAME_CHARS);
	if (!isalnum((unsigned char)*start))
		return fail_set(f, FAIL_INVALID, "'%.100s' is not the name of a package", start);
	if (strstr(start, "://"))
		return refuse_url(start, f);
	AUTO(buf_release) struct buf name = { 0 };
	buf_add(&name, start, (size_t)(at - start));
	at += strspn(at, BLANKS);
	if (*at == '[') {
		size_t n = strcspn(at, "]");
		AUTO(freep) char *extras = without_blanks(at, n);
		if (!at[n])
			return fail_set(f, FAIL_INVALID, "'%.100s': the bracket is not closed", start);
		if (extras[1 + strspn(extras + 1, NAME_CHARS ",")])
			return fail_set(f, FAIL_INVALID, "'%.100s': the brackets do not hold names of extras", start);
		buf_printf(&name, "%s]", extras);
		at += n + 1;
	}
	at += strspn(at, BLANKS);
	if (*at == '@')
		return refuse_url(start, f);
	size_t n = strcspn(at, ";");
	AUTO(freep) char *version = without_blanks(at, n);
	int applies = at[n] ? marker_applies(at + n + 1, python, f) : 1;
	if (applies <= 0)
		return applies;
	strv_add(ret, buf_str(&name));
	strv_add(ret, plain_version(version));
	return 0;
}

/* --- PEP 723 ------------------------------------------------------------------------------------------------------- */

/* The next line of a text, without its line end; NULL after the last line. */
static char *next_line(const char **at, const char *end)
{
	if (*at >= end)
		return NULL;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	size_t n = (size_t)((newline ? newline : end) - *at);
	char *line = xstrndup(*at, n > 0 && (*at)[n - 1] == '\r' ? n - 1 : n);
	*at += n + 1;
	return line;
}

/* The TOML between "# /// script" and "# ///", and the number of its first line; "" if there is no such block. */
static char *script_block(const char *text, size_t n, unsigned *ret_line)
{
	AUTO(buf_release) struct buf block = { 0 };
	const char *at = text, *end = text + n;
	bool inside = false;
	/* The block begins below the line that opens it. */
	for (*ret_line = 2;; *ret_line += !inside) {
		AUTO(freep) char *line = next_line(&at, end);
		if (!line || (inside && *line != '#'))
			return xstrdup(""); /* it is not closed */
		if (inside && streq(line, "# ///"))
			return buf_steal_str(&block);
		if (inside)
			buf_printf(&block, "%s\n", line + 1 + (line[1] == ' '));
		inside = inside || streq(line, "# /// script");
	}
}

static const char *skip_blank(const char *p)
{
	for (;;) {
		p += strspn(p, BLANKS);
		if (*p != '#')
			return p;
		p += strcspn(p, "\n");
	}
}

/* Reads a TOML string on one line; NULL if there is no string. In a requirement, only quotes need an escape. */
static const char *take_string(const char *p, struct buf *out)
{
	char quote = *p++;
	if (quote != '"' && quote != '\'')
		return NULL;
	for (; *p && *p != '\n' && *p != quote; p++) {
		p += quote == '"' && *p == '\\' && p[1];
		buf_add(out, p, 1);
	}
	return *p == quote ? p + 1 : NULL;
}

/* Where the value of a top-level key begins; NULL if there is no such key. */
static const char *find_value(const char *toml, const char *key)
{
	size_t n = strlen(key);
	for (const char *p = toml; *(p = skip_blank(p)) && *p != '['; p += strcspn(p, "\n")) {
		if (strncmp(p, key, n) != 0)
			continue;
		const char *equals = p + n + strspn(p + n, " \t");
		if (*equals != '=')
			continue;
		return equals + 1 + strspn(equals + 1, " \t");
	}
	return NULL;
}

static unsigned count_lines(const char *from, const char *to)
{
	unsigned n = 0;
	for (; from < to; from++)
		n += *from == '\n';
	return n;
}

int requirements_of_script(const char *text, size_t n, const char *python, struct strv *ret, struct fail *f)
{
	unsigned line;
	AUTO(freep) char *toml = script_block(text, n, &line);
	const char *p = find_value(toml, "dependencies");
	if (!p)
		return 0;
	if (*p++ != '[')
		return fail_set(f, FAIL_INVALID, "cannot read the script's metadata: dependencies is not a list");
	for (p = skip_blank(p); *p && *p != ']'; p = skip_blank(p)) {
		AUTO(buf_release) struct buf requirement = { 0 };
		unsigned here = line + count_lines(toml, p);
		p = take_string(p, &requirement);
		if (!p)
			return fail_set(f, FAIL_INVALID,
					"cannot read the script's metadata: dependencies is not a list of strings");
		if (requirements_add(buf_str(&requirement), python, ret, f) < 0)
			return fail_wrap(f, "line %u", here);
		p = skip_blank(p);
		p += *p == ',';
	}
	return *p ? 0 :
		    fail_set(f, FAIL_INVALID,
			     "cannot read the script's metadata: the list of dependencies is not closed");
}

/* --- requires-python ----------------------------------------------------------------------------------------------- */

/* Whether some patch release of a minor version meets a limit such as ">=3.9"; -1 if the limit cannot be read. */
static int can_meet(const char *minor, const char *limit)
{
	size_t n = strspn(limit, "<>=!~");
	AUTO(freep) char *op = xstrndup(limit, n);
	char patches[PEP440_PATCHES][PEP440_PATCH_MAX];
	int met = -1;
	pep440_patches(minor, limit + n, patches);
	for (size_t i = 0; i < PEP440_PATCHES; i++) {
		int one = pep440_meets(patches[i], op, limit + n);
		met = MAX(met, one);
	}
	return met;
}

int requirements_check_python(const char *text, size_t n, const char *python, struct fail *f)
{
	unsigned line;
	AUTO(freep) char *toml = script_block(text, n, &line);
	AUTO(buf_release) struct buf value = { 0 };
	const char *p = find_value(toml, "requires-python");
	if (!p)
		return 0;
	if (!take_string(p, &value))
		return fail_set(f, FAIL_INVALID, "cannot read the script's metadata: requires-python is not a string");
	AUTO(freep) char *limits = without_blanks(buf_str(&value), value.len);
	for (char *rest = limits, *limit; (limit = strsep(&rest, ","));) {
		int met = *limit ? can_meet(python, limit) : 1;
		if (met < 0)
			return fail_set(f, FAIL_INVALID, "cannot read the script's metadata: requires-python '%.100s'",
					buf_str(&value));
		if (met)
			continue;
		fail_set(f, FAIL_INVALID, "the script requires Python %.100s, and the image has %s", buf_str(&value),
			 python);
		return fail_hint(f, "change requires-python, or use an image with another Python (--image)");
	}
	return 0;
}

/* --- requirements.txt ---------------------------------------------------------------------------------------------- */

static void cut_comment(char *line)
{
	for (char *p = line; (p = strchr(p, '#')); p++) {
		if (p != line && !strchr(BLANKS, p[-1]))
			continue;
		*p = '\0';
		return;
	}
}

/* One line, already without its comment. */
static int add_line(const char *start, const char *python, struct strv *ret, struct fail *f)
{
	if (*start == '-' || strstr(start, " --") || strchr(start, '\\'))
		return fail_set(f, FAIL_INVALID, "'%.100s': options are not supported, only names and versions", start);
	return *start ? requirements_add(start, python, ret, f) : 0;
}

int requirements_of_file(const char *text, size_t n, const char *python, struct strv *ret, struct fail *f)
{
	const char *at = text;
	for (unsigned number = 1;; number++) {
		AUTO(freep) char *line = next_line(&at, text + n);
		if (!line)
			return 0;
		cut_comment(line);
		if (add_line(line + strspn(line, BLANKS), python, ret, f) < 0)
			return fail_wrap(f, "line %u", number);
	}
}

/* --- package.json -------------------------------------------------------------------------------------------------- */

int requirements_of_package(const char *text, size_t n, struct strv *ret, struct fail *f)
{
	json_error_t error;
	json_auto_t *package = json_loadb(text, n, 0, &error);
	json_t *wanted = json_object_get(package, "dependencies"), *version;
	const char *name;
	if (!json_is_object(package))
		return fail_set(f, FAIL_INVALID, "cannot read package.json as a JSON object: line %d: %s", error.line,
				error.text);
	if (wanted && !json_is_object(wanted))
		return fail_set(f, FAIL_INVALID, "cannot read package.json: dependencies is not an object");
	json_object_foreach(wanted, name, version) {
		const char *text_of = json_string_value(version);
		if (!text_of)
			return fail_set(f, FAIL_INVALID,
					"cannot read package.json: the version of '%.100s' is not a string", name);
		strv_add(ret, name);
		strv_add(ret, streq(text_of, "*") || streq(text_of, "latest") ? "" : text_of);
	}
	return 0;
}
