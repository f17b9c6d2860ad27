/* SPDX-License-Identifier: MIT */

/* google-chrome, google-chrome-stable: has the host's browser open one of claude's own pages, the first
 * argument that is an address of the web. Which ones may be opened is the bridge's to say. Succeeds if it
 * was opened; without a word if not, as claude tries others then. */

#include <stdlib.h>
#include <string.h>

#include "basic/log.h"
#include "basic/str.h"
#include "guest/applet.h"
#include "guest/question.h"

int applet_browser(int argc, char **argv) {
        _cleanup_question_ Question q = { .fd = -EBADF };
        const char *url = NULL;
        int r;

        log_setup("google-chrome");
        for (int i = 1; i < argc && !url; i++)
                if (str_after_prefix(argv[i], "https://") || str_after_prefix(argv[i], "http://"))
                        url = argv[i];
        if (!url)
                return EXIT_FAILURE;

        r = question_ask("open", url, &q);
        if (r < 0)
                log_debug("No browser: %s", strerror(-r));

        return r >= 0 && streq(q.answer, "OK") ? EXIT_SUCCESS : EXIT_FAILURE;
}
