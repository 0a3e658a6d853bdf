#include "manager/model/rules.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"

/* --- names ------------------------------------------------------------------------------------------------------- */

static bool label_is_valid(const char *label, size_t n)
{
	if (!n || n > 63 || label[0] == '-' || label[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)label[i]) && !isdigit((unsigned char)label[i]) && label[i] != '-' &&
		    label[i] != '_')
			return false;
	return true;
}

/* Resolvers read a name as an IPv4 address if its last label is a number: "10.1", "0x7f.1", "2130706433". */
static bool is_number(const char *label)
{
	size_t digits = strspn(label, "0123456789");
	if (label[digits] == '\0')
		return true;
	return label[0] == '0' && label[1] == 'x' && label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
}

bool host_name(char ret[RULE_NAME_MAX + 1], const char *text, size_t n)
{
	char name[RULE_NAME_MAX + 1];
	if (n && text[n - 1] == '.')
		n--;
	if (!n || n > RULE_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
	name[n] = '\0';
	const char *label = name;
	for (;;) {
		size_t length = strcspn(label, ".");
		if (!label_is_valid(label, length))
			return false;
		if (label + length == name + n)
			break;
		label += length + 1;
	}
	if (is_number(label))
		return false;
	memcpy(ret, name, n + 1);
	return true;
}

static bool is_below(const char *name, const char *above)
{
	size_t n = strlen(name), m = strlen(above);
	return n > m + 1 && name[n - m - 1] == '.' && streq(name + n - m, above);
}

/* --- one entry --------------------------------------------------------------------------------------------------- */

static void rule_release(struct rule *r)
{
	free(r->entry);
	free(r->name);
	free(r->address);
	*r = (struct rule){ 0 };
}

static void rule_copy(struct rule *to, const struct rule *from)
{
	*to = *from;
	to->entry = xstrdup(from->entry);
	to->name = xstrdup(from->name);
	to->address = from->address ? xstrdup(from->address) : NULL;
}

static int bad(struct fail *f, const char *entry, const char *what)
{
	return fail_set(f, FAIL_INVALID, "'%.*s' is not a network rule: %s", RULE_TEXT_MAX, entry, what);
}

/* Takes ownership of the rule. */
static int push(struct rules *r, struct rule *rule, struct fail *f)
{
	if (r->n == RULES_MAX) {
		rule_release(rule);
		return fail_set(f, FAIL_INVALID, "there are more than %d network rules", RULES_MAX);
	}
	r->v = xrealloc(r->v, (r->n + 1) * sizeof(*r->v));
	r->v[r->n++] = *rule;
	*rule = (struct rule){ 0 };
	return 0;
}

static bool read_port(uint16_t *ret, const char *text, size_t n)
{
	char word[6];
	uint64_t port;
	if (!n || n >= sizeof(word))
		return false;
	memcpy(word, text, n);
	word[n] = '\0';
	if (parse_u64(word, &port) < 0 || !port || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* "443", "8000-8010", "443/tcp". NULL, or what is wrong. */
static const char *read_ports(struct rule *rule, const char *text)
{
	size_t n = strcspn(text, "/");
	if (text[n]) {
		if (!streq(text + n, "/tcp"))
			return "only /tcp may follow the port";
		rule->tcp = true;
	}
	const char *dash = memchr(text, '-', n);
	size_t first = dash ? (size_t)(dash - text) : n;
	if (!read_port(&rule->first, text, first))
		return "the port is not a number from 1 to 65535";
	rule->last = rule->first;
	if (dash && !read_port(&rule->last, dash + 1, n - first - 1))
		return "the last port is not a number from 1 to 65535";
	if (rule->last < rule->first)
		return "the last port is before the first";
	return rule->last - rule->first >= RULE_PORTS_MAX ? "a rule has at most 16 ports" : NULL;
}

static const char *explain_name(const char *text, size_t n)
{
	uint8_t address[16];
	AUTO(freep) char *name = xstrndup(text, n);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] >= 0x80)
			return "write a name outside ASCII in its encoded form, xn--…";
	if (strstr(name, "://") || strchr(name, '/'))
		return "give the name of the host alone, without a scheme and a path";
	if (strchr(name, '*'))
		return "'*' can only stand for the first part of a name, as in *.example.com";
	if (inet_pton(AF_INET, name, address) == 1 || name[0] == '[' || strchr(name, ':'))
		return "an address has no name; the operator can give it one: NAME=ADDRESS:PORT";
	return "a name has letters, digits, '-', '_' and single dots, at most 63 characters between dots and 253 in all, "
	       "and is not an address";
}

/* The host and the ports: "*.example.com:8000-8010/tcp". NULL, or what is wrong. */
static const char *read_host(struct rule *rule, const char *text)
{
	char name[RULE_NAME_MAX + 1];
	rule->below = strncmp(text, "*.", 2) == 0;
	const char *host = rule->below ? text + 2 : text, *colon = strchr(host, ':');
	if (colon && (strchr(colon + 1, ':') || *host == '[' || strncmp(colon, "://", 3) == 0))
		return explain_name(host, strlen(host));
	size_t n = colon ? (size_t)(colon - host) : strlen(host);
	if (!host_name(name, host, n))
		return explain_name(host, n);
	if (streq(name, "localhost") || is_below(name, "localhost"))
		return "localhost is the session itself; the operator can name a port of the host: NAME=127.0.0.1:PORT";
	const char *what = colon ? read_ports(rule, colon + 1) : NULL;
	if (!what)
		rule->name = xstrdup(name);
	return what;
}

static const char *read_address(struct rule *rule, const char *text)
{
	uint8_t address[16];
	const char *colon = strrchr(text, ':');
	bool v6 = *text == '[';
	if (!colon || (v6 && (colon == text || colon[-1] != ']')) || (!v6 && strchr(text, ':') != colon))
		return "an endpoint is NAME=ADDRESS:PORT, with an IPv6 address in brackets";
	AUTO(freep) char *host =
		v6 ? xstrndup(text + 1, (size_t)(colon - text - 2)) : xstrndup(text, (size_t)(colon - text));
	if (inet_pton(v6 ? AF_INET6 : AF_INET, host, address) != 1)
		return "an endpoint needs a numeric address";
	if (!read_port(&rule->first, colon + 1, strlen(colon + 1)))
		return "the port is not a number from 1 to 65535";
	rule->last = rule->first;
	rule->tcp = true;
	rule->address = take_ptr(host);
	return NULL;
}

static const char *read_endpoint(struct rule *rule, const char *text, size_t n)
{
	char name[RULE_NAME_MAX + 1];
	if (!host_name(name, text, n) || streq(name, "localhost"))
		return "the name of an endpoint has letters, digits, '-', '_' and single dots";
	const char *what = read_address(rule, text + n + 1);
	if (!what)
		rule->name = xstrdup(name);
	return what;
}

static int add_set(struct rules *r, const char *entry, struct fail *f)
{
	size_t n;
	const struct rule_set *sets = rules_sets(&n);
	for (size_t i = 0; i < n; i++) {
		if (!streq(sets[i].name, entry + 1))
			continue;
		for (const char *p = sets[i].hosts; *p; p += strspn(p, " ")) {
			size_t length = strcspn(p, " ");
			AUTO(freep) char *host = xstrndup(p, length);
			if (rules_add(r, host, f) < 0)
				return -1;
			free(r->v[r->n - 1].entry);
			r->v[r->n - 1].entry = xstrdup(entry);
			p += length;
		}
		return 0;
	}
	return bad(f, entry, "there is no such set; husk gate list shows the sets");
}

static void cut(struct rules *r, size_t n)
{
	while (r->n > n)
		rule_release(&r->v[--r->n]);
}

int rules_add(struct rules *r, const char *entry, struct fail *f)
{
	size_t before = r->n;
	if (strlen(entry) > RULE_TEXT_MAX)
		return bad(f, entry, "it is too long");
	if (*entry == '@') {
		int result = add_set(r, entry, f);
		if (result < 0)
			cut(r, before);
		return result;
	}
	struct rule rule = { 0 };
	const char *equals = strchr(entry, '=');
	const char *what = equals ? read_endpoint(&rule, entry, (size_t)(equals - entry)) : read_host(&rule, entry);
	if (what) {
		rule_release(&rule);
		return bad(f, entry, what);
	}
	rule.entry = xstrdup(entry);
	return push(r, &rule, f);
}

int rules_parse(struct rules *r, const char *list, struct fail *f)
{
	static const char between[] = ", \t\n";
	for (const char *p = list + strspn(list, between); *p; p += strspn(p, between)) {
		size_t n = strcspn(p, between);
		AUTO(freep) char *entry = xstrndup(p, n);
		if (rules_add(r, entry, f) < 0)
			return -1;
		p += n;
	}
	return 0;
}

/* --- lists ------------------------------------------------------------------------------------------------------- */

void rules_release(struct rules *r)
{
	cut(r, 0);
	free(r->v);
	*r = (struct rules){ 0 };
}

void rules_copy(struct rules *to, const struct rules *from)
{
	struct rules copy = { .v = xcalloc(from->n + 1, sizeof(*copy.v)), .n = from->n };
	for (size_t i = 0; i < from->n; i++)
		rule_copy(&copy.v[i], &from->v[i]);
	rules_release(to);
	*to = copy;
}

/* True if the rules are about the same hosts and ports. */
static bool same_hosts(const struct rule *a, const struct rule *b)
{
	bool endpoints = a->address && b->address;
	return streq(a->name, b->name) && a->below == b->below && a->first == b->first && a->last == b->last &&
	       !a->address == !b->address && (!endpoints || streq(a->address, b->address));
}

bool rules_equal(const struct rules *a, const struct rules *b)
{
	bool same = a->n == b->n;
	for (size_t i = 0; same && i < a->n; i++)
		same = same_hosts(&a->v[i], &b->v[i]) && a->v[i].deny == b->v[i].deny && a->v[i].tcp == b->v[i].tcp &&
		       a->v[i].personal == b->v[i].personal && streq(a->v[i].entry, b->v[i].entry);
	return same;
}

/* Later rules decide, so a change is added at the end. */
static int change(struct rules *r, const char *entry, bool deny, struct fail *f)
{
	struct rules added = { 0 }, kept = { 0 };
	if (rules_add(&added, entry, f) < 0)
		return -1;
	for (size_t i = 0; i < r->n; i++) {
		bool repeated = false;
		for (size_t k = 0; k < added.n; k++)
			repeated |= same_hosts(&r->v[i], &added.v[k]);
		struct rule copy;
		if (repeated)
			continue;
		rule_copy(&copy, &r->v[i]);
		(void)push(&kept, &copy, f);
	}
	int result = kept.n + added.n > RULES_MAX ?
			     fail_set(f, FAIL_INVALID, "there are more than %d network rules", RULES_MAX) :
			     0;
	for (size_t k = 0; result == 0 && k < added.n; k++) {
		added.v[k].deny = deny;
		added.v[k].personal = !deny;
		result = push(&kept, &added.v[k], f);
	}
	if (result == 0) {
		rules_release(r);
		*r = kept;
		kept = (struct rules){ 0 };
	}
	/* The rules that were pushed are empty now. */
	rules_release(&kept);
	rules_release(&added);
	return result;
}

int rules_allow(struct rules *r, const char *entry, struct fail *f)
{
	return change(r, entry, /* deny= */ false, f);
}

int rules_deny(struct rules *r, const char *entry, struct fail *f)
{
	return change(r, entry, /* deny= */ true, f);
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

static bool has_name(const struct rule *r, const char *name)
{
	return r->below ? is_below(name, r->name) : streq(name, r->name);
}

/* A rule without ports allows 80 and 443, and refuses all ports. */
static bool has_port(const struct rule *r, uint16_t port)
{
	if (!r->first)
		return r->deny || port == 80 || port == 443;
	return port >= r->first && port <= r->last;
}

const struct rule *rules_deciding(const struct rules *r, const char *name, uint16_t port)
{
	for (size_t i = r->n; i-- > 0;)
		if (has_name(&r->v[i], name) && has_port(&r->v[i], port))
			return &r->v[i];
	return NULL;
}

const struct rule *rules_find(const struct rules *r, const char *name, uint16_t port)
{
	const struct rule *found = rules_deciding(r, name, port);
	return found && !found->deny ? found : NULL;
}

bool rules_know(const struct rules *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct rule *rule = &r->v[i];
		if (rule->deny || !has_name(rule, name))
			continue;
		for (uint32_t port = rule->first ? rule->first : 80; port <= (rule->first ? rule->last : 443);
		     port += rule->first ? 1 : 363)
			if (rules_find(r, name, (uint16_t)port))
				return true;
	}
	return false;
}

/* --- the ceiling ------------------------------------------------------------------------------------------------- */

/* The names that both rules have, as the name of the narrower one; NULL = none. */
static const struct rule *narrower(const struct rule *a, const struct rule *b)
{
	if (a->below && b->below)
		return streq(a->name, b->name) || is_below(a->name, b->name) ? a :
		       is_below(b->name, a->name)			     ? b :
									       NULL;
	if (b->below)
		return is_below(a->name, b->name) ? a : NULL;
	if (a->below)
		return is_below(b->name, a->name) ? b : NULL;
	return streq(a->name, b->name) ? a : NULL;
}

/* Adds the part of `wanted` between two ports of a rule of the ceiling. */
static int meet_ports(struct rules *ret, const struct rule *wanted, const struct rule *ceiling,
		      const struct rule *named, uint16_t first, uint16_t last, struct fail *f)
{
	struct rule rule;
	uint16_t from = wanted->first ? MAX(wanted->first, first) : first;
	uint16_t to = wanted->first ? MIN(wanted->last, last) : last;
	if (from > to)
		return 0;
	rule_copy(&rule, ceiling);
	free(rule.name);
	free(rule.entry);
	rule.name = xstrdup(named->name);
	rule.entry = xstrdup(wanted->entry);
	rule.below = named->below;
	rule.first = from;
	rule.last = to;
	rule.tcp = ceiling->tcp && (wanted->tcp || !wanted->first || ceiling->address);
	return push(ret, &rule, f);
}

static int meet(struct rules *ret, const struct rule *wanted, const struct rule *ceiling, struct fail *f)
{
	const struct rule *named = narrower(wanted, ceiling);
	if (!named || wanted->address || wanted->deny || ceiling->deny)
		return 0;
	if (ceiling->first || !wanted->first)
		return meet_ports(ret, wanted, ceiling, named, ceiling->first, ceiling->last, f);
	return meet_ports(ret, wanted, ceiling, named, 80, 80, f) < 0 ||
			       meet_ports(ret, wanted, ceiling, named, 443, 443, f) < 0 ?
		       -1 :
		       0;
}

static bool covers(const struct rule *ceiling, const struct rule *wanted, uint16_t port)
{
	bool names = ceiling->below ? (wanted->below && streq(wanted->name, ceiling->name)) ||
					      is_below(wanted->name, ceiling->name) :
				      !wanted->below && streq(wanted->name, ceiling->name);
	return names && !ceiling->deny && (!port || (has_port(ceiling, port) && (ceiling->tcp || !wanted->tcp)));
}

/* True if the ceiling allows all of a rule. */
static bool is_granted(const struct rules *ceiling, const struct rule *wanted)
{
	if (wanted->address)
		return false;
	for (uint32_t port = wanted->first; port <= wanted->last; port++) {
		bool granted = false;
		for (size_t i = 0; i < ceiling->n && !granted; i++)
			granted = covers(&ceiling->v[i], wanted, (uint16_t)port);
		if (!granted)
			return false;
	}
	return true;
}

/* A set of which nothing is granted is named as a whole. */
static void leave_out(struct strv *left_out, const struct rules *ceiling, const struct rules *wanted,
		      const struct rule *rule)
{
	bool some = false;
	for (size_t i = 0; *rule->entry == '@' && i < wanted->n; i++)
		some |= streq(wanted->v[i].entry, rule->entry) && is_granted(ceiling, &wanted->v[i]);
	AUTO(freep) char *text = some ? rule_text(rule) : xstrdup(rule->entry);
	if (strv_find(left_out, text) == SIZE_MAX)
		strv_add(left_out, text);
}

int rules_narrow(struct rules *ret, const struct rules *ceiling, const struct rules *wanted, struct strv *left_out,
		 struct fail *f)
{
	for (size_t i = 0; i < wanted->n; i++) {
		for (size_t k = 0; k < ceiling->n; k++)
			if (meet(ret, &wanted->v[i], &ceiling->v[k], f) < 0)
				return -1;
		if (!is_granted(ceiling, &wanted->v[i]))
			leave_out(left_out, ceiling, wanted, &wanted->v[i]);
	}
	return 0;
}

/* True if one rule of the ceiling allows all of a rule that has been in force. */
static bool is_whole(const struct rule *ceiling, const struct rule *rule)
{
	if (ceiling->deny || narrower(rule, ceiling) != rule || (rule->tcp && !ceiling->tcp) ||
	    !rule->address != !ceiling->address || (rule->address && !streq(rule->address, ceiling->address)))
		return false;
	if (ceiling->first)
		return rule->first >= ceiling->first && rule->last <= ceiling->last;
	return rule->first == rule->last && (!rule->first || has_port(ceiling, rule->first));
}

/* The part of a rule on one port. */
static int lower_port(struct rules *ret, const struct rule *rule, uint16_t port, const struct rule *ceiling,
		      struct fail *f)
{
	struct rule part = *rule;
	part.first = part.last = port;
	return meet(ret, &part, ceiling, f);
}

static int lower_one(struct rules *ret, const struct rule *rule, const struct rules *ceiling, struct fail *f)
{
	bool whole = rule->deny || rule->personal;
	int r = 0;
	for (size_t i = 0; i < ceiling->n; i++)
		whole |= is_whole(&ceiling->v[i], rule);
	if (whole) {
		struct rule copy;
		rule_copy(&copy, rule);
		return push(ret, &copy, f);
	}
	for (size_t i = 0; r == 0 && i < ceiling->n; i++) {
		if (rule->first || !ceiling->v[i].first)
			r = meet(ret, rule, &ceiling->v[i], f);
		else if ((r = lower_port(ret, rule, 80, &ceiling->v[i], f)) == 0)
			/* An entry of a list means the ports of the ceiling; a rule has only these two. */
			r = lower_port(ret, rule, 443, &ceiling->v[i], f);
	}
	return r;
}

int rules_lower(struct rules *r, const struct rules *ceiling, struct fail *f)
{
	struct rules kept = { 0 };
	int result = 0;
	for (size_t i = 0; result == 0 && i < r->n; i++)
		result = lower_one(&kept, &r->v[i], ceiling, f);
	if (result == 0)
		rules_copy(r, &kept);
	rules_release(&kept);
	return result;
}

/* --- as text ----------------------------------------------------------------------------------------------------- */

char *rule_text(const struct rule *r)
{
	struct buf text = { 0 };
	buf_printf(&text, "%s%s", r->below ? "*." : "", r->name);
	if (r->address)
		buf_printf(&text, strchr(r->address, ':') ? "=[%s]" : "=%s", r->address);
	if (r->first)
		buf_printf(&text, ":%u", r->first);
	if (r->last > r->first)
		buf_printf(&text, "-%u", r->last);
	if (r->tcp && !r->address)
		buf_add_str(&text, "/tcp");
	return buf_steal_str(&text);
}

char *rules_to_text(const struct rules *r)
{
	struct buf text = { 0 };
	for (size_t i = 0; i < r->n; i++) {
		AUTO(freep) char *one = rule_text(&r->v[i]);
		buf_printf(&text, "%s%s%s", i ? " " : "", r->v[i].deny ? "!" : r->v[i].personal ? "+" : "", one);
	}
	return buf_steal_str(&text);
}

int rules_from_text(struct rules *r, const char *text, struct fail *f)
{
	for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		bool deny = *p == '!', personal = *p == '+';
		size_t mark = deny || personal;
		AUTO(freep) char *entry = xstrndup(p + mark, n - mark);
		if (rules_add(r, entry, f) < 0)
			return -1;
		r->v[r->n - 1].deny = deny;
		r->v[r->n - 1].personal = personal;
		p += n;
	}
	return 0;
}

void rules_entries(const struct rules *r, struct strv *ret)
{
	for (size_t i = 0; i < r->n; i++)
		if (strv_find(ret, r->v[i].entry) == SIZE_MAX)
			strv_add(ret, r->v[i].entry);
}
