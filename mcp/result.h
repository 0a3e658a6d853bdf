/* Results of tools: run results and failures as content blocks. Pure: no loop, no connection.
 *
 * A run becomes one readable text block (mcp/answer.h), then pictures. Its fields are in _meta["dev.husk/result"].
 * A text of more than RESULT_META_TEXT_MAX bytes is replaced there by its length: `stdout_chars` for `stdout`,
 * `result_chars` for missing types of `result`, and entries of display_outputs without data. structuredContent has
 * all texts. Clients that get structuredContent hide text or pictures, so it is sent only if requested. */
#ifndef HUSK_MCP_RESULT_H
#define HUSK_MCP_RESULT_H

#include <jansson.h>

#include "base/fail.h"
#include "manager/manager.h"
#include "mcp/answer.h"

#define RESULT_META "dev.husk/result"
#define RESULT_META_TEXT_MAX 4096
/* Clients reject longer lines: Claude Desktop refuses lines over 1 MiB, and the TypeScript SDK closes the connection
 * above 10 MiB. */
#define RESULT_LINE_AIM 1000000
#define RESULT_LINE_MAX (8u << 20)

/* A CallToolResult. New reference. */
json_t *result_of_run(const struct run_result *run, const struct run_context *ctx);

/* The content of a result as JSON text, for people who want to see what the model saw. Pictures that are too long to keep
 * are left out of it; their blocks stay. The caller owns it. */
char *result_shown(const json_t *result);

struct fail_context {
	const char *session_id;	 /* NULL if the request names no session */
	json_t *details;	 /* borrowed: problems of args_decode(); NULL if none */
	json_t *active_sessions; /* borrowed: [{session_id, runtime, status, age_seconds, idle_seconds}] */
	bool fields_in_meta;	 /* false: structuredContent, if the revision has it */
	bool structured;
	bool remote; /* the client may be elsewhere: files of the host are not named */
};

/* The CallToolResult of a request that ran nothing: isError, the reference's leading words, the next step. New
 * reference. */
json_t *result_of_fail(const struct fail *failure, const struct fail_context *ctx);

/* Puts the fields (taken) into text and, if the revision has it, into structuredContent. New reference. */
json_t *result_of_fields(json_t *fields, bool structured);

#endif
