/* Checks of the firewall rules around sessions. */
#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"

/* Lists what the settings open beside public addresses. */
static char *open_networks(const struct config *config)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < config->private_networks.n; i++)
		buf_printf(&b, "%s%s",
			   i ? ", " : "; open by CONTAINER_NETWORK_PRIVATE: ", config->private_networks.v[i]);
	buf_add_str(&b, "");
	return buf_steal_str(&b);
}

void doctor_judge_fence(struct checks *c, const struct config *config, enum engine_fence fence)
{
	AUTO(freep) char *open = open_networks(config);
	switch (fence) {
	case FENCE_STOOD:
	case FENCE_WAS_SET:
		checks_add(c, "fence", CHECK_OK, NULL,
			   "sessions reach public addresses only (nftables table 'inet husk')%s", open);
		break;
	case FENCE_NOT_SET:
		checks_add(c, "fence", CHECK_OK, NULL, "not set yet; set for the first session with a network%s", open);
		break;
	case FENCE_NOT_OURS:
		checks_add(
			c, "fence", CHECK_WARN, "find out what changes the nftables table 'inet husk'",
			"its rules were changed; the next session with a network sets them again, and a running one within a minute");
		break;
	}
}

void doctor_judge_no_fence(struct checks *c, const struct config *config, const struct fail *f)
{
	bool required = config->network_fence == FENCE_REQUIRE;
	if (f->kind == FAIL_IMAGE)
		checks_add(c, "fence", CHECK_WARN, FIX_SETUP,
			   "unknown, since the image with its program does not exist");
	else
		checks_add(
			c, "fence", required ? CHECK_FAIL : CHECK_WARN,
			"use a kernel with nf_tables and an engine that may run a container with --network host and NET_ADMIN, "
			"or switch the network off",
			"%s: %s", f->message,
			required ? "no session gets a network (CONTAINER_NETWORK_FENCE=require)" :
				   "sessions with the network can reach private addresses and services of the host");
}
