// Plans and commands come over a socket. Whatever is done to their bytes, reading ends in a view
// whose every pointer holds, or in kPlan; never in a crash. Each damaged file lies right before a
// page that may not be touched.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <random>

#include "jail/client.h"
#include "jail/plan.h"
#include "tests/support/plan_bytes.h"
#include "tests/support/sample_specs.h"

namespace {

using support::Guarded;
using Bytes = std::vector<std::byte>;

Bytes plan_bytes() {
  const auto file = jail::make_plan(support::every_kind_of_mount());
  REQUIRE(file.has_value());
  return support::bytes_of(*file);
}

Bytes command_bytes() {
  const auto file = jail::make_command(support::every_part_of_command());
  REQUIRE(file.has_value());
  return support::bytes_of(*file);
}

// Touches everything a jail would touch; that the sum is used keeps the compiler honest.
std::size_t use(const jail::PlanView& view) {
  const jail::PlanHeader& h = view.header();
  std::size_t sum = std::strlen(view.text(h.hostname)) + std::strlen(view.text(h.workdir)) +
                    std::strlen(view.text(h.code_dir));
  for (const jail::PlanMount& m : view.mounts()) {
    sum += std::strlen(view.text(m.target));
    const bool has_source = m.kind == jail::MountKind::kBind ||
                            m.kind == jail::MountKind::kDevice ||
                            m.kind == jail::MountKind::kSymlink;
    if (has_source) sum += std::strlen(view.text(m.source));
    if (m.kind == jail::MountKind::kFile)
      for (std::size_t i = 0; i <= m.contents.length; ++i)
        sum += static_cast<std::size_t>(view.text(m.contents)[i]);
  }
  for (const jail::PlanRlimit& l : view.rlimits()) sum += l.soft;
  for (const sock_filter& f : view.filter()) sum += f.k;
  for (const sock_filter& f : view.init_filter()) sum += f.k;
  return sum;
}

std::size_t use(const jail::CommandView& view) {
  std::size_t sum = std::strlen(view.cwd());
  for (char* const* p = view.argv(); *p != nullptr; ++p) sum += std::strlen(*p);
  for (char* const* p = view.env(); *p != nullptr; ++p) sum += std::strlen(*p);
  for (const jail::CommandInput& input : view.inputs()) {
    sum += std::strlen(view.text(input.path));
    if (input.mode > 0777) throw std::runtime_error("a mode changed after it was checked");
  }
  return sum;
}

enum class Read { kRead, kRefused };

template <class View>
Read read(std::span<std::byte> file) {
  const auto view = View::read(file);
  if (!view) {
    if (view.error().step != jail::Step::kPlan || view.error().error != EINVAL)
      throw std::runtime_error("refused, but not as kPlan EINVAL");
    return Read::kRefused;
  }
  if (use(*view) == ~std::size_t{0}) throw std::runtime_error("no such sum");
  return Read::kRead;
}

template <class View>
void survives_every_truncation(const Bytes& whole) {
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Guarded cut{std::span(whole).first(n)};
    if (read<View>(cut.bytes()) != Read::kRefused) FAIL("read a file cut at " << n);
  }
}

template <class View>
void survives_every_flip(const Bytes& whole) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned mask : {0x01U, 0x80U, 0xffU}) {
      Bytes flipped = whole;
      flipped[i] ^= std::byte{static_cast<unsigned char>(mask)};
      const Guarded file(flipped);
      (void)read<View>(file.bytes());
    }
  }
}

// Aligned words of the file set to numbers that overflow, point out, or point at the header.
template <class View>
void survives_every_odd_word(const Bytes& whole) {
  const auto size = static_cast<std::uint32_t>(whole.size());
  for (std::size_t i = 0; i + 4 <= whole.size(); i += 4) {
    for (const std::uint32_t word : {0U, 1U, 4U, 24U, 0xffffffffU, 0xfffffff0U, 0x7fffffffU,
                                     0x1fffffffU, 0x10000000U, size, size - 1, size - 8}) {
      Bytes odd = whole;
      std::memcpy(odd.data() + i, &word, sizeof(word));
      const Guarded file(odd);
      (void)read<View>(file.bytes());
    }
  }
}

template <class View>
void survives_random_damage(const Bytes& whole) {
  std::mt19937 random(20240229);
  const std::uint64_t words[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 1U << 17U, ~0ULL, whole.size()};
  for (int round = 0; round < 20000; ++round) {
    Bytes damaged = whole;
    for (int n = 0; n < 3; ++n) {
      const std::uint64_t word = words[random() % std::size(words)];
      const std::size_t size = random() % 2 == 0 ? 4 : 8;
      const std::size_t at = random() % (damaged.size() / 8) * 8;
      std::memcpy(damaged.data() + at, &word, std::min(size, damaged.size() - at));
    }
    const Guarded file(damaged);
    (void)read<View>(file.bytes());
  }
}

template <class Header>
Header header_of(const Bytes& file) {
  Header h;
  std::memcpy(&h, file.data(), sizeof(h));
  return h;
}

template <class Header>
Read read_with(Bytes file, Header header) {
  std::memcpy(file.data(), &header, sizeof(header));
  const Guarded guarded(file);
  if constexpr (std::is_same_v<Header, jail::PlanHeader>)
    return read<jail::PlanView>(guarded.bytes());
  else
    return read<jail::CommandView>(guarded.bytes());
}

}  // namespace

TEST_CASE("a whole plan and a whole command are read") {
  const Guarded plan(plan_bytes());
  CHECK(read<jail::PlanView>(plan.bytes()) == Read::kRead);
  const Guarded command(command_bytes());
  CHECK(read<jail::CommandView>(command.bytes()) == Read::kRead);
}

TEST_CASE("a plan cut anywhere is refused") {
  survives_every_truncation<jail::PlanView>(plan_bytes());
  survives_every_truncation<jail::CommandView>(command_bytes());
}

TEST_CASE("a plan cut anywhere that admits its length is read or refused") {
  Bytes plan = plan_bytes();
  for (std::size_t n = sizeof(jail::PlanHeader); n < plan.size(); ++n) {
    const auto total = static_cast<std::uint32_t>(n);
    std::memcpy(plan.data() + 4, &total, sizeof(total));
    const Guarded file{std::span(plan).first(n)};
    (void)read<jail::PlanView>(file.bytes());
  }
}

TEST_CASE("no flipped byte of a plan makes a crash") {
  survives_every_flip<jail::PlanView>(plan_bytes());
}

TEST_CASE("no flipped byte of a command makes a crash") {
  survives_every_flip<jail::CommandView>(command_bytes());
}

TEST_CASE("no odd word in a plan makes a crash") {
  survives_every_odd_word<jail::PlanView>(plan_bytes());
}

TEST_CASE("no odd word in a command makes a crash") {
  survives_every_odd_word<jail::CommandView>(command_bytes());
}

TEST_CASE("random damage makes no crash") {
  survives_random_damage<jail::PlanView>(plan_bytes());
  survives_random_damage<jail::CommandView>(command_bytes());
}

TEST_CASE("counts that overflow are refused") {
  const Bytes plan = plan_bytes();
  for (const std::uint32_t count : {0xffffffffU, 0x80000000U, 0x20000001U, 129U}) {
    auto h = header_of<jail::PlanHeader>(plan);
    h.mounts.count = count;
    CHECK(read_with(plan, h) == Read::kRefused);
    h = header_of<jail::PlanHeader>(plan);
    h.rlimits.count = count;
    CHECK(read_with(plan, h) == Read::kRefused);
    h = header_of<jail::PlanHeader>(plan);
    h.filter.count = count + 4096;  // 129 would be a shorter filter
    CHECK(read_with(plan, h) == Read::kRefused);
  }
  const Bytes command = command_bytes();
  for (const std::uint32_t count : {0xffffffffU, 0xfffffffeU, 0x80000000U, 0x1fffffffU}) {
    auto h = header_of<jail::CommandHeader>(command);
    h.argv.count = count;
    CHECK(read_with(command, h) == Read::kRefused);
    h = header_of<jail::CommandHeader>(command);
    h.env.count = count;
    CHECK(read_with(command, h) == Read::kRefused);
    h = header_of<jail::CommandHeader>(command);
    h.inputs.count = count;
    CHECK(read_with(command, h) == Read::kRefused);
  }
}

TEST_CASE("offsets out of range, misaligned or unterminated are refused") {
  const Bytes plan = plan_bytes();
  const auto size = static_cast<std::uint32_t>(plan.size());
  for (const std::uint32_t offset : {size, size - 1, 0xffffffffU, 0xfffffff8U}) {
    auto h = header_of<jail::PlanHeader>(plan);
    h.workdir.offset = offset;
    CHECK(read_with(plan, h) == Read::kRefused);
    h = header_of<jail::PlanHeader>(plan);
    h.mounts.offset = offset;
    CHECK(read_with(plan, h) == Read::kRefused);
  }
  auto h = header_of<jail::PlanHeader>(plan);
  h.mounts.offset += 1;
  CHECK(read_with(plan, h) == Read::kRefused);
  h = header_of<jail::PlanHeader>(plan);
  h.workdir.length -= 1;  // ends before its NUL
  CHECK(read_with(plan, h) == Read::kRefused);
  h = header_of<jail::PlanHeader>(plan);
  h.workdir.length += 1;  // a NUL inside
  CHECK(read_with(plan, h) == Read::kRefused);
  h = header_of<jail::PlanHeader>(plan);
  h.filter.count = 0;
  CHECK(read_with(plan, h) == Read::kRefused);
}

TEST_CASE("pointers made in place never land on what was checked before") {
  const Bytes command = command_bytes();
  auto h = header_of<jail::CommandHeader>(command);
  h.argv.offset = offsetof(jail::CommandHeader, env);
  h.argv.count = 1;
  CHECK(read_with(command, h) == Read::kRefused);
  // The environment's slots laid over an input's mode, which was checked to be a mode.
  h = header_of<jail::CommandHeader>(command);
  h.env.offset = h.inputs.offset + offsetof(jail::CommandInput, mode);
  h.env.count = 1;
  CHECK(read_with(command, h) == Read::kRefused);
  // Over the same slots as argv's last, so that its terminating null would be lost.
  h = header_of<jail::CommandHeader>(command);
  h.env.offset = h.argv.offset + h.argv.count * 8;
  CHECK(read_with(command, h) == Read::kRefused);
}
