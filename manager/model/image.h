/* Chooses the image of a runtime's sessions. */
#ifndef HUSK_MANAGER_MODEL_IMAGE_H
#define HUSK_MANAGER_MODEL_IMAGE_H

#include "manager/model/config.h"
#include "manager/model/runtime.h"

/* HUSK_IMAGE_PYTHON and similar settings override the image that belongs to this build. */
const char *runtime_image(const struct runtime *runtime, const struct config *config);

#endif
