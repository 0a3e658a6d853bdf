#include "libhusk/handle.h"

#include "base/alloc.h"

static struct list managers = { &managers, &managers };

/* --- references ---------------------------------------------------------------------------------------------------- */

static struct husk_error *forked(const char *function)
{
	AUTO(fail_release) struct fail f = { 0 };
	error_set(&f, FAIL_INVALID, ERROR_FORKED, "%s(): the manager was opened before a fork, by the parent process",
		  function);
	return error_of(&f);
}

/* The lock must be held. */
static bool is_open(const struct husk *h)
{
	list_for_each(known, &managers, struct husk, node)
		if (known == h)
			return true;
	return false;
}

static struct husk *find_owner(const struct husk_conversation *c)
{
	list_for_each(h, &managers, struct husk, node)
		list_for_each(known, &h->conversations, struct husk_conversation, node)
			if (known == c)
				return c->open ? h : NULL;
	return NULL;
}

/* The lock must be held; this function releases it. */
static struct husk *hold(struct husk *h, const char *function, struct husk_error **ret_error)
{
	bool own = h && h->generation == thread_generation();
	if (own)
		h->references++;
	thread_unlock();
	if (!h)
		*ret_error = error_misuse("%s(): the handle is not open", function);
	else if (!own)
		*ret_error = forked(function);
	return own ? h : NULL;
}

struct husk *handle_hold(struct husk *h, const char *function, struct husk_error **ret_error)
{
	if (!h) {
		*ret_error = error_missing(function, "the manager");
		return NULL;
	}
	thread_lock();
	return hold(is_open(h) ? h : NULL, function, ret_error);
}

struct husk *handle_hold_conversation(struct husk_conversation *c, const char *function, struct husk_error **ret_error)
{
	if (!c) {
		*ret_error = error_missing(function, "the conversation");
		return NULL;
	}
	thread_lock();
	return hold(find_owner(c), function, ret_error);
}

void handle_free(struct husk *h)
{
	list_for_each(c, &h->conversations, struct husk_conversation, node) {
		strv_release(&c->made);
		free(c);
	}
	config_release(&h->config);
	free(h->program);
	free(h);
}

void handle_let_go(struct husk *h)
{
	thread_lock();
	bool last = --h->references == 0;
	thread_unlock();
	if (!last)
		return;
	handle_free(h);
	thread_release();
}

/* --- structures ---------------------------------------------------------------------------------------------------- */

struct husk_error *handle_take(const char *function, const char *type, const void *from, void *to, size_t size)
{
	size_t given;
	memcpy(&given, from, sizeof(given));
	if (given < sizeof(size_t))
		return error_misuse("%s(): .size of %s is not set", function, type);
	if (given > size) {
		/* The program was compiled for a later version. Fields unknown to this version must be unused. */
		const uint8_t *rest = (const uint8_t *)from + size;
		if (given > 65536)
			return error_misuse("%s(): .size of %s is not set", function, type);
		for (size_t i = 0; i < given - size; i++)
			if (rest[i])
				return error_misuse("%s(): %s has fields that this libhusk (%s) does not know",
						    function, type, HUSK_VERSION);
	}
	memcpy(to, from, MIN(given, size));
	return NULL;
}

void handle_add(struct husk *h)
{
	thread_lock();
	h->generation = thread_generation();
	h->references = 1;
	list_append(&managers, &h->node);
	thread_unlock();
}

bool handle_remove(struct husk *h)
{
	thread_lock();
	bool first = is_open(h);
	list_remove(&h->node);
	h->references -= first;
	thread_unlock();
	return first;
}
