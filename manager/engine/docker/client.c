#include "manager/engine/docker/client.h"

#include "manager/model/cause.h"

int client_start(struct loop *loop, const struct child_spec *spec, struct child **ret, struct fail *f)
{
	if (child_start(loop, spec, ret, f) == 0)
		return 0;
	f->cause = CAUSE_NO_CLIENT;
	return fail_hint(
		f,
		"install the docker client and an engine (`husk setup` does both), or set HUSK_DOCKER to the client's path");
}
