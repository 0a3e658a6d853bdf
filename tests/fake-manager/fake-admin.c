/* No sessions to list, stop or collect, and nothing remembered: the verbs are tested with the real manager. */
#include "tests/fake-manager/fake-manager.h"

int settings_load(struct config *c, const char *env_file, struct fail *f)
{
	return config_load(c, env_file, f);
}

int settings_keep(const char *env_file, const char *name, const char *value, struct fail *f)
{
	return fail_set(f, FAIL_STORE, "nothing is kept here");
}

struct op *manager_list_all(struct manager *m, const struct list_request *req, struct fail *f)
{
	req->on_done(req->ctx, NULL, 0, NULL, NULL);
	return NULL;
}

struct op *manager_stop_all(struct manager *m, const struct stop_all_request *req, struct fail *f)
{
	req->on_done(req->ctx, 0, NULL);
	return NULL;
}

struct op *manager_collect_garbage(struct manager *m, const struct collect_request *req, struct fail *f)
{
	req->on_done(req->ctx, NULL, 0, 0, NULL);
	return NULL;
}

struct op *manager_history(struct manager *m, const struct history_request *req, struct fail *f)
{
	req->on_done(req->ctx, &(struct history){ 0 }, NULL);
	return NULL;
}

struct op *manager_verify(struct manager *m, const struct verify_request *req, struct fail *f)
{
	req->on_done(req->ctx, NULL);
	return NULL;
}

struct op *manager_all_exports(struct manager *m, const char *thread, const struct exports_request *req, struct fail *f)
{
	req->on_done(req->ctx, NULL, 0, NULL);
	return NULL;
}

char *manager_own_thread(const struct config *config)
{
	return NULL;
}

int manager_reap(const char *engine, const char *program, char *const *containers)
{
	return 1;
}
