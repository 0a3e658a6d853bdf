/* The names that have a loopback address now, and the listeners on these addresses. */
#ifndef HUSK_KERNELS_GATE_HOSTS_H
#define HUSK_KERNELS_GATE_HOSTS_H

#include "base/list.h"
#include "kernels/gate/names.h"

/* Names that have an address, and ports that PID 1 listens on, at a time. The longest unused are given up. */
#define GATE_HOSTS_MAX 256u
#define GATE_LISTENERS_MAX 512u
/* 127.64.0.1: every name that the rules do not have. */
#define GATE_COMMON_ADDRESS 0x7f400001u

struct host;

struct listener {
	struct host *host;
	uint16_t port;
	int fd;
};

struct host {
	struct list node;
	char name[HOST_NAME_SIZE]; /* "" = the common address */
	uint32_t address;	   /* host order */
	struct listener *listeners;
	size_t n;
};

struct hosts {
	int epoll_fd;	  /* ready if a listener has a connection; -1 = not made yet */
	struct list list; /* of struct host, the longest unused first */
	size_t n, n_listeners;
	uint32_t next_address;
	struct host *common;
};

void hosts_init(struct hosts *all);
/* Begins to listen on the common address. 0 or -errno. Idempotent. */
int hosts_open(struct hosts *all);
/* The address of this name, which has these ports. */
uint32_t hosts_address(struct hosts *all, const char *name, const uint16_t *ports, size_t n);
/* Gives every name the ports of these rules, and gives up names that have none. If the names are standing, each gets its
 * address now: GATE_ADDRESS_FIRST and the following ones, unless they were given before. */
void hosts_apply(struct hosts *all, const struct names *names);
/* A listener with a connection, or NULL. */
struct listener *hosts_ready(struct hosts *all);

#endif
