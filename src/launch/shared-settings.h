/* SPDX-License-Identifier: MIT */
#pragma once

/* <profiles base>/shared-settings.json: the user's settings for claude in all profiles, handed over as `claude --settings FILE`. */

#include "basic/macro.h"
#include "shared/settings.h"

#define SHARED_SETTINGS "shared-settings.json"
#define HOOK_PORTS_MAX 16

typedef enum SettingsPlace {
        SETTINGS_ON_HOST,
        SETTINGS_IN_CONTAINER, /* the loopback's ports of HTTP hooks are opened one by one */
        SETTINGS_IN_VM,        /* the host's loopback is reached by another address */
} SettingsPlace;

typedef struct SharedSettings {
        char *text; /* for this profile and place; NULL: there are none */
        size_t n;
        uint16_t hook_ports[HOOK_PORTS_MAX]; /* of the host's loopback, each once */
        size_t n_hook_ports;
} SharedSettings;

/* Reads the file and makes the text: in values "{profile}" becomes the profile's name; in a sandbox deny rules that are about the
 * host are left out, and HTTP hooks on the host's loopback reach it. Everything else stays byte for byte. A file that cannot be
 * read or is no JSON object must stop the launch: settings hold the rules that keep claude safe. Returns 0 or negative errno, having
 * said why. */
int shared_settings_load(const Settings *settings, const char *profile, SettingsPlace place, SharedSettings *ret);
void shared_settings_clear(SharedSettings *s);
#define _cleanup_shared_settings_ _cleanup_(shared_settings_clear)

/* The same of a text, pure; `*ret_error` as json_text_parse() has it, or a sentence of the same kind. */
int shared_settings_make(const char *text, size_t n, const char *profile, SettingsPlace place, SharedSettings *ret, char **ret_error);

/* A profile's own settings.json for a sandbox: byte for byte, but for those deny rules and a byte-order mark. The caller frees. 0,
 * -ENOMEM, or -EBADMSG with a sentence. */
int settings_without_host_rules(const char *text, size_t n, char **ret, size_t *ret_n, char **ret_error);

/* Whether claude's arguments have --settings already. */
bool shared_settings_are_overridden(char *const *args);
