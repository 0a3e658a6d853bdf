/* Access to the API: keys, tenants, secrets and signatures. A part of manager.h, which includes it; the rules there hold here. */
#ifndef HUSK_MANAGER_ACCESS_H
#define HUSK_MANAGER_ACCESS_H

#include "base/fail.h"
#include "manager/model/scope.h"
#include "manager/model/secret.h"
#include "manager/model/tenant.h"

struct manager;
struct op;

/* --- keys of the API --------------------------------------------------------------------------------------------- */
/* A key has the form husk_ID_SECRET. Only a hash of it is stored. */
struct key_info {
	const char *id, *name, *tenant;
	const char *conversation; /* full id, for requests that name none; NULL = the user's own conversation */
	unsigned scopes;
	uint64_t created_ms, used_ms; /* used 0 = never */
	uint64_t max_streams;	      /* of its tenant, if the key was checked; 0 = no limit */
};
struct add_key_request {
	const char *name; /* 1 to 64 bytes, unique in the tenant */
	const char *tenant;
	unsigned scopes;
	bool own; /* for the user's own conversation */
	/* New limits of the tenant; NULL = unchanged. */
	const struct tenant_limits *limits;
	/* key is the only copy of the key; NULL = f says why there is none. */
	void (*on_done)(void *ctx, const char *key, const struct key_info *info, const struct fail *f);
	void *ctx;
};
struct op *manager_add_key(struct manager *m, const struct add_key_request *req, struct fail *f);
struct keys_request {
	const char *tenant; /* NULL = of all tenants */
	void (*on_done)(void *ctx, const struct key_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_keys(struct manager *m, const struct keys_request *req, struct fail *f);
struct remove_key_request {
	const char *tenant; /* NULL = of any tenant */
	const char *key;    /* id or name */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_remove_key(struct manager *m, const struct remove_key_request *req, struct fail *f);
struct check_key_request {
	const char *key; /* as a client sent it */
	/* info NULL and f NULL: the key is not valid. */
	void (*on_done)(void *ctx, const struct key_info *info, const struct fail *f);
	void *ctx;
};
struct op *manager_check_key(struct manager *m, const struct check_key_request *req, struct fail *f);
/* The same without waiting, for a key that was checked in the last seconds; NULL = unknown. Valid until the next
 * turn of the loop. */
const struct key_info *manager_known_key(struct manager *m, const char *key);
/* The limits of a tenant; all are 0 if none were set. */
struct tenant_request {
	const char *tenant;
	void (*on_done)(void *ctx, const struct tenant_limits *limits, const struct fail *f);
	void *ctx;
};
struct op *manager_tenant(struct manager *m, const struct tenant_request *req, struct fail *f);

/* --- streams of tenants ------------------------------------------------------------------------------------------- */
/* The limit on open streams of a tenant holds for all servers of the store together. */
struct claim_stream_request {
	const char *tenant;
	/* id: for manager_release_stream(). NULL = f says why there is none. */
	void (*on_done)(void *ctx, const char *id, const struct fail *f);
	void *ctx;
};
struct op *manager_claim_stream(struct manager *m, const struct claim_stream_request *req);
void manager_release_stream(struct manager *m, const char *id);

/* --- secrets ------------------------------------------------------------------------------------------------------- */
struct set_secret_request {
	/* Without hosts and times. The header may have upper case. */
	struct secret_info info;
	const char *const *hosts; /* "name" or "name:port" */
	size_t n_hosts;
	const char *value;
	/* info NULL: f says why the secret was not stored. */
	void (*on_done)(void *ctx, const struct secret_info *info, const struct fail *f);
	void *ctx;
};
/* Stores a secret, sealed, or replaces the one of this name. NULL with f if it is not valid. */
struct op *manager_set_secret(struct manager *m, const struct set_secret_request *req, struct fail *f);
struct secrets_request {
	const char *tenant;
	/* By name. Values are never returned. */
	void (*on_done)(void *ctx, const struct secret_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct op *manager_secrets(struct manager *m, const struct secrets_request *req, struct fail *f);
struct remove_secret_request {
	const char *tenant, *name;
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
/* Running sessions cannot use it from now on. */
struct op *manager_remove_secret(struct manager *m, const struct remove_secret_request *req, struct fail *f);

/* --- answers to requests that may be repeated ---------------------------------------------------------------------- */
/* A client that repeats a request with the same name (Idempotency-Key) gets the first answer, also from the next server,
 * for 24 hours. */
enum answer_state {
	ANSWER_NEW,	  /* the first request: do it, then call manager_keep_answer() or manager_drop_answer() */
	ANSWER_KEPT,	  /* it was answered */
	ANSWER_UNDER_WAY, /* it was not answered yet, or its server was killed before */
	ANSWER_OTHER,	  /* the name was used for another request */
};
struct kept_answer {
	int status;
	const char *type, *location, *body; /* texts; NULL = none */
};
struct begin_answer_request {
	const char *tenant, *key, *name; /* the caller, and the name; key NULL = the unix socket */
	const char *request;		 /* method and target */
	const char *body;
	/* id is for the functions below; answer is set for ANSWER_KEPT. If f is set, nothing is known. */
	void (*on_done)(void *ctx, enum answer_state state, const char *id, const struct kept_answer *answer,
			const struct fail *f);
	void *ctx;
};
struct op *manager_begin_answer(struct manager *m, const struct begin_answer_request *req, struct fail *f);
struct keep_answer_request {
	const char *id, *tenant;
	struct kept_answer answer;
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_keep_answer(struct manager *m, const struct keep_answer_request *req, struct fail *f);
/* A hash of any bytes, as lower-case hex, for `body` of requests that are too large for a text. For worker jobs too. */
#define MANAGER_HASH_SIZE 65
void manager_hash(const void *data, size_t n, char ret[MANAGER_HASH_SIZE]);
/* The request had no effect, so it may be repeated. */
void manager_drop_answer(struct manager *m, const char *id);

/* --- tasks --------------------------------------------------------------------------------------------------------- */
/* Finds the session of a task that this server does not have: another server may have it. */
struct conversation;
struct task_session_request {
	const char *task;
	void (*on_done)(void *ctx, const char *session); /* NULL = this server answers requests for the task */
	void *ctx;
};
struct op *manager_task_session(struct conversation *c, const struct task_session_request *req, struct fail *f);

/* --- signatures ---------------------------------------------------------------------------------------------------- */
/* Signatures prove that a server of this store has made a text, such as a link. Other servers with the same key accept
 * them, also after a restart. */
struct signing_request {
	/* f NULL: manager_sign() works from now on. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
struct op *manager_prepare_signing(struct manager *m, const struct signing_request *req, struct fail *f);
bool manager_can_sign(const struct manager *m);
/* Both only if manager_can_sign(). */
#define MANAGER_SIGNATURE_SIZE 44
void manager_sign(const struct manager *m, const char *text, char ret[MANAGER_SIGNATURE_SIZE]);
bool manager_is_signed(const struct manager *m, const char *text, const char *signature);
/* 128 random bits as lower-case text. */
#define MANAGER_SECRET_SIZE 27
void manager_make_secret(char ret[MANAGER_SECRET_SIZE]);
/* Compares in constant time. */
bool manager_secrets_equal(const char *a, const char *b);

#endif
