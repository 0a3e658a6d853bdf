#include "tools/pages/pages.h"

const struct page pages[] = {
	{ "husk.1", pages_husk },
	{ "settings.md", pages_settings },
};
const size_t n_pages = ARRAY_LEN(pages);
