/* SPDX-License-Identifier: MIT */

/* A line to the supervisor. What is taken has every field in its range; what is not leaves no trace. */

#include <string.h>

#include "basic/parse.h"
#include "fuzz.h"
#include "supervisor/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_request_ Request request = {};
        int r;

        r = request_parse((const char *) data, size, &request);
        if (r < 0) {
                PROPERTY(r == -EBADMSG);
                PROPERTY(memcmp(&request, &(Request){}, sizeof(request)) == 0);
                return 0;
        }

        PROPERTY(size < REQUEST_MAX);
        PROPERTY(request.kind < _REQUEST_KIND_MAX);
        PROPERTY((request.kind == REQUEST_HOLD) == (request.directory != NULL));
        if (request.kind == REQUEST_HOLD)
                PROPERTY(hex_is_valid(request.id, LAUNCH_ID_LENGTH) && request.directory[0] == '/');
        else if (request.kind == REQUEST_OPEN || request.kind == REQUEST_PASTE)
                PROPERTY(hex_is_valid(request.id, LAUNCH_ID_LENGTH) && request.text);
        else
                PROPERTY(request.id[0] == '\0' && !request.text);
        PROPERTY(request.status >= 0 && request.status <= 255);
        PROPERTY(request.kind == REQUEST_DONE || request.status == 0);
        return 0;
}
