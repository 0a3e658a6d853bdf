#include "manager/registry/answer-budget.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/loop.h"
#include "manager/model/cause.h"
#include "manager/model/tenant.h"
#include "manager/store/store.h"

struct tenant_budget {
	struct list node;
	char *tenant;
	uint64_t since; /* in loop_now_ms(): when the day of the counts began */
	uint64_t requests, bytes;
};

struct answer_budget {
	struct list tenants;
};

struct answer_budget *answer_budget_free(struct answer_budget *b)
{
	if (!b)
		return NULL;
	list_for_each(t, &b->tenants, struct tenant_budget, node) {
		list_remove(&t->node);
		free(t->tenant);
		free(t);
	}
	free(b);
	return NULL;
}

static struct tenant_budget *find(struct answer_budget **b, const char *tenant)
{
	if (!*b) {
		*b = new0(struct answer_budget);
		list_init(&(*b)->tenants);
	}
	struct tenant_budget *found = NULL;
	list_for_each(t, &(*b)->tenants, struct tenant_budget, node)
		if (streq(t->tenant, tenant))
			found = t;
	if (!found) {
		found = new0(struct tenant_budget);
		found->tenant = xstrdup(tenant);
		found->since = loop_now_ms();
		list_append(&(*b)->tenants, &found->node);
	}
	if (loop_now_ms() - found->since >= ANSWERS_KEPT_MS) {
		found->since = loop_now_ms();
		found->requests = found->bytes = 0;
	}
	return found;
}

/* The tenant `local` belongs to the operator, whose disk this is. */
int answer_budget_take(struct answer_budget **b, const char *tenant, struct fail *f)
{
	if (streq(tenant, TENANT_LOCAL))
		return 0;
	struct tenant_budget *t = find(b, tenant);
	if (t->requests >= ANSWERS_OF_TENANT_MAX)
		cause_set(f, FAIL_LIMIT, CAUSE_LIMIT_TENANT,
			  "This tenant has sent %d requests with an Idempotency-Key within a day, the maximum.",
			  ANSWERS_OF_TENANT_MAX);
	else if (t->bytes >= ANSWER_BYTES_OF_TENANT_MAX)
		cause_set(
			f, FAIL_LIMIT, CAUSE_LIMIT_TENANT,
			"The answers to this tenant's requests with an Idempotency-Key have reached %llu MiB within a day, "
			"the maximum.",
			ANSWER_BYTES_OF_TENANT_MAX >> 20);
	if (f->kind)
		return fail_hint(f, "Send the request without an Idempotency-Key.");
	t->requests++;
	return 0;
}

void answer_budget_add(struct answer_budget **b, const char *tenant, size_t bytes)
{
	if (!streq(tenant, TENANT_LOCAL))
		find(b, tenant)->bytes += bytes;
}
