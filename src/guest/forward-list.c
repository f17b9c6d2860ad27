/* SPDX-License-Identifier: MIT */

#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "guest/forward-list.h"

static int forward_parse(char *item, ForwardList *list) {
        char *equals = strrchr(item, '=');
        ServiceId service;

        if (!equals || service_parse(equals + 1, strlen(equals + 1), &service) < 0)
                return -EBADMSG;

        *equals = '\0';
        if (!path_is_normalized(item) || streq(item, "/") ||
                        strlen(item) >= sizeof((struct sockaddr_un) {}.sun_path))
                return -EBADMSG;

        for (size_t i = 0; i < list->n; i++)
                if (streq(list->items[i].path, item))
                        return -EBADMSG;
        if (list->n >= FORWARDS_MAX)
                return -EBADMSG;

        list->items[list->n] = (Forward) { .path = strdup(item), .service = service };
        if (!list->items[list->n].path)
                return -ENOMEM;

        list->n++;
        return 0;
}

int forward_list_parse(const char *text, ForwardList *list) {
        _cleanup_strv_ char **items = NULL;
        int r;

        *list = (ForwardList) {};
        if (!text)
                return 0;

        r = strv_split(text, ',', &items);
        if (r < 0)
                return r;

        STRV_FOREACH(item, items) {
                r = forward_parse(*item, list);
                if (r < 0)
                        return r;
        }

        return 0;
}

void forward_list_done(ForwardList *list) {
        for (size_t i = 0; i < list->n; i++)
                free(list->items[i].path);
        *list = (ForwardList) {};
}

const Forward *forward_list_find(const ForwardList *list, ServiceKind kind) {
        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].service.kind == kind)
                        return &list->items[i];
        return NULL;
}
