#include "mcp/demo.h"
int demo_run(const char *env_file)
{
	return 111;
}
