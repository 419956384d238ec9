#include "runner/arithmetic/evaluator.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runner/arithmetic/functions.h"
#include "runner/arithmetic/operations.h"
#include "runner/arithmetic/text.h"

namespace runner::arithmetic {
namespace {

std::optional<Operator> extension(Tok op) {
  switch (op) {
    case Tok::kPercent:
      return Operator::kModulo;
    case Tok::kDoubleSlash:
      return Operator::kFloorDivide;
    case Tok::kPower:
      return Operator::kPower;
    default:
      return std::nullopt;
  }
}

std::string_view spelling(Operator op) {
  if (op == Operator::kModulo) return "%";
  return op == Operator::kFloorDivide ? "//" : "**";
}

void hint_at(std::string_view list, std::string_view entry, ShortText& hint) {
  hint.assign({"a policy can allow it: [arithmetic] ", list, " = [\"", entry, "\"]"});
}

std::optional<Function> called_function(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? function_named(name) : function_named(folded_identifier(name));
}

class Walk {
 public:
  Walk(std::string_view text, const Tree& tree, const Options& options, Verdict& verdict)
      : text_(text), tree_(tree), options_(options), verdict_(verdict) {}

  void run() {
    Number value;
    if (!visit(tree_.root, 0, value)) return;
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr && !std::isfinite(*real)) {
      std::string text;
      append_repr(*real, text);
      refuse(Refusal::kNotFinite, {"result is not a finite number: ", text});
      return;
    }
    verdict_.decision = Decision::kValue;
    std::string text;
    append_repr(value, text);
    verdict_.value.assign(text);
    if (infinite_) verdict_.note = "an intermediate was infinite";
  }

 private:
  const Node& node(NodeId id) const { return tree_.nodes[id]; }
  std::string_view spelled(const Node& n) const {
    return text_.substr(n.begin, std::size_t{n.end} - n.begin);
  }

  // Each of these returns false once the verdict is a refusal.
  bool refuse(Refusal kind, std::initializer_list<std::string_view> message) {
    verdict_.decision = Decision::kRefused;
    verdict_.refusal = kind;
    verdict_.message.assign(message);
    return false;
  }

  bool refuse_node(const Node& n) {
    return refuse(Refusal::kWhitelist, {class_name(n.kind), " is not on the arithmetic whitelist"});
  }

  bool keep(Outcome<Number> result, Number& value) {
    if (result) result = bounded(std::move(*result));
    if (!result) return refuse(Refusal::kArithmetic, {result.error().text});
    value = std::move(*result);
    infinite_ = infinite_ || is_infinite(value);
    return true;
  }

  bool check_depth(int depth) {
    if (depth <= kMaxDepth) return true;
    return refuse(Refusal::kDepth, {kTooDeepText});
  }

  bool visit(NodeId id, int depth, Number& value) {
    if (!check_depth(depth)) return false;
    const Node& n = node(id);
    switch (n.kind) {
      case NodeKind::kInteger:
      case NodeKind::kFloat:
        return visit_number(n, value);
      case NodeKind::kBinOp:
        return visit_binary(n, depth, value);
      case NodeKind::kUnaryOp:
        if (n.op != Tok::kPlus && n.op != Tok::kMinus) return refuse_node(n);
        if (!visit(n.left, depth + 1, value)) return false;
        return keep(apply_unary(n.op, value), value);
      case NodeKind::kCall:
        return visit_call(n, depth, value);
      default:
        return refuse_node(n);
    }
  }

  // This and what follows stand apart: what is refused at sight needs no room for numbers.
  [[gnu::noinline]] bool visit_number(const Node& n, Number& value) {
    if (n.kind == NodeKind::kFloat) {
      const double real = float_from_literal(spelled(n));
      infinite_ = infinite_ || std::isinf(real);
      value = real;
      return true;
    }
    value = integer_from_literal(spelled(n));
    return std::holds_alternative<std::int64_t>(value) || keep(std::move(value), value);
  }

  [[gnu::noinline]] bool visit_binary(const Node& n, int depth, Number& value) {
    const bool basic =
        n.op == Tok::kPlus || n.op == Tok::kMinus || n.op == Tok::kStar || n.op == Tok::kSlash;
    if (!basic) {
      const std::optional<Operator> op = extension(n.op);
      if (!op) return refuse_node(n);
      if (!options_.allows(*op)) {
        hint_at("operators", spelling(*op), verdict_.hint);
        return refuse_node(n);
      }
    }
    Number left;
    Number right;
    if (!visit(n.left, depth + 1, left) || !visit(n.right, depth + 1, right)) return false;
    return keep(apply_binary(n.op, left, right), value);
  }

  // A known function by its plain name, without keyword arguments.
  [[gnu::noinline]] bool visit_call(const Node& n, int depth, Number& value) {
    const Node& called = node(n.left);
    if (called.kind != NodeKind::kName || n.arguments != Arguments::kPlain) return refuse_node(n);
    const std::optional<Function> function = called_function(spelled(called));
    if (!function) return refuse_node(n);
    if (!options_.allows(*function)) {
      hint_at("functions", name_of(*function), verdict_.hint);
      return refuse_node(n);
    }
    std::vector<Number> values;
    if (takes_sequence(*function) && n.right != kNoNode && node(n.right).next == kNoNode) {
      const Node& only = node(n.right);
      if (only.kind == NodeKind::kList || only.kind == NodeKind::kTuple) {
        if (!check_depth(depth + 1) || !visit_all(only.right, depth + 2, values)) return false;
        return keep(call_on_sequence(*function, values), value);
      }
    }
    if (!visit_all(n.right, depth + 1, values)) return false;
    return keep(call(*function, values), value);
  }

  bool visit_all(NodeId first, int depth, std::vector<Number>& values) {
    for (NodeId id = first; id != kNoNode; id = node(id).next)
      if (!visit(id, depth, values.emplace_back())) return false;
    return true;
  }

  std::string_view text_;
  const Tree& tree_;
  const Options& options_;
  Verdict& verdict_;
  bool infinite_ = false;
};

}  // namespace

void walk(std::string_view text, const Tree& tree, const Options& options, Verdict& verdict) {
  Walk(text, tree, options, verdict).run();
}

}  // namespace runner::arithmetic
