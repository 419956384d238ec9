// Sockets: of the host, of other families, of one's own.
#include "runner/reach/catalogue_parts.h"

namespace runner::reach {
namespace {

using enum Layer;

constexpr Probe kProbes[] = {
    {"n01", "tcp-loopback", "connects to a listener on the host's 127.0.0.1",
     "SandboxEval 39 (HTTP); LocalAI class", Category::kNetwork, kNet, kNever},
    {"n02", "tcp-other-names", "reaches it as 0.0.0.0, 127.1.2.3, ::1 and ::ffff:127.0.0.1",
     "0.0.0.0-day class", Category::kNetwork, kNet, kNever},
    {"n03", "route-out", "asks for a route to the internet", "SandboxEval 37, 38, 40 to 43",
     Category::kNetwork, kNet, kNever},
    {"n04", "metadata-service", "asks for a route to 169.254.169.254",
     "AgentCore metadata theft; SandboxEval 44", Category::kNetwork, kNet, kNever},
    {"n05", "abstract-socket", "connects to an abstract local socket of the host's",
     "CVE-2020-15257 (containerd-shim)", Category::kNetwork, kNet, kNever},
    {"n06", "socket-file", "connects to a socket file of the host's",
     "SandboxEscapeBench docker socket", Category::kNetwork, kMount, kNever},
    {"n07", "log-socket", "connects to a datagram socket such as /dev/log", "log injection class",
     Category::kNetwork, kMount, kNever},
    {"n08", "tcp-socket", "makes a TCP socket", "SandboxEval 39", Category::kNetwork, kSeccomp,
     kOnlyLoose},
    {"n09", "udp-socket", "makes a UDP socket", "SandboxEval 38 (DNS)", Category::kNetwork,
     kSeccomp, kOnlyLoose},
    {"n10", "local-socket", "makes a local socket", "sandbox-runtime's one rule",
     Category::kNetwork, kSeccomp, kNotTight},
    {"n11", "netlink-route", "makes a netlink socket for routes", "CVE-2017-16939",
     Category::kNetwork, kSeccomp, kOnlyLoose},
    {"n12", "netlink-uevent", "makes a netlink socket for device events", "CVE-2017-16939 family",
     Category::kNetwork, kSeccomp, kNever},
    {"n13", "netlink-netfilter", "makes a netlink socket for netfilter",
     "CVE-2024-1086, CVE-2022-32250", Category::kNetwork, kSeccomp, kNever},
    {"n14", "raw-socket", "makes a raw socket, as it is or as root of a user namespace",
     "SandboxEval 46; CAP_NET_RAW class", Category::kNetwork, kSeccomp, kNever},
    {"n15", "packet-socket", "makes a packet socket", "CVE-2020-14386; SandboxEscapeBench",
     Category::kNetwork, kSeccomp, kNever},
    {"n16", "xdp-socket", "makes an AF_XDP socket", "new-family class", Category::kNetwork,
     kSeccomp, kNever},
    {"n17", "ping-socket", "makes a ping socket", "SandboxEval 37 (ping)", Category::kNetwork,
     kSeccomp, kNever},
    {"n18", "crypto-socket", "makes an AF_ALG socket", "Copy Fail CVE-2026-31431",
     Category::kNetwork, kSeccomp, kNever},
    {"n19", "vsock", "makes an AF_VSOCK socket, the way to a hypervisor", "isolate c09cb75",
     Category::kNetwork, kSeccomp, kNever},
    {"n20", "bluetooth-socket", "makes a Bluetooth socket", "CVE-2020-12351 family",
     Category::kNetwork, kSeccomp, kNever},
    {"n21", "mptcp", "makes an MPTCP socket, which rules for TCP forget", "Landlock's MPTCP gap",
     Category::kNetwork, kSeccomp, kNever},
    {"n22", "sctp", "makes an SCTP socket", "CVE-2021-3772 family", Category::kNetwork, kSeccomp,
     kNever},
    {"n23", "listen", "listens on a TCP port", "SandboxEval 45", Category::kNetwork, kSeccomp,
     kOnlyLoose},
    {"n24", "fast-open", "sends to the host's listener without connect(2)",
     "rules for connect only", Category::kNetwork, kNet, kNever},
    {"n25", "interfaces", "lists the host's network interfaces", "SandboxEval 5 (network)",
     Category::kNetwork, kNet, kNever},
    {"n26", "host-listeners", "finds the host's listeners in /proc/net/tcp",
     "SandboxEval 5 (network)", Category::kNetwork, kNet, kNever},
    {"n27", "pass-descriptor", "passes a descriptor over a local socket", "SCM_RIGHTS class",
     Category::kNetwork, kSeccomp, kNotTight},
    {"n28", "family-high-bits",
     "passes a family whose upper half the kernel ignores and a filter might not", "CVE-2019-10063",
     Category::kNetwork, kSeccomp, kNever},
};

}  // namespace

std::span<const Probe> network_catalogue() { return kProbes; }

}  // namespace runner::reach
