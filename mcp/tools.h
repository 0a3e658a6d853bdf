/* The registry of tools. A tool is one const struct in a tool-*.c file and one line in tools.c. Its schema and the
 * checks of its arguments come from one table. The order of the tools is fixed, because clients cache prompts that
 * contain them. */
#ifndef HUSK_MCP_TOOLS_H
#define HUSK_MCP_TOOLS_H

#include "base/args.h"
#include "manager/manager.h"
#include "mcp/call.h"

struct connection;

struct tool_env {
	struct conversation *conversation;
	const struct config *config;
	bool remote;		       /* the client may be elsewhere: paths of the host are not accepted or shown */
	bool has_roots;		       /* the client says that it has roots */
	struct strv roots;	       /* the roots received so far: absolute folders */
	struct loop *loop;	       /* NULL = do everything on the loop */
	struct connection *connection; /* NULL = the client cannot be asked for input */
	const char *app;	       /* the document of MCP Apps (apps.h); NULL = none */
	/* The address of an export for the client of a request, which works without a key for a day. The caller owns it.
	 * May return NULL, and may be NULL: there is no such address. */
	char *(*link)(const struct call *call, const char *export_id);
	/* Called after exports. May be NULL. */
	void (*on_exports)(const struct tool_env *env, const struct copy_result *results, size_t n);
};

struct tool {
	const char *name; /* [a-z0-9_], at most 30 */
	const char *title;
	bool read_only, destructive; /* annotations */
	bool idempotent;
	bool open_world;
	enum scope scope;    /* what a key needs to call it */
	bool fields_in_meta; /* results are text and images; the fields are in _meta (see result.h) */
	bool has_output;     /* the document of MCP Apps shows what it does (apps.h) */
	/* The description for a model: essentials first, at most TOOL_TEXT_MAX bytes. The caller owns it. */
	char *(*describe)(const struct tool_env *env);
	const struct arg *args;
	/* Used instead of args if the arguments depend on the settings. */
	const struct arg *(*args_for)(const struct tool_env *env);
	size_t args_size;
	/* Adds the parts of the published schema that depend on the settings. May be NULL. */
	void (*extend)(json_t *properties, const struct tool_env *env);
	/* Writes the defaults into args_size zeroed bytes. May be NULL. */
	void (*args_init)(void *args, const struct tool_env *env);
	/* If no operation is needed, answers the request and returns true. May be NULL. */
	bool (*answer_now)(struct call *call, const void *args);
	/* Starts the operation: returns an op whose callback answers the request (after setting call->op to NULL,
	 * since the op is gone), or NULL with f filled. The args live as long as the request. */
	struct op *(*start)(struct call *call, const void *args, struct fail *f);
	/* Called instead of start if the request was answered with input_required and is sent again. NULL if the tool
	 * never needs input. */
	struct op *(*resume)(struct call *call, json_t *state, const json_t *answers, struct fail *f);
};

/* Clients cut longer texts. */
#define TOOL_TEXT_MAX 1800
/* Limit of tools/list and the instructions together, in characters. */
#define TOOLS_TEXT_MAX 15000

extern const struct tool tool_create_session;
extern const struct tool tool_execute_code;
extern const struct tool tool_execute_terminal;
extern const struct tool tool_import_files;
extern const struct tool tool_export_files;
extern const struct tool tool_stop_session;
extern const struct tool tool_session_info;
extern const struct tool tool_show_run;
extern const struct tool tool_checkpoint;

/* Returns NULL past the last tool. */
const struct tool *tools_nth(size_t i);
const struct tool *tools_find(const char *name);
/* The tool that a request calls. Includes the tools of MCP Apps if the client knows them. */
const struct tool *tools_of_request(const struct tool_env *env, const struct call *call, const char *name);
/* The entries of tools/list in the form of the revision. apps: the client knows MCP Apps. New reference. */
json_t *tools_describe(const struct tool_env *env, const struct revision *revision, bool apps);
/* Instructions for the client's model about this server; at most TOOL_TEXT_MAX bytes. The caller owns it. */
char *tools_instructions(const struct tool_env *env);
/* Decodes the arguments and starts the tool. The request is answered now or later. args (an object or NULL) is
 * referenced; env must outlive the request. state and answers belong to a request that is sent again with its inputs
 * (inputs.h); state NULL = a new request. */
void tools_call(struct call *call, const struct tool *tool, json_t *args, const struct tool_env *env, json_t *state,
		const json_t *answers);

#define TOOLS_ADOPTING "Sessions of this conversation are still being taken over from a server that has ended."
/* Answers the request with a failure. The functions below are for the tools. */
void tools_fail(struct call *call, const char *session_id, const struct fail *f);
/* The same, with a list of these active sessions. */
void tools_refuse(struct call *call, const struct session_info *active, size_t n, const struct fail *f);
/* Answers with fields (taken) in the reference's form: as structuredContent and as text. */
void tools_reply_fields(struct call *call, json_t *fields);
/* The CallToolResult of a run that became a task: its result, or why there is none. New reference. */
json_t *tools_word_task(const struct tool_env *env, const struct task_info *task, const struct run_result *result,
			const struct fail *f);
static inline const struct tool_env *call_env(const struct call *call)
{
	return call->env;
}
/* The variables of an argument `env`, an object of strings (NULL = none). They point into the object. The caller frees
 * the vector. */
struct env_var *tools_env(json_t *texts, size_t *ret_n);

#endif
