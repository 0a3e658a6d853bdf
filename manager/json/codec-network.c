/* The gate of a session. */
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

#define CONNECTIONS_MAX 1024

json_t *network_info_encode(const struct network_info *info)
{
	json_t *out = json_object(), *connections = json_array(), *denied = json_array();
	fields_put_text(out, "kind", info->open ? "public" : info->rules ? "list" : "none");
	if (info->rules)
		json_object_set_new(out, "rules", session_rules_encode(info->rules));
	for (size_t i = 0; i < info->n_connections; i++) {
		const struct network_connection *c = &info->connections[i];
		json_t *one = json_object();
		fields_put_text(one, "name", c->name);
		fields_put_number(one, "port", c->port);
		fields_put_number(one, "up", c->up);
		fields_put_number(one, "down", c->down);
		fields_put_number(one, "age_ms", c->age_ms);
		fields_put_text(one, "secret", c->secret);
		json_array_append_new(connections, one);
	}
	for (size_t i = 0; i < info->n_denials; i++) {
		const struct network_denial *d = &info->denials[i];
		json_t *one = json_object();
		fields_put_text(one, "name", d->name);
		fields_put_number(one, "port", d->port);
		fields_put_text(one, "cause", cause_name(d->cause));
		fields_put_number(one, "count", d->count);
		json_array_append_new(denied, one);
	}
	json_object_set_new(out, "connections", connections);
	json_object_set_new(out, "failed", denied);
	fields_put_bool(out, "allowed", info->allowed);
	fields_put_text(out, "decides", info->decides);
	return out;
}

static void take_connections(const json_t *list, struct network_list *ret)
{
	ret->connections = xcalloc(json_array_size(list) + 1, sizeof(*ret->connections));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct fields in = { .json = json_array_get(list, i) };
		const char *name = fields_text(&in, "name");
		ret->connections[i] =
			(struct network_connection){ .name = name ? name : "",
						     .port = (uint16_t)fields_number(&in, "port", UINT16_MAX),
						     .up = fields_number(&in, "up", UINT64_MAX),
						     .down = fields_number(&in, "down", UINT64_MAX),
						     .age_ms = fields_number(&in, "age_ms", UINT64_MAX),
						     .secret = fields_text(&in, "secret") };
	}
}

static void take_denials(const json_t *list, struct network_list *ret)
{
	ret->denials = xcalloc(json_array_size(list) + 1, sizeof(*ret->denials));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct fields in = { .json = json_array_get(list, i) };
		const char *name = fields_text(&in, "name"), *cause = fields_text(&in, "cause");
		ret->denials[i] = (struct network_denial){ .name = name ? name : "",
							   .port = (uint16_t)fields_number(&in, "port", UINT16_MAX),
							   .cause = cause ? cause_find(cause) : CAUSE_NONE,
							   .count = fields_number(&in, "count", UINT64_MAX) };
	}
}

int network_info_decode(const json_t *json, struct network_info *ret, struct network_list *ret_list, struct fail *f)
{
	struct fields in = { .json = json };
	const char *kind = fields_text(&in, "kind");
	const json_t *rules = fields_list(&in, "rules", CONNECTIONS_MAX);
	const json_t *connections = fields_list(&in, "connections", CONNECTIONS_MAX);
	const json_t *failed = fields_list(&in, "failed", CONNECTIONS_MAX);
	struct network_info info = { .open = kind && streq(kind, "public"),
				     .allowed = fields_bool(&in, "allowed"),
				     .decides = fields_text(&in, "decides") };
	struct buf text = { 0 };
	if (fields_check(&in, f) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const char *rule = json_string_value(json_array_get(rules, i));
		buf_printf(&text, "%s%s", i ? " " : "", rule ? rule : "");
	}
	ret_list->rules = buf_steal_str(&text);
	take_connections(connections, ret_list);
	take_denials(failed, ret_list);
	info.rules = rules ? ret_list->rules : NULL;
	info.connections = ret_list->connections;
	info.n_connections = json_array_size(connections);
	info.denials = ret_list->denials;
	info.n_denials = json_array_size(failed);
	*ret = info;
	return 0;
}

void network_list_release(struct network_list *list)
{
	free(list->rules);
	free(list->connections);
	free(list->denials);
	*list = (struct network_list){ 0 };
}
