#include "mcp/error-hint.h"

#include <ctype.h>

#include "base/alloc.h"

#define NAME_MAX_CHARS 60
/* Only this many bytes at the end of a long text are searched, because errors come last. */
#define SEARCHED 16384u

#define NO_NETWORK                                                                                                     \
	"This session has no network. Call create_session with network: true if that is allowed, name packages in `dependencies`, or bring files in with import_files."

static const char *end_of(const char *text)
{
	size_t n = text ? strlen(text) : 0;
	return n > SEARCHED ? text + n - SEARCHED : text ? text : "";
}

/* Some errors do not contain their reason: R prints it as a warning, and fetch() of Node keeps it in the error's cause,
 * which the traceback shows. Returns the text with the reason, "" for all other errors. */
static const char *reason_of(const struct run_result *run)
{
	const char *message = run->error_message ? run->error_message : "";
	if (strncmp(message, "cannot open ", 12) == 0)
		return run->stderr_text;
	return streq(message, "fetch failed") ? run->error_traceback : "";
}

/* Finds the words in the error and its reason or, for a command, in its output. Returns NULL if they are not there. */
static const char *find(const struct run_result *run, const char *words)
{
	const char *texts[] = { run->error_message, run->error_type ? reason_of(run) : run->stderr_text,
				run->error_type ? "" : run->stdout_text };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *found = strcasestr(end_of(texts[i]), words);
		if (found)
			return found;
	}
	return NULL;
}

static bool has_any(const struct run_result *run, const char *const *words)
{
	for (; *words; words++)
		if (find(run, *words))
			return true;
	return false;
}

/* --- missing packages -------------------------------------------------------------------------------------------- */

/* Modules whose names differ from their packages. */
static const char *package_of(const char *module)
{
	static const char *const names[][2] = { { "cv2", "opencv-python-headless" },
						{ "sklearn", "scikit-learn" },
						{ "skimage", "scikit-image" },
						{ "PIL", "pillow" },
						{ "yaml", "pyyaml" },
						{ "bs4", "beautifulsoup4" },
						{ "dotenv", "python-dotenv" },
						{ "dateutil", "python-dateutil" },
						{ "docx", "python-docx" },
						{ "fitz", "pymupdf" } };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(module, names[i][0]))
			return names[i][1];
	return module;
}

/* The package of the module named at p, which is the first part of its name: sklearn.svm, lodash/fp,
 * @scope/package/part. NULL if that is not a valid package name, because it becomes part of a command. The caller owns
 * it. */
static char *name_at(const char *p, bool npm)
{
	size_t n = 0, parts = *p == '@' ? 2 : 1;
	for (; isalnum((unsigned char)p[n]) || (p[n] && strchr(npm ? "_-@/." : "_-", p[n])); n++)
		if (p[n] == '/' && --parts == 0)
			break;
	if (!n || n > NAME_MAX_CHARS || !(isalnum((unsigned char)*p) || *p == '_' || (*p == '@' && n > 1)))
		return NULL;
	return xstrndup(p, n);
}

static char *missing_package(const struct run_result *run)
{
	static const struct {
		const char *words, *command, *after;
		bool python, npm;
	} kinds[] = { { "No module named '", "pip install ", "", true, false },
		      { ": No module named ", "pip install ", "", true, false }, /* python3 -m NAME */
		      { "Cannot find module '", "npm install ", "", false, true },
		      { "Cannot find package '", "npm install ", "", false, true },
		      { "there is no package called ‘", "install.packages(\"", "\")", false, false } };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *found = find(run, kinds[i].words);
		AUTO(freep) char *module = found ? name_at(found + strlen(kinds[i].words), kinds[i].npm) : NULL;
		const char *package = module && kinds[i].python ? package_of(module) : module;
		/* A package that exists but cannot be run with python3 -m. */
		if (!module || strncmp(found + strlen(kinds[i].words) + strlen(module), ".__main__", 9) == 0)
			continue;
		if (run->offline)
			return xasprintf(
				"This session has no network, so nothing can be installed in it: call create_session with `dependencies`: {\"%s\": \"\"}.",
				package);
		return xasprintf("Install it (%s%s%s), or name it in `dependencies` of create_session.",
				 kinds[i].command, package, kinds[i].after);
	}
	return NULL;
}

/* --- what a session does not have --------------------------------------------------------------------------------- */

static bool wants_root(const struct run_result *run)
{
	static const char *const words[] = { "/var/lib/dpkg/lock", "/var/lib/apt/lists", "sudo: command not found",
					     "sudo: not found", NULL };
	return has_any(run, words);
}

/* True if the error names a path that exists on users' computers but not in a session. */
static bool names_host_path(const struct run_result *run)
{
	static const char *const paths[] = { "/Users/", "/Volumes/", "/mnt/", "C:\\", "C:/", NULL };
	if (!find(run, "no such file or directory"))
		return false;
	const char *home = find(run, "/home/");
	return has_any(run, paths) || (home && strncmp(home, "/home/sandbox", 13) != 0);
}

static bool needs_network(const struct run_result *run)
{
	static const char *const words[] = { "name resolution",	  "Name or service not known",
					     "Could not resolve", "ENOTFOUND",
					     "EAI_AGAIN",	  "Network is unreachable",
					     "ENETUNREACH",	  "No route to host",
					     "resolve host",	  NULL };
	return run->offline && has_any(run, words);
}

char *error_hint(const struct run_result *run)
{
	char *missing = missing_package(run);
	if (missing)
		return missing;
	if (wants_root(run) && run->offline)
		return xstrdup(
			"There is no root and the system is read-only, so apt cannot be used, and this session has no network: call create_session and name packages in `dependencies`.");
	if (wants_root(run))
		return xstrdup(
			"There is no root and the system is read-only, so apt cannot be used: install with pip, npm or install.packages(), or name packages in `dependencies` of create_session.");
	if (needs_network(run))
		return xstrdup(NO_NETWORK);
	if (names_host_path(run))
		return xstrdup(
			"Paths on the user's computer do not exist in a session: bring the file in with import_files.");
	return NULL;
}

char *warning_hint(const struct run_result *run)
{
	bool failed = strstr(end_of(run->stderr_text), "unable to access index for repository");
	return run->offline && failed ? xstrdup(NO_NETWORK) : NULL;
}
