/* SPDX-License-Identifier: MIT */
#pragma once

/* Public keys of every kind, as ssh-keygen 9.2 made them, with the fingerprints that it prints. Nobody
 * has kept the private ones. Certificates are of the keys before them. */

#include <string.h>

#include "shared/ssh-wire.h"

typedef struct KnownKey {
        const char *base64;
        const char *fingerprint;
} KnownKey;

static const KnownKey known_keys[] _unused_ = {
        { /* ssh-ed25519 */
                "AAAAC3NzaC1lZDI1NTE5AAAAIPwHQdhJBHMoXqmV8UgGvVwHr7DRrUkL2U84NfMtUxgc",
                "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0" },
        { /* ssh-ed25519-cert-v01@openssh.com */
                "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAILrggjzYeBnH/j8e5K9Aw7sEZosy1GabnJ19"
                "dfUdsg8tAAAAIPwHQdhJBHMoXqmV8UgGvVwHr7DRrUkL2U84NfMtUxgcAAAAAAAAAAAAAAABAAAAAmlkAAAADwAA"
                "AANkZXYAAAAEcm9vdAAAAAAAAAAA//////////8AAAAAAAAAggAAABVwZXJtaXQtWDExLWZvcndhcmRpbmcAAAAA"
                "AAAAF3Blcm1pdC1hZ2VudC1mb3J3YXJkaW5nAAAAAAAAABZwZXJtaXQtcG9ydC1mb3J3YXJkaW5nAAAAAAAAAApw"
                "ZXJtaXQtcHR5AAAAAAAAAA5wZXJtaXQtdXNlci1yYwAAAAAAAAAAAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBjKxG8"
                "Yf2tqKGM22nHM9KcTRMZYCmgQ0bVqozo6qfn1gAAAFMAAAALc3NoLWVkMjU1MTkAAABAFtdajzQONukN7QOI2lQ6"
                "iqr5Y1JXGposLc+cGd/6isYwH9dtzKxf0lfujghjSmHh3WfHLPl1xmYwa5aLM2WzBg==",
                "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0" },
        { /* ssh-rsa */
                "AAAAB3NzaC1yc2EAAAADAQABAAAAgQDU3bH2RI7RM91w+/9Dh2eKtaTePLNIQrwyFAsgGDzebyMxRAn2xVvPyaBv"
                "3ODjfbP/gfrQ/1fw/ikkcgqxeC0NUG7Y9GOV86eQoPz7OsUaRbb2stjTVJCEaYN+IhbD0LFwjsUGeW5xe6r73YGQ"
                "rQlMAqjaD7r9v4Y/7KugNMS/dw==",
                "SHA256:Wrtc3+KB6QF0chLCvpHRZsSSLkzwxHOKerCNeeyzezY" },
        { /* ssh-rsa-cert-v01@openssh.com */
                "AAAAHHNzaC1yc2EtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgiM+vf3ZX6YuK0XzUw1VmdO6IiVRISE4+cqdOuviY"
                "qT8AAAADAQABAAAAgQDU3bH2RI7RM91w+/9Dh2eKtaTePLNIQrwyFAsgGDzebyMxRAn2xVvPyaBv3ODjfbP/gfrQ"
                "/1fw/ikkcgqxeC0NUG7Y9GOV86eQoPz7OsUaRbb2stjTVJCEaYN+IhbD0LFwjsUGeW5xe6r73YGQrQlMAqjaD7r9"
                "v4Y/7KugNMS/dwAAAAAAAAAAAAAAAQAAAAJpZAAAAA8AAAADZGV2AAAABHJvb3QAAAAAAAAAAP//////////AAAA"
                "AAAAAIIAAAAVcGVybWl0LVgxMS1mb3J3YXJkaW5nAAAAAAAAABdwZXJtaXQtYWdlbnQtZm9yd2FyZGluZwAAAAAA"
                "AAAWcGVybWl0LXBvcnQtZm9yd2FyZGluZwAAAAAAAAAKcGVybWl0LXB0eQAAAAAAAAAOcGVybWl0LXVzZXItcmMA"
                "AAAAAAAAAAAAADMAAAALc3NoLWVkMjU1MTkAAAAgYysRvGH9raihjNtpxzPSnE0TGWApoENG1aqM6Oqn59YAAABT"
                "AAAAC3NzaC1lZDI1NTE5AAAAQFRSfJRyqg4rSYAzo/wF1Deku3GlKNftwwlnOFKWFWOPAIEqQ/LdFzQYwjfa/C/Q"
                "iBqKv7eS5t9zZ1sDLACZPwY=",
                "SHA256:Wrtc3+KB6QF0chLCvpHRZsSSLkzwxHOKerCNeeyzezY" },
        { /* ssh-dss-cert-v01@openssh.com */
                "AAAAHHNzaC1kc3MtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgQQJgLy7ta8PilUdcmtVoKfEazKGVRSiLD1jNlEc/"
                "zogAAACBAKemfWkzY72C7zoAbLlkmhBBfp311uj2uXfPgmy7k2VcH6P1qidXPEh14uW5fvD9M5Ak6l1Mu+IJ2bzh"
                "aHqmWiFGSDfOzFw5s8VCa+EbEWauiwLSTdTt7dYlnwGW8UEVUcP2QE1pyRbIgM5TxQeLqdroq0zfd92jn6irhL/S"
                "XPubAAAAFQDJoDxZIhlh/fcr4uCtDqJyL5EEbwAAAIBUrAkxw/rHvBKU1NJBcD+VYZv06rIH6DCfA8o20FNCQco1"
                "T7qOzZ3P0QdZb2oS+sOJeFsdNeNO904B6IoMJdAQltlsZxKHnWgsFQpL9jeWW/afwS5rkh2mVUG0Eg5FBFg62j9T"
                "G6AQw1+8Mg8RNXLPUyOagfYpYg9yZ0gFd/GHnAAAAIAhYjW0lyayJGhUDuX1HkI+xpGOWpSWRehag/lcS1bf/dJm"
                "9uUUVrPIHNxya60Srx5xshNsFVm/Nq248VWPlg07hoSASSJwwZSGO5Y7qvh6cDI37m6lEnUjDuecVhcSVbEO37iA"
                "bHa7xrSvwDGQon+lNyx86o78gU8IwrF6GW8AcgAAAAAAAAAAAAAAAQAAAAJpZAAAAAcAAAADZGV2AAAAAAAAAAD/"
                "/////////wAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0LWFnZW50LWZvcndh"
                "cmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAACnBlcm1pdC1wdHkAAAAAAAAADnBlcm1p"
                "dC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIGMrEbxh/a2ooYzbaccz0pxNExlgKaBDRtWq"
                "jOjqp+fWAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEDxTCK5rFkDLveOynoGz8+zqG4Fwumb2E8IkCPmUI+ZF9jSz42C"
                "ATwDGRpItX8W4qO/9gvv4+VB44kd2Vm1WvwD",
                "SHA256:LE9IJ3nzI6WQdkIYOiXkUMJ2NfJelr2g36F9cO73U/o" },
        { /* ecdsa-sha2-nistp256 */
                "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIy3DOBIBEompjzCvRoA4wW+oEao8p+KtBmZ"
                "nedAZVgAyXuV0DqiBhA3qQYDytBPhhJLArSrLsOebaASZ4bYiGM=",
                "SHA256:CsrxitAARP9ay1WLJxEzQ+1+cNY6AwRAKnNXsDgtB48" },
        { /* ecdsa-sha2-nistp256-cert-v01@openssh.com */
                "AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgX8sx6abfG6fol2AegZDRVhTe"
                "VhrGkaCCko2GCAhZ2WYAAAAIbmlzdHAyNTYAAABBBIy3DOBIBEompjzCvRoA4wW+oEao8p+KtBmZnedAZVgAyXuV"
                "0DqiBhA3qQYDytBPhhJLArSrLsOebaASZ4bYiGMAAAAAAAAAAAAAAAEAAAACaWQAAAAPAAAAA2RldgAAAARyb290"
                "AAAAAAAAAAD//////////wAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0LWFn"
                "ZW50LWZvcndhcmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAACnBlcm1pdC1wdHkAAAAA"
                "AAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIGMrEbxh/a2ooYzbaccz0pxN"
                "ExlgKaBDRtWqjOjqp+fWAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEBJjLj+wqN0oPnB+GlkgB6xWNQxYu43eQgvNRBP"
                "pMYLTjacEvtx3BeHALSA2RdHbO62+KJgaqYISSGW0eN47BgB",
                "SHA256:CsrxitAARP9ay1WLJxEzQ+1+cNY6AwRAKnNXsDgtB48" },
        { /* ecdsa-sha2-nistp384-cert-v01@openssh.com */
                "AAAAKGVjZHNhLXNoYTItbmlzdHAzODQtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgZoVN+haAYkY+rFYbcyjwMKu2"
                "Ytj9H1IhXd+uvnqsqu0AAAAIbmlzdHAzODQAAABhBP3BNOZAShVXu+jss2bgYC6VKU3mNeg34sy47o7FxUEVBsoE"
                "8QT1/sIluUfdmKeulqgMebtWdCjddFO7jiDO9Mj5OO7No4mqrJ3KIp7ErenG4A04swXAt/PNOP/f8L5jvgAAAAAA"
                "AAAAAAAAAQAAAAJpZAAAAA8AAAADZGV2AAAABHJvb3QAAAAAAAAAAP//////////AAAAAAAAAIIAAAAVcGVybWl0"
                "LVgxMS1mb3J3YXJkaW5nAAAAAAAAABdwZXJtaXQtYWdlbnQtZm9yd2FyZGluZwAAAAAAAAAWcGVybWl0LXBvcnQt"
                "Zm9yd2FyZGluZwAAAAAAAAAKcGVybWl0LXB0eQAAAAAAAAAOcGVybWl0LXVzZXItcmMAAAAAAAAAAAAAADMAAAAL"
                "c3NoLWVkMjU1MTkAAAAgYysRvGH9raihjNtpxzPSnE0TGWApoENG1aqM6Oqn59YAAABTAAAAC3NzaC1lZDI1NTE5"
                "AAAAQCrRp0jh5NBDclCWms3H+b6XeOYk3sEbTkXsGoms3KrV559SucdJVGigSOmPs/FDVfaT9xfmuV6AA26kJmhd"
                "XQs=",
                "SHA256:L2B+FFe/IgNYXdTNAK6035ARTdF9g8atYwZxSm3rlYs" },
        { /* ecdsa-sha2-nistp521-cert-v01@openssh.com */
                "AAAAKGVjZHNhLXNoYTItbmlzdHA1MjEtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgULR/SQwjrqL1D2y7BFgKokVY"
                "zH8Y2jtbKsdELr43KDIAAAAIbmlzdHA1MjEAAACFBACufUhVlEBnVIZD14gkZuWaUjJkORPXniibH4Pr1obNDGdY"
                "UjrldM1QWDM2qqFFcQjjgl44xcbLCRizJnpzqGkzkAAaInOxse+U0dtHH3EQHkcqOSrelRjOXlBACBVOlurZJsmS"
                "z6RtgB82znrF97ROjfTmcDJzEGmHFYaECpmH+M/qGgAAAAAAAAAAAAAAAQAAAAJpZAAAAA8AAAADZGV2AAAABHJv"
                "b3QAAAAAAAAAAP//////////AAAAAAAAAIIAAAAVcGVybWl0LVgxMS1mb3J3YXJkaW5nAAAAAAAAABdwZXJtaXQt"
                "YWdlbnQtZm9yd2FyZGluZwAAAAAAAAAWcGVybWl0LXBvcnQtZm9yd2FyZGluZwAAAAAAAAAKcGVybWl0LXB0eQAA"
                "AAAAAAAOcGVybWl0LXVzZXItcmMAAAAAAAAAAAAAADMAAAALc3NoLWVkMjU1MTkAAAAgYysRvGH9raihjNtpxzPS"
                "nE0TGWApoENG1aqM6Oqn59YAAABTAAAAC3NzaC1lZDI1NTE5AAAAQE/24iwF2yw74Z3ffaFzlj0kAHA/P05jp70A"
                "ZI0jyqmooM6/AzKHrXBprXHiYk5BBELQyx6Vy936h17zcAteVwM=",
                "SHA256:RGK3W2k2YsPiuFKfCoWmlOhaDdi06g40dVrymC1Yzic" },
        { /* sk-ssh-ed25519@openssh.com */
                "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
                "AAAABHNzaDo=",
                "SHA256:/p0CbeE3dk2SyW1OXXsThGc12ezDVD8eGw2/vtztDfk" },
        { /* sk-ssh-ed25519-cert-v01@openssh.com */
                "AAAAI3NrLXNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIMX/P+D8tPgMzEI0C97qXk6DTzuZH8Rq"
                "/Mc32J6K5E7DAAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fAAAABHNzaDoAAAAAAAAAAAAAAAEA"
                "AAACaWQAAAAHAAAAA2RldgAAAAAAAAAA//////////8AAAAAAAAAggAAABVwZXJtaXQtWDExLWZvcndhcmRpbmcA"
                "AAAAAAAAF3Blcm1pdC1hZ2VudC1mb3J3YXJkaW5nAAAAAAAAABZwZXJtaXQtcG9ydC1mb3J3YXJkaW5nAAAAAAAA"
                "AApwZXJtaXQtcHR5AAAAAAAAAA5wZXJtaXQtdXNlci1yYwAAAAAAAAAAAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBj"
                "KxG8Yf2tqKGM22nHM9KcTRMZYCmgQ0bVqozo6qfn1gAAAFMAAAALc3NoLWVkMjU1MTkAAABADffhB8wXWVRlVFhP"
                "S48gjzsmk7x5kMdH2hneqs+ksfDM81pO6w/E8jrIM1gcKDH7o+fwBG+Rs80g0rfzrVrVAA==",
                "SHA256:/p0CbeE3dk2SyW1OXXsThGc12ezDVD8eGw2/vtztDfk" },
        { /* sk-ecdsa-sha2-nistp256@openssh.com */
                "AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBIy3DOBIBEompjzC"
                "vRoA4wW+oEao8p+KtBmZnedAZVgAyXuV0DqiBhA3qQYDytBPhhJLArSrLsOebaASZ4bYiGMAAAAEc3NoOg==",
                "SHA256:nx2feaC5Ferr0LO0viEIUvmrlGmLryB+2jtvcf0oMPY" },
        { /* sk-ecdsa-sha2-nistp256-cert-v01@openssh.com */
                "AAAAK3NrLWVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgI7OVJZMU9QKQjFaMw+rK"
                "Sy/KCF4+TA1519YcUs0QjMkAAAAIbmlzdHAyNTYAAABBBIy3DOBIBEompjzCvRoA4wW+oEao8p+KtBmZnedAZVgA"
                "yXuV0DqiBhA3qQYDytBPhhJLArSrLsOebaASZ4bYiGMAAAAEc3NoOgAAAAAAAAAAAAAAAQAAAAJpZAAAAAcAAAAD"
                "ZGV2AAAAAAAAAAD//////////wAAAAAAAACCAAAAFXBlcm1pdC1YMTEtZm9yd2FyZGluZwAAAAAAAAAXcGVybWl0"
                "LWFnZW50LWZvcndhcmRpbmcAAAAAAAAAFnBlcm1pdC1wb3J0LWZvcndhcmRpbmcAAAAAAAAACnBlcm1pdC1wdHkA"
                "AAAAAAAADnBlcm1pdC11c2VyLXJjAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIGMrEbxh/a2ooYzbaccz"
                "0pxNExlgKaBDRtWqjOjqp+fWAAAAUwAAAAtzc2gtZWQyNTUxOQAAAED+BeBdOnIMLhEXt9o9ssKwN9Kre8olph3w"
                "fs5CpM+XVeIjYjTbpnQ05eC7ALd3PjbnX53PEZqfZAH8weVPbQ4M",
                "SHA256:nx2feaC5Ferr0LO0viEIUvmrlGmLryB+2jtvcf0oMPY" },
};

/* Decodes base64 into `buf`; the test's own, so that it fails loudly. */
static SshBytes known_key(const KnownKey *k, uint8_t *buf, size_t size) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        uint32_t bits = 0;
        unsigned n = 0;
        size_t done = 0;

        for (const char *p = k->base64; *p && *p != '='; p++) {
                const char *d = strchr(digits, *p);

                assert_non_null(d);
                bits = bits << 6 | (uint32_t) (d - digits);
                n += 6;
                if (n >= 8) {
                        n -= 8;
                        assert_true(done < size);
                        buf[done++] = (uint8_t) (bits >> n);
                }
        }

        return SSH_BYTES(buf, done);
}
