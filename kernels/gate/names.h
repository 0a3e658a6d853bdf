/* The rules of the gate as PID 1 knows them: which names get an address, and on which ports. The manager decides about
 * each connection again. */
#ifndef HUSK_KERNELS_GATE_NAMES_H
#define HUSK_KERNELS_GATE_NAMES_H

#include <jansson.h>

#include "kernels/host-name.h"
#include "kernels/protocol.h"

/* Ports of one name, over all rules that match it. */
#define NAME_PORTS_MAX 64u

struct name_rule {
	char *name; /* without "*." */
	bool below; /* matches the names below it, and not itself */
	struct {
		uint16_t first, last;
	} ports[GATE_RULE_PORTS_MAX];
	size_t n_ports;
};

/* All zeroes = no rules. */
struct names {
	struct name_rule *v;
	size_t n;
	bool standing; /* each name has an address from the beginning */
	char *hint;    /* for people whose connection is refused; NULL = none */
};

/* Reads the payload of a GATE frame. -1 if it is malformed: *ret is then unchanged. */
int names_read(struct names *ret, const void *payload, size_t n);
void names_release(struct names *names);
/* The ports on which a name can be reached, each once; 0 = the name is not in the rules. */
size_t names_ports(const struct names *names, const char *name, uint16_t ret[NAME_PORTS_MAX]);

#endif
