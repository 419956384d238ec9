// The parser's class, private to parser*.cc. After the first failure the cursor stands on the end
// token for good, so every rule that follows finds nothing to take and unwinds by itself.
#pragma once

#include <string_view>

#include "runner/arithmetic/ast.h"
#include "runner/arithmetic/token.h"

namespace runner::arithmetic {

class Parser {
 public:
  Parser(std::string_view text, const TokenBuffer& tokens, Tree& tree)
      : text_(text), tokens_(tokens), tree_(tree) {}

  Failure parse_eval();        // expressions NEWLINE* END
  Failure parse_in_fstring();  // star_expressions END

 private:
  struct Items {  // a comma separated run
    NodeId first = kNoNode;
    NodeId last = kNoNode;
    std::size_t count = 0;
    bool trailing_comma = false;
    bool all_targets = true;
  };

  // parser.cc: operators, by falling rank
  NodeId expressions();
  NodeId expression();
  NodeId named_expression();
  NodeId star_named_expression();
  NodeId star_expressions();
  NodeId disjunction();
  NodeId inversion();
  NodeId bitwise_or();
  NodeId operation(std::uint8_t least_rank);
  NodeId operand();
  NodeId factor();
  NodeId power();
  NodeId yield_expression();
  bool step_over_operator();

  // parser_atoms.cc: atoms and what trails them
  NodeId primary();
  NodeId atom();
  NodeId strings();
  NodeId parenthesized();
  NodeId list_display();
  NodeId brace_display();
  NodeId dict_rest(NodeId node);
  NodeId set_rest(NodeId node, NodeId first);
  NodeId subscript();
  void slice();
  void optional_slice_bound();
  void more_items(Items& items, Tok closing);
  void add_item(Items& items, NodeId node);
  NodeId display(NodeKind kind, const Items& items, Tok closing, std::string_view unclosed);

  // parser_calls.cc: arguments, comprehensions, lambda
  NodeId call(NodeId function);
  bool argument(Items& items, int& stage, Arguments& arguments);
  bool at_comprehension() const;
  void comprehension();
  void targets();
  NodeId lambda();
  void lambda_parameters();
  bool lambda_parameter(struct LambdaState& state);
  bool lambda_star(struct LambdaState& state);
  bool lambda_slash(struct LambdaState& state);

  Tok kind() const { return tokens_.tokens[at_].kind; }
  // What follows the current token; the buffer ends in kEnd, which is never stepped over.
  Tok next_kind() const { return kind() == Tok::kEnd ? Tok::kEnd : tokens_.tokens[at_ + 1].kind; }
  bool at(Tok wanted) const { return kind() == wanted; }
  bool accept(Tok wanted) {
    if (kind() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(Tok wanted, std::string_view otherwise) {
    if (!accept(wanted)) fail(otherwise);
  }
  NodeId fail(std::string_view text);
  NodeId node(NodeKind kind) {
    if (tree_.count >= kMaxNodes) [[unlikely]]
      return fail("too many parts");
    Node& made = tree_.nodes[tree_.count];
    made = kBlankNode;
    made.kind = kind;
    made.begin = tokens_.tokens[at_].begin;
    made.end = tokens_.tokens[at_].end;
    return static_cast<NodeId>(tree_.count++);
  }
  NodeId plain_atom();
  NodeId wrap(NodeKind kind);  // a node around what was just parsed
  Node& get(NodeId id) { return tree_.nodes[id]; }

  std::string_view text_;
  const TokenBuffer& tokens_;
  Tree& tree_;
  std::size_t at_ = 0;
  Failure failure_;
};

}  // namespace runner::arithmetic
