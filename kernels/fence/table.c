#include "kernels/fence/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernels/fence/message.h"
#include "kernels/fence/rules.h"

/* Our table is about 50 kB; a foreign table of this name may have any size. */
#define DUMP_MAX (4u << 20)
#define RECEIVE_SIZE 65536
#define PATIENCE_SECONDS 10

#define TYPE(message) ((message)->nlmsg_type & 0xff)

int table_open(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	int size = DUMP_MAX;
	AUTO(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	/* Openings of many servers may make one batch larger than the default buffer. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	return take_fd(fd);
}

void table_release(struct table *t)
{
	buf_release(&t->dump);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Takes messages until the answer is complete. 1 = complete, 0 = there is more, or -errno. */
static int take_answer(struct buf *to, const uint8_t *data, size_t n, uint16_t until)
{
	for (const struct nlmsghdr *m = (const void *)data; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
		if (m->nlmsg_type == NLMSG_ERROR && m->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
			const struct nlmsgerr *e = NLMSG_DATA(m);
			return e->error ? e->error : 1;
		}
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EINTR;
		if (buf_add(to, m, NLMSG_ALIGN(m->nlmsg_len)) < 0)
			return -EFBIG;
		if (until && m->nlmsg_type == until)
			return 1;
	}
	return 0;
}

/* Sends the request and adds the reply to `to`. `until` is the type of the message that completes the reply; 0 = the
 * reply ends with NLMSG_DONE or an acknowledgement. */
static int converse(int fd, const struct buf *request, struct buf *to, uint16_t until)
{
	static _Alignas(struct nlmsghdr) uint8_t data[RECEIVE_SIZE];
	int r = 0;
	if (send(fd, request->data, request->len, 0) < 0)
		return -errno;
	while (r == 0) {
		ssize_t n = recv(fd, data, sizeof(data), 0);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = take_answer(to, data, (size_t)n, until);
	}
	return r < 0 ? r : 0;
}

static int read_generation(int fd, uint32_t *ret)
{
	AUTO(buf_release) struct buf request = { 0 }, answer = { .max = DUMP_MAX };
	struct attrs value;
	message_end(&request, message_begin(&request, NFT_MSG_GETGEN, 0));
	int r = converse(fd, &request, &answer, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWGEN);
	if (r < 0)
		return r;
	if (!answer.len || !attrs_find(message_attrs((void *)answer.data), NFTA_GEN_ID, 0, &value) || value.n != 4)
		return -EIO;
	memcpy(ret, value.data, sizeof(*ret));
	*ret = ntohl(*ret);
	return 0;
}

/* Reads the chains or the rules of our table. The Linux kernel may list those of other tables too, which are left
 * out. */
static int read_all(int fd, uint16_t type, uint16_t table_attr, struct buf *to)
{
	AUTO(buf_release) struct buf request = { 0 }, answer = { .max = DUMP_MAX };
	size_t message = message_begin(&request, type, NLM_F_DUMP);
	attr_add_str(&request, table_attr, FENCE_TABLE);
	message_end(&request, message);
	int r = converse(fd, &request, &answer, 0);
	if (r < 0)
		return r;
	size_t left = answer.len;
	for (const struct nlmsghdr *m = (void *)answer.data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
		const char *name = attrs_str(message_attrs(m), table_attr);
		if (name && streq(name, FENCE_TABLE) && buf_add(to, m, NLMSG_ALIGN(m->nlmsg_len)) < 0)
			return -EFBIG;
	}
	return 0;
}

int table_read(int fd, struct table *ret)
{
	AUTO(table_release) struct table t = { .dump.max = DUMP_MAX };
	AUTO(buf_release) struct buf request = { 0 };
	int r = read_generation(fd, &t.generation);
	if (r < 0)
		return r;
	rules_table(&request, NFT_MSG_GETTABLE, 0);
	r = converse(fd, &request, &t.dump, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE);
	if (r == 0)
		r = read_all(fd, NFT_MSG_GETCHAIN, NFTA_CHAIN_TABLE, &t.dump);
	if (r == 0)
		r = read_all(fd, NFT_MSG_GETRULE, NFTA_RULE_TABLE, &t.dump);
	if (r < 0 && r != -ENOENT)
		return r;
	t.is_there = r == 0;
	*ret = t;
	t.dump = (struct buf){ 0 };
	return 0;
}

/* --- comparing --------------------------------------------------------------------------------------------------- */

/* The k-th message of this type in which the attribute has this text. */
static const struct nlmsghdr *find(const struct buf *in, uint16_t type, uint16_t attr, const char *text, size_t k)
{
	size_t left = in->len;
	for (const struct nlmsghdr *m = (void *)in->data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
		const char *found = TYPE(m) == type ? attrs_str(message_attrs(m), attr) : NULL;
		if (found && streq(found, text) && !k--)
			return m;
	}
	return NULL;
}

static size_t count(const struct buf *in, uint16_t type)
{
	size_t left = in->len, n = 0;
	for (const struct nlmsghdr *m = (void *)in->data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
		n += TYPE(m) == type;
	return n;
}

/* Number of rules before this one in the same chain. */
static size_t place_in_chain(const struct buf *in, const struct nlmsghdr *rule, const char *chain)
{
	size_t k = 0;
	while (find(in, NFT_MSG_NEWRULE, NFTA_RULE_CHAIN, chain, k) != rule)
		k++;
	return k;
}

static const struct nlmsghdr *counterpart(const struct table *t, const struct buf *wanted, const struct nlmsghdr *m)
{
	const char *name;
	switch (TYPE(m)) {
	case NFT_MSG_NEWTABLE:
		return find(&t->dump, NFT_MSG_NEWTABLE, NFTA_TABLE_NAME, FENCE_TABLE, 0);
	case NFT_MSG_NEWCHAIN:
		name = attrs_str(message_attrs(m), NFTA_CHAIN_NAME);
		return find(&t->dump, NFT_MSG_NEWCHAIN, NFTA_CHAIN_NAME, name, 0);
	default:
		name = attrs_str(message_attrs(m), NFTA_RULE_CHAIN);
		return find(&t->dump, NFT_MSG_NEWRULE, NFTA_RULE_CHAIN, name, place_in_chain(wanted, m, name));
	}
}

/* Sets are not compared: a rule that uses a set cannot exist without it. */
bool table_is(const struct table *t, const struct buf *wanted)
{
	size_t left = wanted->len;
	if (!t->is_there || count(&t->dump, NFT_MSG_NEWCHAIN) != count(wanted, NFT_MSG_NEWCHAIN) ||
	    count(&t->dump, NFT_MSG_NEWRULE) != count(wanted, NFT_MSG_NEWRULE))
		return false;
	for (const struct nlmsghdr *m = (void *)wanted->data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
		if (TYPE(m) == NFT_MSG_NEWSET)
			continue;
		const struct nlmsghdr *theirs = counterpart(t, wanted, m);
		if (!theirs || !attrs_within(message_attrs(m), message_attrs(theirs)))
			return false;
	}
	return true;
}

int table_openings(const struct table *t, struct openings *ret)
{
	const struct nlmsghdr *m;
	ret->n = 0;
	for (size_t k = 0; (m = find(&t->dump, NFT_MSG_NEWRULE, NFTA_RULE_CHAIN, FENCE_OPENINGS, k)); k++) {
		struct attrs data;
		struct opening o = { 0 };
		const char *text = attrs_find(message_attrs(m), NFTA_RULE_USERDATA, 0, &data) ?
					   rules_comment(data.data, data.n) :
					   NULL;
		/* A rule without a valid comment has no owner and is dropped. */
		if (text && opening_read(&o, text) == 0 && openings_add(ret, &o) < 0)
			return -ENOSPC;
	}
	return 0;
}

/* --- replacing --------------------------------------------------------------------------------------------------- */

/* The kernel acknowledges the last message once all of them have taken effect. */
static void request_acknowledgement(struct buf *batch, size_t from)
{
	size_t left = batch->len - from;
	struct nlmsghdr *last = NULL;
	for (struct nlmsghdr *m = (void *)(batch->data + from); NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
		last = m;
	last->nlmsg_flags |= NLM_F_ACK;
}

int table_replace(int fd, const struct table *t, const struct buf *wanted)
{
	AUTO(buf_release) struct buf batch = { 0 }, answer = { .max = DUMP_MAX };
	size_t message = message_begin_batch(&batch, NFNL_MSG_BATCH_BEGIN);
	attr_add_u32(&batch, NFNL_BATCH_GENID, t->generation);
	message_end(&batch, message);
	if (t->is_there)
		rules_table(&batch, NFT_MSG_DELTABLE, 0);
	size_t from = batch.len;
	buf_add(&batch, wanted->data, wanted->len);
	request_acknowledgement(&batch, from);
	message_end(&batch, message_begin_batch(&batch, NFNL_MSG_BATCH_END));
	return converse(fd, &batch, &answer, 0);
}
