/* The names that a session may connect to. An entry of a list is one of these:
 *
 *   api.example.com           this host, on the ports 80 and 443
 *   *.example.com             every host below it, but not example.com itself
 *   db.example.com:5432       another port, or a range such as 8000-8010 of at most RULE_PORTS_MAX ports
 *   git.example.com:443/tcp   the bytes on this port are not checked: they may be something other than TLS or HTTP
 *   @python                   a set of hosts (rules_sets())
 *   model=10.1.2.3:8000       an endpoint: the session reaches this address by the name on the left
 *
 * Names are compared without their case and without a dot at the end. Names outside ASCII are written in their encoded
 * form (xn--…). Addresses are not names: an address of a rule can only be that of an endpoint. */
#ifndef HUSK_MANAGER_MODEL_RULES_H
#define HUSK_MANAGER_MODEL_RULES_H

#include "base/fail.h"
#include "base/strv.h"

/* Rules of one list, with those of its sets. */
#define RULES_MAX 256
#define RULE_PORTS_MAX 16
/* An entry of a list, in bytes. */
#define RULE_TEXT_MAX 300
#define RULE_NAME_MAX 253

struct rule {
	char *entry;	      /* as it was written; the name of the set for a rule of a set */
	char *name;	      /* lower case; "example.com" for *.example.com */
	bool below;	      /* *.name */
	bool deny;	      /* refuses what another rule allows */
	bool personal;	      /* a person allowed it in a running session, whatever the operator's list says */
	bool tcp;	      /* any bytes */
	bool own;	      /* a host of the operator's settings: its address may be any. Not in texts */
	uint16_t first, last; /* ports; 0 = not written: 80 and 443 */
	char *address;	      /* of an endpoint, numeric; NULL = the name is resolved */
};

/* All zeroes = empty, which allows nothing. */
struct rules {
	struct rule *v;
	size_t n;
};

void rules_release(struct rules *r);
void rules_copy(struct rules *to, const struct rules *from);
bool rules_equal(const struct rules *a, const struct rules *b);
/* Adds one entry. -1 with f, which quotes the entry and says what is wrong with it; r is then unchanged. */
int rules_add(struct rules *r, const char *entry, struct fail *f);
/* Adds each entry of a list that is separated by commas or spaces. */
int rules_parse(struct rules *r, const char *list, struct fail *f);
/* Allows or refuses the hosts of an entry from now on, whatever earlier rules say. A change that repeats earlier ones
 * replaces them. */
int rules_allow(struct rules *r, const char *entry, struct fail *f);
int rules_deny(struct rules *r, const char *entry, struct fail *f);

/* The rule that allows a connection, or NULL. The name is as host_name() returns it. */
const struct rule *rules_find(const struct rules *r, const char *name, uint16_t port);
/* The rule that decides, also if it refuses; NULL = no rule matches, which refuses. */
const struct rule *rules_deciding(const struct rules *r, const char *name, uint16_t port);
/* True if some port of this name is allowed. */
bool rules_know(const struct rules *r, const char *name);
/* The part of `wanted` that `ceiling` allows is added to ret. An entry of `wanted` without ports means the ports of the
 * ceiling. Everything else is added to left_out, as it was written. -1 with f if there are too many rules. */
int rules_narrow(struct rules *ret, const struct rules *ceiling, const struct rules *wanted, struct strv *left_out,
		 struct fail *f);
/* Removes what the ceiling does not allow from the rules of a session that another server created. Denials and what a
 * person allowed stay. -1 with f if there are too many rules; r is then unchanged. */
int rules_lower(struct rules *r, const struct rules *ceiling, struct fail *f);
/* The entry for one rule, in a form that rules_add() accepts. The caller owns it. */
char *rule_text(const struct rule *r);
/* The same for all rules: the entries as they were written, each once, in their order. */
void rules_entries(const struct rules *r, struct strv *ret);

/* All rules as one text, and back: for the store. Sets are written as their hosts, denials with '!' before them, and
 * what a person allowed with '+'. The caller owns the text. */
char *rules_to_text(const struct rules *r);
int rules_from_text(struct rules *r, const char *text, struct fail *f);

/* The sets, by name ("python"); the list of hosts is separated by spaces. */
struct rule_set {
	const char *name, *hosts, *meaning;
};
const struct rule_set *rules_sets(size_t *n);

/* Writes a name of n bytes in the form that rules use, with a NUL: lower case, without one dot at the end. False if it
 * is not a host name: labels of letters, digits, '-' and '_', at most RULE_NAME_MAX bytes, and not an address. */
bool host_name(char ret[RULE_NAME_MAX + 1], const char *text, size_t n);

#endif
