/* Routes of git. Each runs one fixed command in the session: values of a request are variables of this command, so they
 * are never read as a part of it. Credentials are secrets of the session: git gets the placeholder as the password, and
 * the gate puts the value in its place. */
#include "api/host.h"
#include "api/route.h"
#include "api/runs.h"
#include "base/alloc.h"

#define URL_MAX 2048
#define PATH_LENGTH_MAX 4095
#define NAME_LENGTH_MAX 256
#define MESSAGE_MAX (16u << 10)
#define FILES_MAX 1000
#define DEPTH_MAX 1000000
#define GIT_TIMEOUT 1800

struct git_body {
	const char *url, *path, *branch, *secret, *user;
	int64_t depth;
	const char *message, *author_name, *author_email;
	json_t *files;
	bool push;
};

/* In a shell of its own, which leaves the session's shell as it is. printenv reads a variable by its name. */
#define BEGIN                                                                                                          \
	"( set -e; export GIT_TERMINAL_PROMPT=0\n"                                                                     \
	"if [ -n \"$HUSK_GIT_SECRET\" ]; then\n"                                                                       \
	"  export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=credential.helper GIT_CONFIG_VALUE_0=\n"                         \
	"  export GIT_CONFIG_KEY_1=credential.helper\n"                                                                \
	"  export GIT_CONFIG_VALUE_1='!f() { test \"$1\" = get || exit 0; echo \"username=$HUSK_GIT_USER\"; "          \
	"echo \"password=$(printenv \"$HUSK_GIT_SECRET\")\"; }; f'\n"                                                  \
	"fi\n"

static const char clone[] = BEGIN "set -- clone\n"
				  "[ -z \"$HUSK_GIT_BRANCH\" ] || set -- \"$@\" --branch \"$HUSK_GIT_BRANCH\"\n"
				  "[ -z \"$HUSK_GIT_DEPTH\" ] || set -- \"$@\" --depth \"$HUSK_GIT_DEPTH\"\n"
				  "set -- \"$@\" -- \"$HUSK_GIT_URL\"\n"
				  "[ -z \"$HUSK_GIT_PATH\" ] || set -- \"$@\" \"$HUSK_GIT_PATH\"\n"
				  "exec git \"$@\" )";

static const char commit[] = BEGIN
	"cd -- \"$HUSK_GIT_PATH\"\n"
	"[ -z \"$HUSK_GIT_NAME\" ] || export GIT_AUTHOR_NAME=\"$HUSK_GIT_NAME\" GIT_COMMITTER_NAME=\"$HUSK_GIT_NAME\"\n"
	"[ -z \"$HUSK_GIT_EMAIL\" ] || export GIT_AUTHOR_EMAIL=\"$HUSK_GIT_EMAIL\" GIT_COMMITTER_EMAIL=\"$HUSK_GIT_EMAIL\"\n"
	"if [ -n \"$HUSK_GIT_FILES\" ]; then\n"
	"  printf '%s\\n' \"$HUSK_GIT_FILES\" | GIT_LITERAL_PATHSPECS=1 git add -A --pathspec-from-file=-\n"
	"else git add -A; fi\n"
	"git commit -m \"$HUSK_GIT_MESSAGE\"\n"
	"[ -z \"$HUSK_GIT_PUSH\" ] || exec git push origin HEAD )";

static const struct arg clone_table[] = {
	{ "url", ARG_STRING, offsetof(struct git_body, url), ARG_REQUIRED | ARG_NONEMPTY, .max = URL_MAX,
	  .description = "The repository.", .example = "\"https://git.example.com/team/project.git\"" },
	{ "path", ARG_STRING, offsetof(struct git_body, path), ARG_NONEMPTY, .max = PATH_LENGTH_MAX,
	  .description = "The new folder; by default it has the name of the repository, in /workspace.",
	  .example = "\"project\"" },
	{ "branch", ARG_STRING, offsetof(struct git_body, branch), ARG_NONEMPTY, .max = NAME_LENGTH_MAX,
	  .description = "A branch or tag to check out.", .example = "\"main\"" },
	{ "depth", ARG_INT, offsetof(struct git_body, depth), .min = 1, .max = DEPTH_MAX,
	  .description = "Number of commits to fetch; by default all.", .example = "1" },
	{ "secret", ARG_STRING, offsetof(struct git_body, secret), ARG_NONEMPTY, .max = SECRET_NAME_MAX,
	  .description = "A secret of the session, as the password.", .example = "\"GIT_TOKEN\"" },
	{ "user", ARG_STRING, offsetof(struct git_body, user), ARG_NONEMPTY, .max = NAME_LENGTH_MAX,
	  .description = "The user of the secret; \"git\" by default.", .example = "\"me\"" },
	{ 0 },
};

static const struct arg commit_table[] = {
	{ "path", ARG_STRING, offsetof(struct git_body, path), ARG_REQUIRED | ARG_NONEMPTY, .max = PATH_LENGTH_MAX,
	  .description = "The folder of the repository, absolute or below /workspace.", .example = "\"project\"" },
	{ "message", ARG_STRING, offsetof(struct git_body, message), ARG_REQUIRED | ARG_NONEMPTY, .max = MESSAGE_MAX,
	  .description = "The message of the commit.", .example = "\"report: add the totals\"" },
	{ "files", ARG_STRINGS, offsetof(struct git_body, files), .max = FILES_MAX,
	  .description = "Files and folders to commit, below the repository; by default all changes.",
	  .example = "[\"report.md\"]" },
	{ "author_name", ARG_STRING, offsetof(struct git_body, author_name), ARG_NONEMPTY, .max = NAME_LENGTH_MAX,
	  .description = "Name of the author; by default as git is configured.", .example = "\"Ada\"" },
	{ "author_email", ARG_STRING, offsetof(struct git_body, author_email), ARG_NONEMPTY, .max = NAME_LENGTH_MAX,
	  .description = "Address of the author.", .example = "\"ada@example.com\"" },
	{ "push", ARG_BOOL, offsetof(struct git_body, push),
	  .description = "Push the commit to the repository that it was cloned from.", .example = "true" },
	{ "secret", ARG_STRING, offsetof(struct git_body, secret), ARG_NONEMPTY, .max = SECRET_NAME_MAX,
	  .description = "A secret of the session, as the password for the push.", .example = "\"GIT_TOKEN\"" },
	{ "user", ARG_STRING, offsetof(struct git_body, user), ARG_NONEMPTY, .max = NAME_LENGTH_MAX,
	  .description = "The user of the secret; \"git\" by default.", .example = "\"me\"" },
	{ 0 },
};

/* One name in each line, as git reads them. -1 with f if a name cannot be in a line. */
static int file_lines(const json_t *files, struct buf *out, struct fail *f)
{
	for (size_t i = 0; i < json_array_size(files); i++) {
		const char *name = json_string_value(json_array_get(files, i));
		if (!*name || strpbrk(name, "\n\r") || *name == '"')
			return fail_set(f, FAIL_INVALID,
					"files: a name is empty, begins with a quotation mark or has line ends");
		buf_printf(out, "%s%s", i ? "\n" : "", name);
	}
	return 0;
}

static const char *text(const char *value)
{
	return value ? value : "";
}

static void run(struct exchange *x, const char *command)
{
	const struct git_body *b = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf files = { 0 };
	char depth[24] = "";
	if ((b->secret && !secret_name_is_valid(b->secret)) || file_lines(b->files, &files, &f) < 0) {
		if (!f.kind)
			fail_set(&f, FAIL_INVALID, "secret: '%.64s' is not the name of a secret", b->secret);
		exchange_fail(x, &f);
		return;
	}
	if (b->depth)
		snprintf(depth, sizeof(depth), "%lld", (long long)b->depth);
	const struct env_var env[] = {
		{ "HUSK_GIT_URL", text(b->url) },	   { "HUSK_GIT_PATH", text(b->path) },
		{ "HUSK_GIT_BRANCH", text(b->branch) },	   { "HUSK_GIT_DEPTH", depth },
		{ "HUSK_GIT_SECRET", text(b->secret) },	   { "HUSK_GIT_USER", b->user ? b->user : "git" },
		{ "HUSK_GIT_MESSAGE", text(b->message) },  { "HUSK_GIT_FILES", buf_str(&files) },
		{ "HUSK_GIT_NAME", text(b->author_name) }, { "HUSK_GIT_EMAIL", text(b->author_email) },
		{ "HUSK_GIT_PUSH", b->push ? "1" : "" },
	};
	runs_start(x, &(struct run_request){ .kind = RUN_TERMINAL,
					     .text = command,
					     .len = strlen(command),
					     .cwd = "/workspace",
					     .env = env,
					     .n_env = ARRAY_LEN(env),
					     .timeout_seconds = GIT_TIMEOUT });
}

static void post_clone(struct exchange *x)
{
	run(x, clone);
}

static void post_commit(struct exchange *x)
{
	run(x, commit);
}

static const struct route_answer answers[] = {
	{ 200, "Run", NULL, "git has ended within the preferred wait." },
	{ 200, NULL, "text/event-stream", "The events of its run, up to its end." },
	{ 202, "Run", NULL, "git was started; its run is at Location." },
	{ 0 },
};

const struct route routes_git[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/git/clone",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "cloneRepository",
	  .tag = "files",
	  .summary = "Clone a git repository into a session",
	  .text = "git is a command of the session, with its network, and the answer is like that of `POST …/runs`. With `secret`, "
		  "git uses this secret of the session as its password, which never enters the session.",
	  .body = clone_table,
	  .body_size = sizeof(struct git_body),
	  .answers = answers,
	  .example = "-H 'Prefer: wait=300' --json '{\"url\": \"https://git.example.com/team/project.git\"}'",
	  .handle = post_clone },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/git/commit",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "commitFiles",
	  .tag = "files",
	  .summary = "Commit files of a session, and push them",
	  .text = "The answer is like that of `POST …/runs`.",
	  .body = commit_table,
	  .body_size = sizeof(struct git_body),
	  .answers = answers,
	  .example = "-H 'Prefer: wait=60' --json '{\"path\": \"project\", \"message\": \"Add the report\"}'",
	  .handle = post_commit },
	{ 0 },
};
