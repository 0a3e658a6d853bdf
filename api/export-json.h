/* An export as the API shows it. */
#ifndef HUSK_API_EXPORT_JSON_H
#define HUSK_API_EXPORT_JSON_H

#include "api/exchange.h"

/* Callers over TCP get a signed link (download_url) instead of the path on the host; links_prepare() comes first. New
 * reference. */
json_t *export_json(const struct exchange *x, const struct export_info *info);

#endif
