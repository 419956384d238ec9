// The tree of an expression, as far as the walk needs it: arithmetic keeps its children, every
// other node keeps only the name CPython gives its class. Fixed size, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

enum class NodeKind : std::uint8_t {
  kInteger,
  kFloat,
  kBinOp,
  kUnaryOp,
  kCall,
  kList,
  kTuple,
  kName,
  kConstant,  // any constant but int and float: bool, None, str, bytes, complex, Ellipsis
  kAttribute,
  kSubscript,
  kStarred,
  kBoolOp,
  kNamedExpr,
  kLambda,
  kIfExp,
  kDict,
  kSet,
  kListComp,
  kSetComp,
  kDictComp,
  kGeneratorExp,
  kAwait,
  kYield,
  kYieldFrom,
  kCompare,
  kJoinedStr,
};

// The class name in Python's ast module. Lives for ever.
std::string_view class_name(NodeKind kind);

using NodeId = std::uint16_t;
inline constexpr NodeId kNoNode = 0xFFFF;

enum class Arguments : std::uint8_t { kPlain, kWithKeywords };

// Left uninitialised on purpose: a tree has room for hundreds and mostly uses a handful.
struct Node {
  NodeKind kind;
  Tok op;               // BinOp and UnaryOp: the operator's token
  Arguments arguments;  // Call
  std::uint8_t target;  // 1 where `for ... in` may assign to it
  NodeId left;          // BinOp left, UnaryOp operand, Call function
  NodeId right;         // BinOp right; Call, List and Tuple: the first element
  NodeId next;          // the element after this one
  std::uint16_t begin;  // bytes of the text, for numbers and names
  std::uint16_t end;
};

// Each node takes at least one token of its own, but a call with a generator takes two for two.
inline constexpr std::size_t kMaxNodes = 2 * kMaxTokens;

inline constexpr Node kBlankNode{
    NodeKind::kConstant, Tok::kEnd, Arguments::kPlain, 0, kNoNode, kNoNode, kNoNode, 0, 0};

struct Tree {
  std::array<Node, kMaxNodes> nodes;
  std::size_t count = 0;
  NodeId root = kNoNode;
};

}  // namespace runner::arithmetic
