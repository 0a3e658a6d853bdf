#include "kernels/fence/message.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

static void align(struct buf *b)
{
	static const uint8_t zeros[NLA_ALIGNTO];
	buf_add(b, zeros, NLA_ALIGN(b->len) - b->len);
}

static size_t begin(struct buf *b, uint16_t type, uint16_t flags, uint8_t family, uint16_t resource)
{
	size_t start = b->len;
	struct nlmsghdr header = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags };
	struct nfgenmsg general = { .nfgen_family = family, .version = NFNETLINK_V0, .res_id = htons(resource) };
	buf_add(b, &header, sizeof(header));
	buf_add(b, &general, sizeof(general));
	return start;
}

size_t message_begin(struct buf *b, uint16_t type, uint16_t flags)
{
	return begin(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, NFPROTO_INET, 0);
}

size_t message_begin_batch(struct buf *b, uint16_t type)
{
	return begin(b, type, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
}

void message_end(struct buf *b, size_t start)
{
	uint32_t length = (uint32_t)(b->len - start);
	memcpy(b->data + start + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof(length));
	align(b);
}

void attr_add(struct buf *b, uint16_t type, const void *data, size_t n)
{
	struct nlattr header = { .nla_len = (uint16_t)(NLA_HDRLEN + n), .nla_type = type };
	buf_add(b, &header, sizeof(header));
	buf_add(b, data, n);
	align(b);
}

void attr_add_str(struct buf *b, uint16_t type, const char *text)
{
	attr_add(b, type, text, strlen(text) + 1);
}

void attr_add_u32(struct buf *b, uint16_t type, uint32_t value)
{
	value = htonl(value);
	attr_add(b, type, &value, sizeof(value));
}

void attr_add_u8(struct buf *b, uint16_t type, uint8_t value)
{
	attr_add(b, type, &value, sizeof(value));
}

size_t attr_nest(struct buf *b, uint16_t type)
{
	size_t start = b->len;
	attr_add(b, type | NLA_F_NESTED, NULL, 0);
	return start;
}

void attr_nest_end(struct buf *b, size_t start)
{
	uint16_t length = (uint16_t)(b->len - start);
	memcpy(b->data + start + offsetof(struct nlattr, nla_len), &length, sizeof(length));
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Takes the first attribute off; false at the end, or if the rest is not an attribute. */
static bool next(struct attrs *in, struct nlattr *ret_header, struct attrs *ret_value)
{
	if (in->n < NLA_HDRLEN)
		return false;
	memcpy(ret_header, in->data, sizeof(*ret_header));
	if (ret_header->nla_len < NLA_HDRLEN || ret_header->nla_len > in->n)
		return false;
	*ret_value = (struct attrs){ in->data + NLA_HDRLEN, ret_header->nla_len - (size_t)NLA_HDRLEN };
	size_t whole = MIN((size_t)NLA_ALIGN(ret_header->nla_len), in->n);
	*in = (struct attrs){ in->data + whole, in->n - whole };
	return true;
}

struct attrs message_attrs(const struct nlmsghdr *message)
{
	size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	if (message->nlmsg_len < head)
		return (struct attrs){ 0 };
	return (struct attrs){ (const uint8_t *)message + head, message->nlmsg_len - head };
}

bool attrs_find(struct attrs in, uint16_t type, size_t k, struct attrs *ret_value)
{
	struct nlattr header;
	struct attrs value;
	while (next(&in, &header, &value)) {
		if ((header.nla_type & NLA_TYPE_MASK) != type || k--)
			continue;
		*ret_value = value;
		return true;
	}
	return false;
}

const char *attrs_str(struct attrs in, uint16_t type)
{
	struct attrs value;
	if (!attrs_find(in, type, 0, &value) || !value.n || value.data[value.n - 1])
		return NULL;
	return (const char *)value.data;
}

static size_t count(struct attrs in, uint16_t type)
{
	struct attrs value;
	size_t n = 0;
	while (attrs_find(in, type, n, &value))
		n++;
	return n;
}

static bool same(const struct nlattr *header, struct attrs mine, struct attrs theirs)
{
	if (header->nla_type & NLA_F_NESTED)
		return attrs_within(mine, theirs);
	return mine.n == theirs.n && memcmp(mine.data, theirs.data, mine.n) == 0;
}

bool attrs_within(struct attrs mine, struct attrs theirs)
{
	struct attrs left = mine, value, found;
	struct nlattr header;
	size_t lists = 0;
	uint16_t last = 0;
	while (next(&left, &header, &value)) {
		uint16_t type = header.nla_type & NLA_TYPE_MASK;
		/* Elements of a list follow each other and have the same type. */
		lists = type == last ? lists + 1 : 0;
		last = type;
		if (!attrs_find(theirs, type, lists, &found) || count(mine, type) != count(theirs, type) ||
		    !same(&header, value, found))
			return false;
	}
	return true;
}
