#include "kernels/gate/names.h"

#include "base/alloc.h"
#include "base/json.h"

static bool read_port(const json_t *json, uint16_t *ret)
{
	json_int_t port = json_integer_value(json);
	*ret = (uint16_t)port;
	return port >= 1 && port <= UINT16_MAX;
}

static int read_ports(struct name_rule *rule, const json_t *list)
{
	if (!json_is_array(list) || json_array_size(list) > GATE_RULE_PORTS_MAX)
		return -1;
	for (; rule->n_ports < json_array_size(list); rule->n_ports++) {
		const json_t *range = json_array_get(list, rule->n_ports);
		size_t i = rule->n_ports;
		if (json_array_size(range) != 2 || !read_port(json_array_get(range, 0), &rule->ports[i].first) ||
		    !read_port(json_array_get(range, 1), &rule->ports[i].last) ||
		    rule->ports[i].last < rule->ports[i].first ||
		    rule->ports[i].last - rule->ports[i].first >= (int)GATE_RULE_PORTS_MAX)
			return -1;
	}
	return 0;
}

static int read_rule(struct name_rule *rule, const json_t *json)
{
	const json_t *text = json_object_get(json, "name");
	const char *name = json_string_value(text);
	if (!name)
		return -1;
	rule->below = strncmp(name, "*.", 2) == 0;
	name += rule->below ? 2 : 0;
	if (!host_name_valid(name, json_string_length(text) - (rule->below ? 2 : 0)) ||
	    read_ports(rule, json_object_get(json, "ports")) < 0)
		return -1;
	rule->name = xstrdup(name);
	return 0;
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i].name);
	free(names->v);
	free(names->hint);
	*names = (struct names){ 0 };
}

int names_read(struct names *ret, const void *payload, size_t n)
{
	json_auto_t *frame = json_parse(payload, n, JSON_REJECT_DUPLICATES);
	const json_t *list = json_object_get(frame, "names"), *hint = json_object_get(frame, "hint");
	struct names names = { 0 };
	if (!json_is_array(list) || json_array_size(list) > GATE_RULES_MAX ||
	    (hint && (!json_is_string(hint) || json_string_length(hint) > GATE_HINT_MAX)))
		return -1;
	names.v = xcalloc(json_array_size(list) + 1, sizeof(*names.v));
	for (; names.n < json_array_size(list); names.n++)
		if (read_rule(&names.v[names.n], json_array_get(list, names.n)) < 0) {
			names_release(&names);
			return -1;
		}
	names.standing = json_is_true(json_object_get(frame, "standing"));
	names.hint = hint ? xstrdup(json_string_value(hint)) : NULL;
	names_release(ret);
	*ret = names;
	return 0;
}

static bool matches(const struct name_rule *rule, const char *name)
{
	size_t n = strlen(name), m = strlen(rule->name);
	if (!rule->below)
		return streq(rule->name, name);
	return n > m + 1 && name[n - m - 1] == '.' && streq(name + n - m, rule->name);
}

static size_t add_port(uint16_t ports[NAME_PORTS_MAX], size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (ports[i] == port)
			return n;
	if (n < NAME_PORTS_MAX)
		ports[n++] = port;
	return n;
}

size_t names_ports(const struct names *names, const char *name, uint16_t ret[NAME_PORTS_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < names->n; i++) {
		const struct name_rule *rule = &names->v[i];
		for (size_t k = 0; k < rule->n_ports && matches(rule, name); k++)
			for (uint32_t port = rule->ports[k].first; port <= rule->ports[k].last; port++)
				n = add_port(ret, n, (uint16_t)port);
	}
	return n;
}
