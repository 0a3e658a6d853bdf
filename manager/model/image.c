#include "manager/model/image.h"

const char *runtime_image(const struct runtime *runtime, const struct config *config)
{
	char name[RUNTIME_SETTING_MAX];
	runtime_image_setting(runtime, name);
	const char *image = config_lookup(config, name);
	return image ? image : runtime->image;
}
