/* Converts exports between the store's records and what callers see. */
#ifndef HUSK_MANAGER_FILES_EXPORTS_H
#define HUSK_MANAGER_FILES_EXPORTS_H

#include "manager/model/config.h"
#include "manager/model/files.h"
#include "manager/store/store.h"

void export_info_fill(struct export_info *info, const struct config *config, const struct export_record *record);
/* Path of a record's content. The caller owns it. */
char *export_file(const struct config *config, const struct export_record *record);

#endif
