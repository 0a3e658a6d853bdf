/* The JSON-RPC envelope: classifies lines and builds answers. Pure: bytes and JSON in, JSON out.
 *
 * Unusual input: a line is a parse error, without an id, if it is not JSON or not UTF-8, or has a lone surrogate, a
 * duplicate key or a number that fits neither an int64 nor a double. Integers are exact up to 64 bits and echoed
 * unchanged. \u0000 is parsed, and rejected later where it is invalid, so that the error has the request's id. Nesting
 * deeper than RPC_DEPTH_MAX and lines with more than RPC_VALUES_MAX values are invalid requests, because each `[` takes
 * a hundred times its size in memory. */
#ifndef HUSK_MCP_RPC_H
#define HUSK_MCP_RPC_H

#include <jansson.h>

#include "base/buf.h"

#define RPC_DEPTH_MAX 128
#define RPC_VALUES_MAX 200000
/* Maximum length of an id. An id is kept while its request runs, and echoed. */
#define RPC_ID_BYTES_MAX 1024

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_HEADER_MISMATCH = -32020, /* over HTTP */
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind {
	RPC_INVALID, /* to be answered with code and error; id is NULL if there is no usable id */
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE, /* the id may match no request that the server sent */
	RPC_BATCH,    /* a non-empty list; each entry is classified separately */
};

struct rpc_message {
	enum rpc_kind kind;
	json_t *root;	    /* owned; NULL if the line was not JSON */
	json_t *id;	    /* borrowed from root, like the rest */
	const char *method; /* set for requests and notifications */
	json_t *params;	    /* an object or NULL */
	int code;
	const char *error; /* static */
};

/* Never fails: input that cannot be parsed is RPC_INVALID. Release the message afterwards. */
void rpc_parse(struct rpc_message *m, const char *line, size_t n);
/* The same for one entry of a batch; takes its own reference. */
void rpc_classify(struct rpc_message *m, json_t *value);
void rpc_message_release(struct rpc_message *m);

/* All of these return a new message and take `result`, `data` and `params`; id may be NULL for errors. */
json_t *rpc_result(json_t *id, json_t *result);
/* Appends the message of rpc_result() as text, for a result that is already JSON text. */
void rpc_print_result(struct buf *out, const json_t *id, const struct buf *result);
/* Append the message of rpc_result() or rpc_notification() as text. The result or the params get one more member, whose
 * value is JSON text (base/json.h). The method is not escaped, so it must be one of this server. */
void rpc_print_result_with(struct buf *out, const json_t *id, const json_t *result, const char *name, const char *json);
void rpc_print_notification_with(struct buf *out, const char *method, const json_t *params, const char *name,
				 const char *json);
json_t *rpc_error(json_t *id, int code, const char *message, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);

/* Only strings and integers are valid ids. */
bool rpc_id_valid(const json_t *id);
/* A key for an id: the keys of two ids are equal if and only if the ids are (1 and "1" differ). The caller owns it. */
char *rpc_id_key(const json_t *id);
/* At most 80 characters of a name that a client chose, for messages. The caller owns it. */
char *rpc_excerpt(const char *text);

#endif
