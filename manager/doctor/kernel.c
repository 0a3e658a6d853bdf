/* Checks of the machine's kernel: the protections that it adds to those of the engine, and those that it lacks. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/parse.h"
#include "manager/doctor/doctor-private.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION 1u
/* The first version of Landlock that PID 1 uses (kernels/guard/landlock.c). */
#define LANDLOCK_VERSION_MIN 2
#define PTYS "/proc/sys/kernel/pty/"
#define BRIDGE_FILTER "/proc/sys/net/bridge/bridge-nf-call-iptables"

static enum support read_switch(const char *path)
{
	char value = 0;
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &value, 1) != 1)
		return SUPPORT_NO;
	return value == '1' ? SUPPORT_YES : SUPPORT_NO;
}

static uint64_t read_count(const char *path)
{
	char text[32] = "";
	uint64_t value;
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, &value) < 0 ? 0 : value;
}

void doctor_read_kernel(struct kernel_facts *ret, const char *engine_kernel)
{
	struct utsname uts = { 0 };
	uname(&uts);
	*ret = (struct kernel_facts){ .is_ours = engine_kernel && streq(engine_kernel, uts.release) };
	if (!ret->is_ours)
		return;
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
	ret->landlock = version > 0 ? (int)version : 0;
	ret->bridge_filter = read_switch(BRIDGE_FILTER);
	/* Some pseudo-terminals are reserved for the machine itself. */
	uint64_t max = read_count(PTYS "max");
	ret->ptys = read_count(PTYS "nr");
	ret->ptys_max = max - MIN(max, read_count(PTYS "reserve"));
}

static void judge_landlock(struct checks *c, const struct kernel_facts *k)
{
	if (k->is_gvisor)
		checks_add(
			c, "landlock", CHECK_WARN, NULL,
			"gVisor does not support it: processes that a cell leaves behind can attack the commands of its session");
	else if (!k->is_ours)
		checks_add(c, "landlock", CHECK_WARN, NULL,
			   "unknown: the engine does not run on this machine's kernel");
	else if (k->landlock < LANDLOCK_VERSION_MIN)
		checks_add(c, "landlock", CHECK_WARN,
			   "use a kernel of 5.19 or newer with landlock in its list of security modules (lsm=)",
			   "missing: processes that a cell leaves behind can attack the commands of its session");
	else
		checks_add(c, "landlock", CHECK_OK, NULL, "version %d: separates the interpreter from each command",
			   k->landlock);
}

/* With icc=false, iptables rules drop packets between containers. But iptables sees packets within a bridge only if
 * br_netfilter is on. */
static void judge_bridge(struct checks *c, const struct kernel_facts *k)
{
	if (!k->is_ours || k->bridge_filter == SUPPORT_UNKNOWN)
		checks_add(c, "br_netfilter", CHECK_WARN, NULL,
			   "unknown on this machine; without it sessions with the network can reach each other");
	else if (k->bridge_filter == SUPPORT_NO)
		checks_add(c, "br_netfilter", CHECK_FAIL,
			   "modprobe br_netfilter, and set net.bridge.bridge-nf-call-iptables=1 permanently",
			   "off: sessions with the network can reach each other");
	else
		checks_add(c, "br_netfilter", CHECK_OK, NULL, "on: traffic between sessions is dropped");
}

static void judge_modules(struct checks *c, const struct engine_info *info)
{
	if (info->apparmor || info->selinux)
		checks_add(c, "apparmor", CHECK_OK, NULL, "%s", info->apparmor ? "on" : "off, SELinux is on");
	else
		checks_add(c, "apparmor", CHECK_WARN, "boot a kernel with AppArmor (or SELinux) and restart the engine",
			   "off, and no SELinux: a second layer behind seccomp is missing");
}

static void judge_users(struct checks *c, const struct engine_info *info)
{
	checks_add(c, "rootless", CHECK_OK, NULL, "%s",
		   info->rootless ? "yes" : "no: every user of this engine is root on its machine");
	if (info->rootless || info->userns)
		checks_add(c, "user namespaces", CHECK_OK, NULL, "%s: root inside a container has no rights outside",
			   info->rootless ? "a rootless engine" : "userns-remap");
	else
		checks_add(
			c, "user namespaces", CHECK_WARN,
			"set userns-remap in the engine's daemon.json, or use a rootless engine",
			"not used: a process that becomes root in a container (by a kernel vulnerability) is root outside, too");
}

/* No engine can limit the pseudo-terminals of one container; session_info shows how many a session uses. */
static void judge_ptys(struct checks *c, const struct kernel_facts *k)
{
	if (!k->ptys_max)
		return;
	bool few = k->ptys / 3 >= k->ptys_max / 4;
	checks_add(c, "pseudo-terminals", few ? CHECK_WARN : CHECK_OK,
		   few ? "stop sessions that use many, or raise kernel.pty.max" : NULL,
		   "%llu in use, of %llu for all containers", (unsigned long long)k->ptys,
		   (unsigned long long)k->ptys_max);
}

void doctor_judge_kernel(struct checks *c, const struct engine_info *info, const struct kernel_facts *k)
{
	judge_modules(c, info);
	judge_users(c, info);
	judge_landlock(c, k);
	judge_bridge(c, k);
	judge_ptys(c, k);
}
