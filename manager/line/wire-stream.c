/* Frames of streams, and of the gate: connections into a session, and out of it. */
#include <jansson.h>

#include "kernels/item.h"
#include "manager/line/wire-private.h"
#include "manager/line/wire.h"

void wire_put_stream_open(struct buf *out, uint32_t number, uint16_t port)
{
	json_auto_t *open = json_pack("{s:i}", "port", port);
	(void)wire_put_json(out, FRAME_STREAM_OPEN, number, open);
}

void wire_put_stream_credit(struct buf *out, uint32_t number, uint32_t n)
{
	uint8_t payload[4];
	entry_put_number(payload, 4, n);
	wire_put(out, FRAME_STREAM_CREDIT, number, payload, sizeof(payload));
}

/* By enum wire_refusal. */
static const char *const refusals[] = {
	[WIRE_REFUSAL_REFUSED] = "refused",	[WIRE_REFUSAL_LIMIT] = "limit",
	[WIRE_REFUSAL_TIMEOUT] = "timeout",	[WIRE_REFUSAL_DENIED] = "denied",
	[WIRE_REFUSAL_NOT_FOUND] = "not_found", [WIRE_REFUSAL_MISMATCH] = "mismatch",
	[WIRE_REFUSAL_RESET] = "reset",
};

void wire_put_stream_refuse(struct buf *out, uint32_t number, enum wire_refusal why)
{
	json_auto_t *refuse = json_pack("{s:s}", "cause", refusals[why]);
	(void)wire_put_json(out, FRAME_STREAM_REFUSE, number, refuse);
}

enum wire_refusal wire_read_stream_refuse(const struct wire_frame *frame)
{
	json_auto_t *refuse = wire_json(frame);
	const char *cause = json_string_value(json_object_get(refuse, "cause"));
	for (size_t i = 0; cause && i < ARRAY_LEN(refusals); i++)
		if (streq(cause, refusals[i]))
			return (enum wire_refusal)i;
	return WIRE_REFUSAL_REFUSED;
}

/* --- the gate ---------------------------------------------------------------------------------------------------- */

static bool read_port(const json_t *object, int min, uint16_t *ret)
{
	const json_t *port = json_object_get(object, "port");
	json_int_t value = json_integer_value(port);
	*ret = (uint16_t)value;
	return json_is_integer(port) && value >= min && value <= UINT16_MAX;
}

static bool read_name(const json_t *object, char (*ret)[HOST_NAME_SIZE])
{
	const json_t *name = json_object_get(object, "name");
	size_t n = json_string_length(name);
	if (!json_is_string(name) || !host_name_valid(json_string_value(name), n))
		return false;
	memcpy(*ret, json_string_value(name), n + 1);
	return true;
}

int wire_read_stream_open(const struct wire_frame *frame, struct wire_stream_open *ret)
{
	json_auto_t *open = wire_json(frame);
	return read_name(open, &ret->name) && read_port(open, 1, &ret->port) ? 0 : -1;
}

static json_t *rule_json(const struct wire_gate_rule *rule)
{
	json_t *ports = json_array(), *object = json_pack("{s:s, s:o}", "name", rule->name, "ports", ports);
	for (size_t i = 0; i < MIN(rule->n_ports, ARRAY_LEN(rule->ports)); i++)
		json_array_append_new(ports, json_pack("[i, i]", rule->ports[i].first, rule->ports[i].last));
	if (rule->tcp)
		json_object_set_new(object, "tcp", json_true());
	return object;
}

void wire_put_gate(struct buf *out, const struct wire_gate *gate)
{
	json_t *names = json_array();
	json_auto_t *rules = json_pack("{s:o, s:s*}", "names", names, "hint", gate->hint);
	if (gate->standing)
		json_object_set_new(rules, "standing", json_true());
	for (size_t i = 0; i < MIN(gate->n_rules, (size_t)GATE_RULES_MAX); i++)
		json_array_append_new(names, rule_json(&gate->rules[i]));
	(void)wire_put_json(out, FRAME_GATE, 0, rules);
}

int wire_read_gate_denied(const struct wire_frame *frame, struct wire_gate_denied *ret)
{
	json_auto_t *denied = wire_json(frame);
	const json_t *list = json_object_get(denied, "denied");
	if (!json_is_array(list) || json_array_size(list) > GATE_DENIED_MAX)
		return -1;
	ret->n = json_array_size(list);
	for (size_t i = 0; i < ret->n; i++) {
		const json_t *one = json_array_get(list, i), *name = json_object_get(one, "name");
		json_int_t count = json_integer_value(json_object_get(one, "count"));
		bool nameless = json_is_string(name) && !json_string_length(name);
		ret->list[i].name[0] = '\0';
		if ((!nameless && !read_name(one, &ret->list[i].name)) || !read_port(one, 0, &ret->list[i].port) ||
		    count < 1)
			return -1;
		ret->list[i].count = (uint64_t)count;
	}
	return 0;
}
