/* Common steps of operations on a session: find it, wait until it can be used, and start. */
#ifndef HUSK_MANAGER_REGISTRY_OP_H
#define HUSK_MANAGER_REGISTRY_OP_H

#include "manager/registry/conversation.h"

/* Finds the session and starts the operation, now or after the session was found or taken over. Returns the op, or
 * NULL with f filled and the op freed. */
struct op *op_begin(struct op *op, const char *session_id, struct fail *f);
/* Likewise for an operation that only needs to find the session, in any state. type->found follows, at once or
 * later. */
struct op *op_seek(struct op *op, const char *session_id, struct fail *f);

/* True if an item of the request is a variable. */
bool values_wanted(const struct copy_request *req);
/* As manager_copy(), for such a request. */
struct op *values_copy(struct conversation *c, const struct copy_request *req, struct fail *f);

#endif
