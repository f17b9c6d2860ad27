/* SPDX-License-Identifier: MIT */

/* .claude.json and .mcp.json, which guests write, and the command lines in them. Whatever is taken for an image is a name that podman
 * can take for nothing else; and the words of the input, as arguments of podman, give one of them or none. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/strv.h"
#include "fuzz.h"
#include "launch/mcp-image.h"
#include "launch/mcp-servers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = memdup_nul(data, size);
        _cleanup_strv_ char **images = NULL, **words = NULL;
        const char *image;
        int r;

        PROPERTY(text);
        r = mcp_images_add(text, size, &images);
        PROPERTY(r == 0 || (r == -EBADMSG && !images));
        PROPERTY(strv_length(images) <= MCP_IMAGES_MAX);
        STRV_FOREACH(i, images) {
                PROPERTY(mcp_image_is_valid(*i));
                STRV_FOREACH(later, i + 1)
                        PROPERTY(strcmp(*i, *later) != 0);
        }

        PROPERTY(strv_split(text, '\n', &words) == 0);
        image = mcp_image_of("podman", words);
        if (!image)
                return 0;
        PROPERTY(mcp_image_is_valid(image));
        for (size_t i = 0; words[i] != image; i++)
                PROPERTY(words[i + 1]); /* it is one of them, and not the first */
        PROPERTY(words[0] != image);
        return 0;
}
