#include "kernels/guard/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/parse.h"
#include "kernels/system/clock.h"
#include "kernels/system/limits.h"

/* Sockets of killed processes take a moment to disappear. */
#define AFTER_KILL_MS 400
#define LIMIT_MIN (64ull << 20)
#define LIMIT_OF_UNKNOWN (256ull << 20)
#define SHARE_OF_MEMORY 8
/* Sockets of other kinds are only checked if the namespace has more sockets than this. */
#define OTHERS_MIN 16
/* All states but TIME-WAIT and half-open connections, which have no buffers. */
#define STATES_WITH_BUFFERS (0xfffu & ~(1u << 6))
/* If the Linux kernel does not answer, PID 1 must not block. */
#define ANSWER_MS 1000

int sockets_open_diag(void)
{
	AUTO(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	const struct timeval patience = { .tv_sec = ANSWER_MS / 1000 };
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	return take_fd(fd);
}

uint64_t sockets_limit(uint64_t memory)
{
	return memory == LIMIT_UNKNOWN ? LIMIT_OF_UNKNOWN : MAX(LIMIT_MIN, memory / SHARE_OF_MEMORY);
}

/* ---- files of /proc/net */

static uint64_t number_in(const char *text, const char *line, const char *label)
{
	const char *at = strstr(text, line);
	size_t n = at ? strcspn(at, "\n") : 0;
	const char *label_at = at ? strstr(at, label) : NULL;
	return label_at && label_at < at + n ? strtoull(label_at + strlen(label), NULL, 10) : 0;
}

void sockets_parse_stat(const char *text, uint64_t *ret_bytes, uint64_t *ret_sockets)
{
	uint64_t pages = number_in(text, "TCP: ", " mem ") + number_in(text, "UDP: ", " mem ");
	*ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_sockets = number_in(text, "sockets: ", "used ");
}

uint64_t sockets_parse_netlink(const char *line)
{
	unsigned long long receive, send;
	return sscanf(line, "%*s %*d %*u %*x %llu %llu", &receive, &send) == 2 ? receive + send : 0;
}

uint64_t sockets_parse_icmp(const char *line)
{
	unsigned long long send, receive;
	int n = sscanf(line, " %*d: %*[0-9A-F]:%*x %*[0-9A-F]:%*x %*x %llx:%llx", &send, &receive);
	return n == 2 ? send + receive : 0;
}

static bool read_text(const char *path, char *text, size_t size)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[MAX(n, 0)] = '\0';
	return n > 0;
}

static uint64_t sum_of_lines(const char *path, uint64_t (*parse)(const char *line), uint64_t enough)
{
	char line[512];
	uint64_t sum = 0;
	FILE *f = fopen(path, "re");
	while (f && sum <= enough && fgets(line, sizeof(line), f))
		sum += parse(line);
	if (f)
		(void)fclose(f);
	return sum;
}

/* ---- each socket of the namespace */

static uint64_t buffers_of(const struct nlmsghdr *h)
{
	struct inet_diag_msg *m = NLMSG_DATA(h);
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return 0;
	int n = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	for (struct rtattr *a = (struct rtattr *)(m + 1); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		uint32_t v[SK_MEMINFO_BACKLOG + 1];
		if (a->rta_type != INET_DIAG_SKMEMINFO || RTA_PAYLOAD(a) < sizeof(v))
			continue;
		memcpy(v, RTA_DATA(a), sizeof(v));
		return (uint64_t)v[SK_MEMINFO_RMEM_ALLOC] + v[SK_MEMINFO_FWD_ALLOC] + v[SK_MEMINFO_OPTMEM] +
		       v[SK_MEMINFO_BACKLOG] + MAX(v[SK_MEMINFO_WMEM_QUEUED], v[SK_MEMINFO_WMEM_ALLOC]);
	}
	return 0;
}

/* Reads the Linux kernel's answer to its end: 0 or -errno. */
static int take_answer(int diag, uint64_t *sum)
{
	static char data[32768] __attribute__((__aligned__(NLMSG_ALIGNTO)));
	for (;;) {
		ssize_t n = recv(diag, data, sizeof(data), 0);
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		int left = (int)n;
		for (struct nlmsghdr *h = (struct nlmsghdr *)data; NLMSG_OK(h, (unsigned)left);
		     h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR)
				return -EIO;
			*sum += buffers_of(h);
		}
	}
}

static int add_buffers(int diag, uint8_t family, uint8_t protocol, uint64_t *sum)
{
	static uint32_t number;
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			    .nlmsg_seq = ++number },
		.body = { .sdiag_family = family,
			  .sdiag_protocol = protocol,
			  .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
			  .idiag_states = STATES_WITH_BUFFERS },
	};
	if (send(diag, &request, sizeof(request), 0) < 0)
		return -errno;
	return take_answer(diag, sum);
}

uint64_t sockets_measure(int diag, uint64_t enough)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 }, protocols[] = { IPPROTO_TCP, IPPROTO_UDP };
	uint64_t sum = 0;
	bool told = false;
	for (size_t i = 0; diag >= 0 && i < ARRAY_LEN(families); i++)
		for (size_t k = 0; k < ARRAY_LEN(protocols) && sum <= enough; k++)
			told |= add_buffers(diag, families[i], protocols[k], &sum) == 0;
	return told ? sum : UINT64_MAX;
}

/* ---- checks */

static uint64_t count_bytes(struct sockets *s)
{
	char text[1024];
	uint64_t machine, n, sum = 0;
	if (!read_text("/proc/net/sockstat", text, sizeof(text)))
		return 0;
	sockets_parse_stat(text, &machine, &n);
	s->busy = machine > s->limit / 2;
	if (machine > s->limit) {
		uint64_t ours = sockets_measure(s->diag, s->limit);
		sum += ours == UINT64_MAX ? 0 : ours;
	}
	if (n > OTHERS_MIN && sum <= s->limit)
		sum += sum_of_lines("/proc/net/netlink", sockets_parse_netlink, s->limit) +
		       sum_of_lines("/proc/net/icmp", sockets_parse_icmp, s->limit) +
		       sum_of_lines("/proc/net/icmp6", sockets_parse_icmp, s->limit);
	return sum;
}

static uint64_t count_flows(void)
{
	char text[32];
	uint64_t n;
	if (!read_text("/proc/sys/net/netfilter/nf_conntrack_count", text, sizeof(text)))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, &n) < 0 ? 0 : n;
}

/* Locks of this container's processes: one line each, counted only until there are too many. */
static bool has_too_many_locks(struct sockets *s)
{
	uint64_t now = clock_now_ms(), n = 0;
	if (now < s->locks_ms + SOCKETS_LOCKS_MS)
		return false;
	s->locks_ms = now;
	static char data[65536];
	AUTO(closep) int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
	for (ssize_t got; n <= SOCKETS_LOCKS_MAX && fd >= 0 && (got = read(fd, data, sizeof(data))) > 0;)
		for (ssize_t i = 0; i < got; i++)
			n += data[i] == '\n';
	return n > SOCKETS_LOCKS_MAX;
}

static void on_timer(struct timeout *timer)
{
	struct sockets *s = container_of(timer, struct sockets, timer);
	/* After a kill, locks are counted again at once: the kill may have been for locks. */
	s->locks_ms = s->times ? 0 : s->locks_ms;
	bool locks = has_too_many_locks(s);
	uint64_t flows = count_flows();
	s->bytes = count_bytes(s);
	/* Flows outlast their sockets, so only a growing number is a reason to kill. */
	bool too_many = flows > SOCKETS_FLOWS_MAX && flows > s->flows;
	bool too_much = s->bytes > s->limit;
	s->flows = flows;
	s->times = too_many || too_much || locks ? s->times + 1 : 0;
	timeout_start(s->poller, &s->timer,
		      s->times				       ? AFTER_KILL_MS :
		      s->busy || flows > SOCKETS_FLOWS_MAX / 2 ? SOCKETS_BUSY_MS :
								 SOCKETS_INTERVAL_MS,
		      on_timer);
	if (s->times)
		s->on_over(s, s->times,
			   too_much ? "hold too much data in sockets" :
			   locks    ? "hold too many file locks" :
				      "have made too many connections");
}

void sockets_start(struct sockets *s)
{
	timeout_start(s->poller, &s->timer, SOCKETS_INTERVAL_MS, on_timer);
}

void sockets_pause(struct sockets *s)
{
	timeout_stop(&s->timer);
}
