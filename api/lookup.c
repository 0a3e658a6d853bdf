#include "api/lookup.h"

#include "api/conversations.h"
#include "api/forward.h"
#include "api/host.h"
#include "base/alloc.h"

/* Uses the conversation of the session instead of the caller's. */
static bool use_conversation(struct exchange *x, const char *id, struct fail *f)
{
	struct conversation *c = conversations_get(x->api->conversations, id, f);
	if (!c)
		return false;
	conversations_put(x->api->conversations, x->conversation);
	x->conversation = c;
	return true;
}

static void on_row(void *ctx, const struct history *history, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	x->op = NULL;
	if (f)
		fail_copy(&why, f);
	else if (!history->known || !history->conversation || !tenant_owns(x->caller.tenant, history->conversation))
		cause_no_session(&why, x->captures[0]);
	else if (use_conversation(x, history->conversation, &why)) {
		free(x->session);
		x->session = xstrdup(history->id);
		forward_begin(x, history->owner_address, x->next);
		return;
	}
	exchange_fail(x, &why);
}

void lookup_begin(struct exchange *x, void (*next)(struct exchange *x))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct session_place place;
	bool here = manager_find_session(x->conversation, x->captures[0], &place);
	/* A session of another tenant is treated like one that does not exist. */
	if (here && !tenant_owns(x->caller.tenant, place.conversation))
		here = false;
	x->session = xstrdup(here ? place.id : x->captures[0]);
	if (here && !use_conversation(x, place.conversation, &f)) {
		exchange_fail(x, &f);
		return;
	}
	if (!here && x->caller.forwarded) {
		cause_no_session(&f, x->captures[0]);
		exchange_fail(x, &f);
		return;
	}
	/* A search by name covers all conversations, so it is only for the tenant `local`, which owns the machine. */
	bool searches = streq(x->caller.tenant, TENANT_LOCAL) || strlen(x->captures[0]) == SESSION_ID_CHARS;
	if (here || !x->api->spec.for_all || !searches) {
		next(x);
		return;
	}
	x->next = next;
	struct history_request request = { .session_id = x->captures[0], .limit = 1, .on_done = on_row, .ctx = x };
	exchange_await(x, manager_history(x->api->spec.manager, &request, &f), &f);
}

void lookup_learn(struct exchange *x)
{
	struct session_place place;
	if (!manager_find_session(x->conversation, x->session, &place))
		return;
	char *id = xstrdup(place.id);
	free(x->session);
	x->session = id;
}
