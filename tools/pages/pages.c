#include "tools/pages/pages.h"

const struct page pages[] = {
	{ "settings.md", pages_settings },
};
const size_t n_pages = ARRAY_LEN(pages);
