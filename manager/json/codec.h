/* The manager's requests and results as JSON and back. Encoders return a new reference, never NULL. Decoders get
 * untrusted data: they check everything that the structs promise, and fail with a sentence.
 *
 * The strings of a decoded request point into its JSON, which must outlive the request. The caller owns the vectors
 * that are returned beside a request, and results that have a release function, on failure too. Callbacks are not
 * set. */
#ifndef HUSK_MANAGER_JSON_CODEC_H
#define HUSK_MANAGER_JSON_CODEC_H

#include <jansson.h>

#include "manager/manager.h"

json_t *fail_encode(const struct fail *f);
/* Also reads problem details. Always yields a failure, even if the JSON is invalid. */
void fail_decode(const json_t *json, struct fail *f);

json_t *key_info_encode(const struct key_info *info);
json_t *secret_info_encode(const struct secret_info *info);

/* --- runs ---------------------------------------------------------------------------------------------------------- */
json_t *env_encode(const struct env_var *v, size_t n);
/* The caller frees *ret; json NULL = empty. */
int env_decode(const json_t *json, struct env_var **ret, size_t *ret_n, struct fail *f);

/* The texts of a list; they point into the JSON. The caller frees the array. */
const char **strings_decode(const json_t *list);
/* Names and versions of packages; they point into the JSON. The caller frees the result. */
struct dependency *dependencies_decode(json_t *texts, size_t *ret_n);
/* Copies a list of strings; NULL if there is no list. */
const struct strv *hosts_decode(const json_t *list, struct strv *ret);

/* The body of a request to the API, for a new run. */
json_t *run_request_encode(const struct run_request *req);
json_t *display_encode(const struct shown_display *d);
/* The caller releases ret_bundle, on failure too; the rest points into the JSON. */
int display_decode(const json_t *json, struct shown_display *ret, struct mime_bundle *ret_bundle, struct fail *f);
/* Without `earlier`, which is empty in a client's results. */
json_t *run_result_encode(const struct run_result *r);
/* Adds how a run ended: the fields of a result without its number, ending, texts and displays. A cause and a detail that
 * the object has already are kept. */
void run_outcome_encode(json_t *out, const struct run_result *r);
int run_result_decode(const json_t *json, struct run_result *ret, struct fail *f);

json_t *mime_bundle_encode(const struct mime_bundle *b);

/* --- records and journals ------------------------------------------------------------------------------------------ */
/* parts: with everything that the run has shown. */
json_t *run_record_encode(const struct run_record *r, bool parts);
json_t *journal_event_encode(const struct journal_event *e);
json_t *journal_gap_encode(const struct journal_gap *gap);

/* --- sessions ------------------------------------------------------------------------------------------------------ */
/* The names that a session's gate lets through, as a list. */
json_t *session_rules_encode(const char *rules);
json_t *network_info_encode(const struct network_info *info);
/* Owns what a decoded network_info points to, except texts of the JSON. */
struct network_list {
	char *rules;
	struct network_connection *connections;
	struct network_denial *denials;
};
int network_info_decode(const json_t *json, struct network_info *ret, struct network_list *ret_list, struct fail *f);
void network_list_release(struct network_list *list);
json_t *session_info_encode(const struct session_info *info);
/* Strings point into the JSON. */
int session_info_decode(const json_t *json, struct session_info *ret, struct fail *f);
json_t *session_details_encode(const struct session_details *d);
/* Likewise, but the caller releases ret_status and frees *ret_runs. */
int session_details_decode(const json_t *json, struct session_details *ret, struct run_info **ret_runs,
			   struct session_status *ret_status, struct fail *f);

/* Adds `conversation`, and `tenant` unless it is the operator's own. NULL = nothing is added. */
void conversation_encode(json_t *out, const char *conversation);
/* The session of a history, and one of its entries: a run, or another thing that was done in it. */
json_t *history_session_encode(const struct history *h);
json_t *executed_encode(const struct executed *e);
/* One setting. A secret has no value, only `set`. name is one of config_names(). */
json_t *setting_encode(const struct config *c, const char *name);

/* A session of any server. remote: without its owner, which is a process of the host. */
json_t *listed_session_encode(const struct listed_session *s, bool remote);

/* --- queries ------------------------------------------------------------------------------------------------------- */
json_t *query_answer_encode(const struct query_answer *a);
/* The caller releases it, on failure too. */
int query_answer_decode(const json_t *json, struct query_answer *ret, struct fail *f);

/* --- checkpoints --------------------------------------------------------------------------------------------------- */
json_t *restored_encode(const struct restored *r);
/* NULL for NULL. The caller checks *ret_in, and frees the result on failure too. */
struct fields;
struct restored *restored_decode(const json_t *json, struct fields *ret_in);
json_t *checkpoints_encode(const struct checkpoint_info *v, size_t n);
json_t *checkpoint_answer_encode(const struct checkpoint_answer *a);
/* Sets action, and name or run: except for a save, a number names the run. The name stays the caller's. */
int checkpoint_request_decode(struct checkpoint_request *ret, const char *action, const char *name, struct fail *f);
/* The caller releases it, on failure too. */
int checkpoint_answer_decode(const json_t *json, struct checkpoint_answer *ret, struct fail *f);

/* --- the server ---------------------------------------------------------------------------------------------------- */
json_t *check_encode(const struct check *check);
/* The report of the doctor. checks: a list of encoded checks. */
json_t *checks_encode(json_t *checks, bool ok);
json_t *collected_encode(const struct collected *c);
json_t *image_info_encode(const struct image_info *info);

/* --- files --------------------------------------------------------------------------------------------------------- */
/* The body of a request to the API. */
json_t *copy_request_encode(const struct copy_request *req);
/* The caller releases the *ret_n entries of *ret and frees it. */
int copy_results_decode(const json_t *json, struct copy_result **ret, size_t *ret_n, struct fail *f);
/* A file in a session. If its name is not valid UTF-8, `name_encoded` has it as in a URL. */
json_t *file_info_encode(const struct file_info *info);
json_t *file_page_encode(const struct file_page *page);
json_t *export_info_encode(const struct export_info *info);
/* In a list of all tenants: with `tenant` beside `conversation`, where it is needed. */
json_t *listed_export_encode(const struct export_info *info);
int export_info_decode(const json_t *json, struct export_info *ret, struct fail *f);

#endif
