/* How many answers to repeatable requests each tenant has stored lately. Answers are kept for a day, so that a tenant
 * could otherwise fill the disk of all. The count is this server's own, and begins again with it. */
#ifndef HUSK_MANAGER_REGISTRY_ANSWER_BUDGET_H
#define HUSK_MANAGER_REGISTRY_ANSWER_BUDGET_H

#include "base/fail.h"

#define ANSWERS_OF_TENANT_MAX 100000
#define ANSWER_BYTES_OF_TENANT_MAX (256ull << 20)

struct answer_budget;

/* Accepts NULL, returns NULL. */
struct answer_budget *answer_budget_free(struct answer_budget *b);
/* Counts one more request of the tenant. Fails if it has used up what a day allows. *b is made if it is NULL. */
int answer_budget_take(struct answer_budget **b, const char *tenant, struct fail *f);
/* Counts the bytes of a stored answer. */
void answer_budget_add(struct answer_budget **b, const char *tenant, size_t bytes);

#endif
