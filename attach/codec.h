/* The manager's requests and results as JSON and back. Encoders return a new reference, never NULL. Decoders get
 * untrusted data: they check everything that the structs promise, and fail with a sentence.
 *
 * The strings of a decoded request point into its JSON, which must outlive the request. The caller owns the vectors
 * that are returned beside a request, and results that have a release function, on failure too. Callbacks are not
 * set. */
#ifndef HUSK_ATTACH_CODEC_H
#define HUSK_ATTACH_CODEC_H

#include <jansson.h>

#include "manager/manager.h"

json_t *fail_encode(const struct fail *f);
/* Always yields a failure, even if the JSON is invalid. */
void fail_decode(const json_t *json, struct fail *f);

/* --- runs ---------------------------------------------------------------------------------------------------------- */
json_t *env_encode(const struct env_var *v, size_t n);
/* The caller frees *ret; json NULL = empty. */
int env_decode(const json_t *json, struct env_var **ret, size_t *ret_n, struct fail *f);

json_t *run_request_encode(const struct run_request *req);
int run_request_decode(const json_t *json, struct run_request *ret, struct env_var **ret_env, struct fail *f);
json_t *display_encode(const struct shown_display *d);
/* The caller releases ret_bundle, on failure too; the rest points into the JSON. */
int display_decode(const json_t *json, struct shown_display *ret, struct mime_bundle *ret_bundle, struct fail *f);
/* Without `earlier`, which is empty in a client's results. */
json_t *run_result_encode(const struct run_result *r);
int run_result_decode(const json_t *json, struct run_result *ret, struct fail *f);

/* --- sessions ------------------------------------------------------------------------------------------------------ */
json_t *session_info_encode(const struct session_info *info);
/* Strings point into the JSON. */
int session_info_decode(const json_t *json, struct session_info *ret, struct fail *f);
json_t *session_details_encode(const struct session_details *d);
/* Likewise, but the caller releases ret_status and frees *ret_runs. */
int session_details_decode(const json_t *json, struct session_details *ret, struct run_info **ret_runs,
			   struct session_status *ret_status, struct fail *f);

json_t *create_request_encode(const struct create_request *req);
struct create_parts {
	struct env_var *env;
	struct dependency *dependencies;
};
void create_parts_release(struct create_parts *parts);
int create_request_decode(const json_t *json, struct create_request *ret, struct create_parts *ret_parts,
			  struct fail *f);
/* A list of sessions. */
json_t *sessions_encode(const struct session_info *v, size_t n);
int sessions_decode(const json_t *json, struct session_info **ret, size_t *ret_n, struct fail *f);

/* --- queries ------------------------------------------------------------------------------------------------------- */
json_t *query_request_encode(const struct query_request *req);
int query_request_decode(const json_t *json, struct query_request *ret, struct fail *f);
json_t *query_answer_encode(const struct query_answer *a);
/* The caller releases it, on failure too. */
int query_answer_decode(const json_t *json, struct query_answer *ret, struct fail *f);

/* --- files --------------------------------------------------------------------------------------------------------- */
/* Marks imports of the client's own files; the wire assigns their descriptors. */
json_t *copy_request_encode(const struct copy_request *req);
struct copy_parts {
	struct import_item *imports;
	const char **exports;
};
void copy_parts_release(struct copy_parts *parts);
int copy_request_decode(const json_t *json, struct copy_request *ret, struct copy_parts *ret_parts, struct fail *f);
json_t *copy_results_encode(const struct copy_result *v, size_t n);
/* The caller releases the *ret_n entries of *ret and frees it. */
int copy_results_decode(const json_t *json, struct copy_result **ret, size_t *ret_n, struct fail *f);
json_t *export_info_encode(const struct export_info *info);
int export_info_decode(const json_t *json, struct export_info *ret, struct fail *f);

#endif
