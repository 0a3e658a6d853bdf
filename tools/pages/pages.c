#include "tools/pages/pages.h"

const struct page pages[] = {
	{ "husk.1", pages_husk },
	{ "husk-client.1", pages_client },
	{ "husk-jupyter-face.1", pages_jupyter_face },
	{ "settings.md", pages_settings },
};
const size_t n_pages = ARRAY_LEN(pages);
