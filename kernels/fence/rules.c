#include "kernels/fence/rules.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <netinet/in.h>

#include "kernels/fence/message.h"

/* The rules run before those of engines and firewalls, which have priority 0. */
#define PRIORITY (-10)
#define SET_V4 "connections4"
#define SET_V6 "connections6"
#define SOURCES_MAX 65535
/* nft's numbers for these types. The Linux kernel stores them without using them. */
#define TYPE_IPV4_ADDRESS 7
#define TYPE_IPV6_ADDRESS 8
/* First byte of a rule's user data: the rest is a comment. */
#define COMMENT 0

/* Bits of a packet's state, as `ct state` loads them. */
#define STATE_BIT(info) (1u << ((info) % IP_CT_IS_REPLY + 1))
#define STATE_NEW STATE_BIT(IP_CT_NEW)
#define STATE_RELATED STATE_BIT(IP_CT_RELATED)

/* Private, shared, link-local and multicast addresses. Other special ranges are not fenced, since some machines have
 * package indexes in them. */
static const char *const fenced[] = { "10.0.0.0/8",    "172.16.0.0/12",	 "192.168.0.0/16",
				      "100.64.0.0/10", "169.254.0.0/16", "224.0.0.0/4",
				      "fc00::/7",      "fe80::/10",	 "ff00::/8" };

/* --- expressions ------------------------------------------------------------------------------------------------- */

/* An unfinished expression, as an element of the rule's list. */
struct expression {
	size_t element, data;
};

static struct expression expression_begin(struct buf *b, const char *name)
{
	struct expression e = { .element = attr_nest(b, NFTA_LIST_ELEM) };
	attr_add_str(b, NFTA_EXPR_NAME, name);
	e.data = attr_nest(b, NFTA_EXPR_DATA);
	return e;
}

static void expression_end(struct buf *b, struct expression e)
{
	attr_nest_end(b, e.data);
	attr_nest_end(b, e.element);
}

static void load_meta(struct buf *b, uint32_t key)
{
	struct expression e = expression_begin(b, "meta");
	attr_add_u32(b, NFTA_META_DREG, NFT_REG_1);
	attr_add_u32(b, NFTA_META_KEY, key);
	expression_end(b, e);
}

static void load_ct(struct buf *b, uint32_t key)
{
	struct expression e = expression_begin(b, "ct");
	attr_add_u32(b, NFTA_CT_DREG, NFT_REG_1);
	attr_add_u32(b, NFTA_CT_KEY, key);
	expression_end(b, e);
}

static void load_payload(struct buf *b, uint32_t base, uint32_t offset, uint32_t n)
{
	struct expression e = expression_begin(b, "payload");
	attr_add_u32(b, NFTA_PAYLOAD_DREG, NFT_REG_1);
	attr_add_u32(b, NFTA_PAYLOAD_BASE, base);
	attr_add_u32(b, NFTA_PAYLOAD_OFFSET, offset);
	attr_add_u32(b, NFTA_PAYLOAD_LEN, n);
	expression_end(b, e);
}

static void add_data(struct buf *b, uint16_t type, const void *data, size_t n)
{
	size_t nest = attr_nest(b, type);
	attr_add(b, NFTA_DATA_VALUE, data, n);
	attr_nest_end(b, nest);
}

static void compare(struct buf *b, uint32_t op, const void *data, size_t n)
{
	struct expression e = expression_begin(b, "cmp");
	attr_add_u32(b, NFTA_CMP_SREG, NFT_REG_1);
	attr_add_u32(b, NFTA_CMP_OP, op);
	add_data(b, NFTA_CMP_DATA, data, n);
	expression_end(b, e);
}

static void mask(struct buf *b, const void *bits, size_t n)
{
	static const uint8_t zeros[16];
	struct expression e = expression_begin(b, "bitwise");
	attr_add_u32(b, NFTA_BITWISE_SREG, NFT_REG_1);
	attr_add_u32(b, NFTA_BITWISE_DREG, NFT_REG_1);
	attr_add_u32(b, NFTA_BITWISE_LEN, (uint32_t)n);
	add_data(b, NFTA_BITWISE_MASK, bits, n);
	add_data(b, NFTA_BITWISE_XOR, zeros, n);
	expression_end(b, e);
}

/* `chain` is NULL unless the verdict is a jump or a goto. */
static void verdict(struct buf *b, int code, const char *chain)
{
	struct expression e = expression_begin(b, "immediate");
	attr_add_u32(b, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	size_t data = attr_nest(b, NFTA_IMMEDIATE_DATA), nest = attr_nest(b, NFTA_DATA_VERDICT);
	attr_add_u32(b, NFTA_VERDICT_CODE, (uint32_t)code);
	if (chain)
		attr_add_str(b, NFTA_VERDICT_CHAIN, chain);
	attr_nest_end(b, nest);
	attr_nest_end(b, data);
	expression_end(b, e);
}

/* --- conditions -------------------------------------------------------------------------------------------------- */

static void match_byte(struct buf *b, uint32_t key, uint8_t value)
{
	load_meta(b, key);
	compare(b, NFT_CMP_EQ, &value, sizeof(value));
}

static void match_bridge(struct buf *b, uint32_t key, uint32_t op)
{
	char name[IFNAMSIZ] = FENCE_BRIDGE;
	load_meta(b, key);
	compare(b, op, name, sizeof(name));
}

static void match_state(struct buf *b, uint32_t bits)
{
	static const uint32_t none;
	load_ct(b, NFT_CT_STATE);
	mask(b, &bits, sizeof(bits));
	compare(b, NFT_CMP_NEQ, &none, sizeof(none));
}

static void match_port(struct buf *b, uint8_t protocol, uint16_t port)
{
	uint16_t value = htons(port);
	match_byte(b, NFT_META_L4PROTO, protocol);
	load_payload(b, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof(value));
	compare(b, NFT_CMP_EQ, &value, sizeof(value));
}

static void match_destination(struct buf *b, const struct opening *o)
{
	uint8_t bits[16] = { 0 };
	size_t n = o->v6 ? 16 : 4;
	for (unsigned bit = 0; bit < o->prefix; bit++)
		bits[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	match_byte(b, NFT_META_NFPROTO, o->v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
	if (!o->prefix)
		return;
	load_payload(b, NFT_PAYLOAD_NETWORK_HEADER, o->v6 ? 24 : 16, (uint32_t)n);
	mask(b, bits, n);
	compare(b, NFT_CMP_EQ, o->address, n);
}

/* Adds the connection to the set under its source; matches only if the source has too many. */
static void match_too_many(struct buf *b, bool v6)
{
	match_byte(b, NFT_META_NFPROTO, v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
	load_payload(b, NFT_PAYLOAD_NETWORK_HEADER, v6 ? 8 : 12, v6 ? 16 : 4);
	struct expression e = expression_begin(b, "dynset");
	attr_add_str(b, NFTA_DYNSET_SET_NAME, v6 ? SET_V6 : SET_V4);
	attr_add_u32(b, NFTA_DYNSET_OP, NFT_DYNSET_OP_ADD);
	attr_add_u32(b, NFTA_DYNSET_SREG_KEY, NFT_REG_1);
	size_t counter = attr_nest(b, NFTA_DYNSET_EXPR);
	attr_add_str(b, NFTA_EXPR_NAME, "connlimit");
	size_t data = attr_nest(b, NFTA_EXPR_DATA);
	attr_add_u32(b, NFTA_CONNLIMIT_COUNT, FENCE_CONNECTIONS);
	attr_add_u32(b, NFTA_CONNLIMIT_FLAGS, NFT_CONNLIMIT_F_INV);
	attr_nest_end(b, data);
	attr_nest_end(b, counter);
	expression_end(b, e);
}

/* --- table, chains, sets, rules ---------------------------------------------------------------------------------- */

void rules_table(struct buf *b, uint16_t type, uint16_t flags)
{
	size_t message = message_begin(b, type, flags);
	attr_add_str(b, NFTA_TABLE_NAME, FENCE_TABLE);
	if (type == NFT_MSG_NEWTABLE)
		attr_add_u32(b, NFTA_TABLE_FLAGS, 0);
	message_end(b, message);
}

/* hook -1: a chain that other chains jump to. */
static void add_chain(struct buf *b, const char *name, int hook)
{
	size_t message = message_begin(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	attr_add_str(b, NFTA_CHAIN_TABLE, FENCE_TABLE);
	attr_add_str(b, NFTA_CHAIN_NAME, name);
	if (hook >= 0) {
		size_t nest = attr_nest(b, NFTA_CHAIN_HOOK);
		attr_add_u32(b, NFTA_HOOK_HOOKNUM, (uint32_t)hook);
		attr_add_u32(b, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
		attr_nest_end(b, nest);
		attr_add_u32(b, NFTA_CHAIN_POLICY, NF_ACCEPT);
		attr_add_str(b, NFTA_CHAIN_TYPE, "filter");
	}
	message_end(b, message);
}

static void add_set(struct buf *b, const char *name, uint32_t id, uint32_t type, uint32_t key)
{
	size_t message = message_begin(b, NFT_MSG_NEWSET, NLM_F_CREATE);
	attr_add_str(b, NFTA_SET_TABLE, FENCE_TABLE);
	attr_add_str(b, NFTA_SET_NAME, name);
	attr_add_u32(b, NFTA_SET_FLAGS, NFT_SET_EVAL);
	attr_add_u32(b, NFTA_SET_KEY_TYPE, type);
	attr_add_u32(b, NFTA_SET_KEY_LEN, key);
	attr_add_u32(b, NFTA_SET_ID, id);
	size_t nest = attr_nest(b, NFTA_SET_DESC);
	attr_add_u32(b, NFTA_SET_DESC_SIZE, SOURCES_MAX);
	attr_nest_end(b, nest);
	message_end(b, message);
}

struct rule {
	size_t message, list;
};

static struct rule rule_begin(struct buf *b, const char *chain)
{
	struct rule r = { .message = message_begin(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND) };
	attr_add_str(b, NFTA_RULE_TABLE, FENCE_TABLE);
	attr_add_str(b, NFTA_RULE_CHAIN, chain);
	r.list = attr_nest(b, NFTA_RULE_EXPRESSIONS);
	return r;
}

/* `comment` may be NULL. */
static void rule_end(struct buf *b, struct rule r, const char *comment)
{
	uint8_t data[2 + OPENING_TEXT_MAX] = { COMMENT };
	attr_nest_end(b, r.list);
	if (comment) {
		size_t n = strlen(comment) + 1;
		data[1] = (uint8_t)n;
		memcpy(data + 2, comment, n);
		attr_add(b, NFTA_RULE_USERDATA, data, 2 + n);
	}
	message_end(b, r.message);
}

const char *rules_comment(const uint8_t *data, size_t n)
{
	if (n < 3 || data[0] != COMMENT || data[1] != n - 2 || data[n - 1] || memchr(data + 2, 0, n - 3))
		return NULL;
	return (const char *)data + 2;
}

/* --- the fence --------------------------------------------------------------------------------------------------- */

static void refuse_rule(struct buf *b, enum refusal refusal)
{
	struct rule r = rule_begin(b, "refuse");
	if (refusal == REFUSE_REJECT) {
		struct expression e = expression_begin(b, "reject");
		attr_add_u32(b, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
		attr_add_u8(b, NFTA_REJECT_ICMP_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
		expression_end(b, e);
	} else {
		verdict(b, NF_DROP, NULL);
	}
	rule_end(b, r, NULL);
}

/* Rules for everything that a session sends, whatever its destination. */
static void session_rules(struct buf *b)
{
	static const uint8_t reply = IP_CT_DIR_REPLY, protocols[] = { IPPROTO_UDP, IPPROTO_TCP };
	struct rule r;
	for (int v6 = 0; v6 < 2; v6++) {
		r = rule_begin(b, "session");
		match_state(b, STATE_NEW);
		match_too_many(b, v6);
		verdict(b, NF_DROP, NULL);
		rule_end(b, r, NULL);
	}
	r = rule_begin(b, "session");
	match_state(b, STATE_RELATED);
	verdict(b, NF_ACCEPT, NULL);
	rule_end(b, r, NULL);
	r = rule_begin(b, "session");
	load_ct(b, NFT_CT_DIRECTION);
	compare(b, NFT_CMP_EQ, &reply, sizeof(reply));
	verdict(b, NF_ACCEPT, NULL);
	rule_end(b, r, NULL);
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		r = rule_begin(b, "session");
		match_port(b, protocols[i], 53);
		verdict(b, NF_ACCEPT, NULL);
		rule_end(b, r, NULL);
	}
	r = rule_begin(b, "session");
	verdict(b, NFT_JUMP, FENCE_OPENINGS);
	rule_end(b, r, NULL);
}

static void bridge_rule(struct buf *b, const char *chain, int code, const char *target)
{
	struct rule r = rule_begin(b, chain);
	match_bridge(b, NFT_META_IIFNAME, NFT_CMP_EQ);
	verdict(b, code, target);
	rule_end(b, r, NULL);
}

static void forward_rules(struct buf *b)
{
	struct rule r;
	bridge_rule(b, "forward", NFT_JUMP, "session");
	for (size_t i = 0; i < ARRAY_LEN(fenced); i++) {
		struct opening range = { 0 };
		opening_parse(&range, fenced[i]);
		r = rule_begin(b, "forward");
		match_bridge(b, NFT_META_IIFNAME, NFT_CMP_EQ);
		match_destination(b, &range);
		verdict(b, NFT_GOTO, "refuse");
		rule_end(b, r, NULL);
	}
	r = rule_begin(b, "forward");
	match_bridge(b, NFT_META_OIFNAME, NFT_CMP_EQ);
	match_bridge(b, NFT_META_IIFNAME, NFT_CMP_NEQ);
	match_state(b, STATE_NEW);
	verdict(b, NF_DROP, NULL);
	rule_end(b, r, NULL);
}

/* Rules for traffic to the machine itself. IPv6 needs neighbour discovery to work at all. */
static void input_rules(struct buf *b)
{
	static const uint8_t first = 133, last = 136; /* router and neighbour discovery */
	bridge_rule(b, "input", NFT_JUMP, "session");
	struct rule r = rule_begin(b, "input");
	match_bridge(b, NFT_META_IIFNAME, NFT_CMP_EQ);
	match_byte(b, NFT_META_L4PROTO, IPPROTO_ICMPV6);
	load_payload(b, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1);
	compare(b, NFT_CMP_GTE, &first, 1);
	compare(b, NFT_CMP_LTE, &last, 1);
	verdict(b, NF_ACCEPT, NULL);
	rule_end(b, r, NULL);
	bridge_rule(b, "input", NFT_GOTO, "refuse");
}

static void opening_rules(struct buf *b, const struct openings *openings)
{
	char text[OPENING_TEXT_MAX];
	for (size_t i = 0; i < openings->n; i++) {
		const struct opening *o = &openings->v[i];
		struct rule r = rule_begin(b, FENCE_OPENINGS);
		match_destination(b, o);
		if (o->port)
			match_port(b, IPPROTO_TCP, o->port);
		verdict(b, NF_ACCEPT, NULL);
		opening_write(o, text);
		rule_end(b, r, text);
	}
}

void rules_write(struct buf *b, const struct openings *openings, enum refusal refusal)
{
	rules_table(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	add_chain(b, "forward", NF_INET_FORWARD);
	add_chain(b, "input", NF_INET_LOCAL_IN);
	add_chain(b, "session", -1);
	add_chain(b, FENCE_OPENINGS, -1);
	add_chain(b, "refuse", -1);
	add_set(b, SET_V4, 1, TYPE_IPV4_ADDRESS, 4);
	add_set(b, SET_V6, 2, TYPE_IPV6_ADDRESS, 16);
	refuse_rule(b, refusal);
	opening_rules(b, openings);
	session_rules(b);
	forward_rules(b);
	input_rules(b);
}
