/* husk-conformance: `husk mcp` with the fixtures that the conformance suite needs. Never installed. */
#include "base/log.h"
#include "cli/serve.h"
#include "tests/conformance/fixtures.h"

int main(void)
{
	log_init();
	return serve_run(&(struct options){ .verb = VERB_MCP }, fixtures_extension());
}
