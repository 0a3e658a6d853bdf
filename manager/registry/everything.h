/* Operations for the person whose sessions these are, over all conversations and all servers. manager.c offers them. */
#ifndef HUSK_MANAGER_REGISTRY_EVERYTHING_H
#define HUSK_MANAGER_REGISTRY_EVERYTHING_H

#include "manager/registry/registry.h"

struct op *list_everything(struct registry *r, const struct list_request *req);
struct op *stop_everything(struct registry *r, const struct stop_all_request *req);
struct op *collect_everything(struct registry *r, const struct collect_request *req);
struct op *history_of(struct registry *r, const struct history_request *req);
struct op *verify_log(struct registry *r, const struct verify_request *req);
/* thread NULL = of all. */
struct op *exports_of_all(struct registry *r, const char *thread, const struct exports_request *req);
struct op *export_delete(struct registry *r, const struct delete_export_request *req);

#endif
