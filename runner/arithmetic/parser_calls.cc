// Calls, comprehensions and lambda: the rules about what may follow what.
#include "runner/arithmetic/parser_state.h"

namespace runner::arithmetic {

// Where an argument stands: each stage allows less than the one before.
enum ArgumentStage : int { kPositional, kAfterKeyword, kAfterDoubleStar };

// One argument; false where none may follow (a bare generator must be the only one).
bool Parser::argument(Items& items, int& stage, Arguments& arguments) {
  if (accept(Tok::kPower)) {
    stage = kAfterDoubleStar;
    arguments = Arguments::kWithKeywords;
    expression();
    return true;
  }
  if (at(Tok::kName) && next_kind() == Tok::kAssign) {
    if (stage == kPositional) stage = kAfterKeyword;
    arguments = Arguments::kWithKeywords;
    at_ += 2;
    expression();
    return true;
  }
  if (accept(Tok::kStar)) {
    if (stage == kAfterDoubleStar) fail("'*' arguments can't follow '**' arguments");
    expression();
    add_item(items, wrap(NodeKind::kStarred));
    return true;
  }
  if (stage != kPositional) fail("a positional argument follows a keyword argument");
  const NodeId value = named_expression();
  if (!at_comprehension() || items.count != 0) {
    add_item(items, value);
    return true;
  }
  comprehension();
  add_item(items, wrap(NodeKind::kGeneratorExp));
  return false;
}

NodeId Parser::call(NodeId function) {
  ++at_;
  Items items;
  int stage = kPositional;
  Arguments arguments = Arguments::kPlain;
  while (!at(Tok::kCloseParen)) {
    if (!argument(items, stage, arguments)) break;
    if (!accept(Tok::kComma)) break;
  }
  const NodeId made = node(NodeKind::kCall);
  expect(Tok::kCloseParen, "invalid syntax; perhaps a comma or ')' is missing");
  get(made).left = function;
  get(made).right = items.first;
  get(made).arguments = arguments;
  return made;
}

bool Parser::at_comprehension() const {
  return at(Tok::kFor) || (at(Tok::kAsync) && next_kind() == Tok::kFor);
}

// (['async'] 'for' targets 'in' disjunction ('if' disjunction)*)+
void Parser::comprehension() {
  while (at_comprehension()) {
    accept(Tok::kAsync);
    accept(Tok::kFor);
    targets();
    expect(Tok::kIn, "'in' must follow the names of a comprehension");
    disjunction();
    while (accept(Tok::kIf)) disjunction();
  }
}

// star_targets. What may be assigned to is a subset of what may be read, so read it and look.
void Parser::targets() {
  do {
    accept(Tok::kStar);
    if (get(primary()).target == 0) fail("a comprehension can't assign to this");
  } while (accept(Tok::kComma) && !at(Tok::kIn));
}

NodeId Parser::lambda() {
  ++at_;
  if (!at(Tok::kColon)) lambda_parameters();
  expect(Tok::kColon, "a ':' must follow the parameters of a lambda");
  expression();
  return wrap(NodeKind::kLambda);
}

struct LambdaState {
  std::size_t count = 0;  // parameters so far
  bool slash = false;
  bool star = false;
  bool default_seen = false;
};

void Parser::lambda_parameters() {
  LambdaState state;
  while (!at(Tok::kColon)) {
    if (accept(Tok::kPower)) {  // the last one, with no default
      expect(Tok::kName, "a name must follow '**'");
      accept(Tok::kComma);
      return;
    }
    bool more = false;
    if (at(Tok::kStar))
      more = lambda_star(state);
    else if (at(Tok::kSlash))
      more = lambda_slash(state);
    else
      more = lambda_parameter(state);
    if (!more) return;
  }
}

// Each of these returns whether a comma follows.
bool Parser::lambda_slash(LambdaState& state) {
  if (state.slash || state.star || state.count == 0) fail("'/' can't stand here");
  accept(Tok::kSlash);
  state.slash = true;
  return accept(Tok::kComma);
}

bool Parser::lambda_star(LambdaState& state) {
  if (state.star) fail("'*' may stand once only");
  accept(Tok::kStar);
  state.star = true;
  if (accept(Tok::kName)) return accept(Tok::kComma);
  expect(Tok::kComma, "a name must follow '*'");
  if (!at(Tok::kName)) fail("a named parameter must follow a bare '*'");
  return true;
}

bool Parser::lambda_parameter(LambdaState& state) {
  expect(Tok::kName, "invalid syntax in the parameters of a lambda");
  ++state.count;
  if (accept(Tok::kAssign)) {
    state.default_seen = true;
    expression();
  } else if (state.default_seen && !state.star) {
    fail("a parameter without a default follows one with a default");
  }
  return accept(Tok::kComma);
}

}  // namespace runner::arithmetic
