#include "manager/model/query.h"

#include "base/alloc.h"

static const char *const kinds[QUERY_KINDS] = {
	[QUERY_COMPLETE] = "complete",
	[QUERY_INSPECT] = "inspect",
	[QUERY_IS_COMPLETE] = "is_complete",
};

static const char *const completenesses[CODE_COMPLETENESSES] = {
	[CODE_UNKNOWN] = "unknown",
	[CODE_COMPLETE] = "complete",
	[CODE_INCOMPLETE] = "incomplete",
	[CODE_INVALID] = "invalid",
};

void query_answer_release(struct query_answer *a)
{
	for (size_t i = 0; i < a->n_matches; i++)
		free(a->matches[i]);
	free(a->matches);
	free(a->text);
	free(a->html);
	free(a->indent);
	*a = (struct query_answer){ 0 };
}

const char *query_kind_name(enum query_kind kind)
{
	return kinds[kind];
}

const char *completeness_name(enum completeness c)
{
	return completenesses[c];
}

enum completeness completeness_find(const char *name)
{
	for (int i = 0; name && i < CODE_COMPLETENESSES; i++)
		if (streq(completenesses[i], name))
			return (enum completeness)i;
	return CODE_UNKNOWN;
}
