#include "jupyter/face/request.h"

#include "base/alloc.h"

struct request *request_new(enum channel channel, const struct message *m)
{
	struct request *r = new0(struct request);
	list_init(&r->node);
	r->channel = channel;
	r->header = json_incref(m->header);
	r->content = json_incref(m->content);
	r->n_idents = MIN(m->n_idents, ARRAY_LEN(r->idents));
	for (size_t i = 0; i < r->n_idents; i++) {
		void *copy = xmalloc(m->idents[i].n + 1);
		memcpy(copy, m->idents[i].data, m->idents[i].n);
		r->idents[i] = (struct part){ copy, m->idents[i].n };
	}
	return r;
}

struct request *request_free(struct request *r)
{
	if (!r)
		return NULL;
	list_remove(&r->node);
	for (size_t i = 0; i < r->n_idents; i++)
		free((void *)r->idents[i].data);
	json_decref(r->header);
	json_decref(r->content);
	free(r);
	return NULL;
}

const char *request_string(const struct request *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->content, name));
	return text ? text : "";
}

bool request_flag(const struct request *r, const char *name, bool otherwise)
{
	const json_t *value = json_object_get(r->content, name);
	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

void request_reply(const struct request *r, struct channels *s, const char *type, json_t *content)
{
	json_auto_t *taken = content;
	channels_send(s, r->channel, r->idents, r->n_idents, type, r->header, taken);
}
