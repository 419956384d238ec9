#include "runner/arithmetic/parser.h"

#include <array>
#include <initializer_list>

#include "runner/arithmetic/lexer.h"
#include "runner/arithmetic/parser_state.h"

namespace runner::arithmetic {
namespace {

// How tightly what stands between two operands binds; 0 for a token that does not.
enum Rank : std::uint8_t { kNoRank, kOrRank, kAndRank, kNotRank, kComparisonRank, kBitwiseRank };
constexpr auto make_ranks() {
  std::array<std::uint8_t, static_cast<std::size_t>(Tok::kOther) + 1> ranks{};
  std::uint8_t rank = kOrRank;
  const auto next = [&](std::initializer_list<Tok> kinds) {
    for (const Tok kind : kinds) ranks[static_cast<std::size_t>(kind)] = rank;
    ++rank;
  };
  next({Tok::kOr});
  next({Tok::kAnd});
  next({});  // not
  next({Tok::kEqual, Tok::kNotEqual, Tok::kLess, Tok::kLessEqual, Tok::kGreater, Tok::kGreaterEqual,
        Tok::kIn, Tok::kIs, Tok::kNot});  // the last one in `not in`
  next({Tok::kPipe});
  next({Tok::kCaret});
  next({Tok::kAmpersand});
  next({Tok::kLeftShift, Tok::kRightShift});
  next({Tok::kPlus, Tok::kMinus});
  next({Tok::kStar, Tok::kSlash, Tok::kDoubleSlash, Tok::kPercent, Tok::kAt});
  return ranks;
}
constexpr auto kRanks = make_ranks();

constexpr NodeKind node_kind(std::uint8_t rank) {
  if (rank < kNotRank) return NodeKind::kBoolOp;
  return rank == kComparisonRank ? NodeKind::kCompare : NodeKind::kBinOp;
}

constexpr std::uint64_t bits(std::initializer_list<Tok> kinds) {
  std::uint64_t all = 0;
  for (const Tok kind : kinds) all |= std::uint64_t{1} << static_cast<unsigned>(kind);
  return all;
}
constexpr bool is_one_of(Tok kind, std::uint64_t kinds) {
  return ((kinds >> static_cast<unsigned>(kind)) & 1U) != 0;
}
static_assert(static_cast<unsigned>(Tok::kOther) < 64);

constexpr std::uint64_t kPlainAtoms = bits({Tok::kName, Tok::kInteger, Tok::kFloat});
constexpr std::uint64_t kTrailers =
    bits({Tok::kDot, Tok::kOpenParen, Tok::kOpenBracket, Tok::kPower});
constexpr std::uint64_t kStops = bits({Tok::kEnd, Tok::kNewline, Tok::kComma, Tok::kCloseParen,
                                       Tok::kCloseBracket, Tok::kCloseBrace});

}  // namespace

NodeId Parser::fail(std::string_view text) {
  if (!failure_) failure_ = Failure{text, tokens_.tokens[at_].begin};
  at_ = tokens_.count - 1;
  return 0;
}

NodeId Parser::wrap(NodeKind kind) { return node(kind); }

Failure Parser::parse_eval() {
  tree_.root = expressions();
  while (accept(Tok::kNewline)) {
  }
  if (!at(Tok::kEnd)) fail("invalid syntax");
  return failure_;
}

Failure Parser::parse_in_fstring() {
  tree_.root = star_expressions();
  if (!at(Tok::kEnd)) fail("invalid syntax");
  return failure_;
}

// expressions: expression (',' expression)* [',']
NodeId Parser::expressions() {
  Items items;
  const NodeId first = expression();
  if (!at(Tok::kComma)) return first;
  add_item(items, first);
  while (accept(Tok::kComma) && !at(Tok::kEnd) && !at(Tok::kNewline)) add_item(items, expression());
  const NodeId tuple = node(NodeKind::kTuple);
  get(tuple).right = items.first;
  return tuple;
}

// star_expressions: ('*' bitwise_or | expression) (',' ...)* [','], up to a closing bracket.
NodeId Parser::star_expressions() {
  const auto one = [this] {
    if (!accept(Tok::kStar)) return expression();
    bitwise_or();
    return node(NodeKind::kStarred);
  };
  const NodeId first = one();
  if (!at(Tok::kComma)) return first;
  while (accept(Tok::kComma) && !at(Tok::kCloseParen) && !at(Tok::kEnd)) one();
  return node(NodeKind::kTuple);
}

// expression: disjunction ['if' disjunction 'else' expression] | lambda
NodeId Parser::expression() {
  // A name or number alone: no operator's rule has anything to do.
  if (is_one_of(kind(), kPlainAtoms) && is_one_of(next_kind(), kStops)) return plain_atom();
  if (at(Tok::kLambda)) return lambda();
  const NodeId value = disjunction();
  if (!accept(Tok::kIf)) return value;
  disjunction();
  expect(Tok::kElse, "'else' is missing after 'if'");
  expression();
  return wrap(NodeKind::kIfExp);
}

// named_expression: NAME ':=' expression | expression
NodeId Parser::named_expression() {
  if (!at(Tok::kName) || next_kind() != Tok::kWalrus) return expression();
  at_ += 2;
  expression();
  return wrap(NodeKind::kNamedExpr);
}

// star_named_expression: '*' bitwise_or | named_expression
NodeId Parser::star_named_expression() {
  if (!accept(Tok::kStar)) return named_expression();
  const NodeId inner = bitwise_or();
  const bool target = get(inner).target != 0 && get(inner).kind != NodeKind::kStarred;
  const NodeId starred = wrap(NodeKind::kStarred);
  get(starred).target = target ? 1 : 0;
  return starred;
}

NodeId Parser::yield_expression() {
  accept(Tok::kYield);
  if (accept(Tok::kFrom)) {
    expression();
    return wrap(NodeKind::kYieldFrom);
  }
  if (!at(Tok::kCloseParen)) star_expressions();
  return wrap(NodeKind::kYield);
}

NodeId Parser::disjunction() { return operation(kOrRank); }
NodeId Parser::bitwise_or() { return operation(kBitwiseRank); }

// not* comparison
NodeId Parser::inversion() {
  while (accept(Tok::kNot)) {
  }
  operation(kComparisonRank);
  const NodeId made = wrap(NodeKind::kUnaryOp);
  get(made).op = Tok::kNot;
  return made;
}

// Steps over an operator. False where `not` stands without `in`.
bool Parser::step_over_operator() {
  if (at(Tok::kNot) && next_kind() != Tok::kIn) return false;
  const bool is = at(Tok::kIs);
  at_ += at(Tok::kNot) ? 2U : 1U;
  if (is) accept(Tok::kNot);
  return true;
}

// All operators whose rank is at least the given one. What is refused whole need not show that
// `a < b < c` and `a or b or c` are one node each.
NodeId Parser::operation(std::uint8_t least_rank) {
  NodeId left = at(Tok::kNot) && least_rank <= kNotRank ? inversion() : operand();
  for (;;) {
    const Tok op = kind();
    const std::uint8_t rank = kRanks[static_cast<std::size_t>(op)];
    if (rank == kNoRank || rank < least_rank || !step_over_operator()) return left;
    const NodeId right = operation(rank + 1);
    const NodeId made = wrap(node_kind(rank));
    get(made).op = op;
    get(made).left = left;
    get(made).right = right;
    left = made;
  }
}

// A name or a number.
NodeId Parser::plain_atom() {
  const Tok token = kind();
  const NodeKind number = token == Tok::kInteger ? NodeKind::kInteger : NodeKind::kFloat;
  const NodeId made = node(token == Tok::kName ? NodeKind::kName : number);
  get(made).target = token == Tok::kName ? 1 : 0;
  ++at_;
  return made;
}

// Most operands are a name or a number, and nothing trails it.
NodeId Parser::operand() {
  const bool plain = is_one_of(kind(), kPlainAtoms) && !is_one_of(next_kind(), kTrailers);
  return plain ? plain_atom() : factor();
}

NodeId Parser::factor() {
  const Tok op = kind();
  if (op != Tok::kPlus && op != Tok::kMinus && op != Tok::kTilde) return power();
  ++at_;
  const NodeId operand = factor();
  const NodeId made = wrap(NodeKind::kUnaryOp);
  get(made).op = op;
  get(made).left = operand;
  return made;
}

// power: ['await'] primary ['**' factor]
NodeId Parser::power() {
  NodeId left{};
  if (accept(Tok::kAwait)) {
    primary();
    left = wrap(NodeKind::kAwait);
  } else {
    left = primary();
  }
  if (!accept(Tok::kPower)) return left;
  const NodeId right = factor();
  const NodeId made = wrap(NodeKind::kBinOp);
  get(made).op = Tok::kPower;
  get(made).left = left;
  get(made).right = right;
  return made;
}

Failure parse(std::string_view text, Tree& tree) {
  TokenBuffer tokens;
  tree.count = 1;  // node 0 stands in for whatever failed to parse
  tree.nodes[0] = kBlankNode;
  if (const Failure failure = lex(text, tokens)) return failure;
  return Parser(text, tokens, tree).parse_eval();
}

Failure parse_fstring_expression(std::string_view text) {
  std::array<char, 4 * kMaxTokens> wrapped;
  if (text.size() + 2 > wrapped.size()) return Failure{"f-string: expression too long", 0};
  wrapped[0] = '(';
  text.copy(wrapped.data() + 1, text.size());
  wrapped[text.size() + 1] = ')';
  const std::string_view whole(wrapped.data(), text.size() + 2);
  TokenBuffer tokens;
  if (const Failure failure = lex(whole, tokens)) return failure;
  Tree tree;
  tree.count = 1;
  tree.nodes[0] = kBlankNode;
  return Parser(whole, tokens, tree).parse_in_fstring();
}

}  // namespace runner::arithmetic
