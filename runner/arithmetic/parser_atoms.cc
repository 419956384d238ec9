// Atoms, displays and subscripts.
#include "runner/arithmetic/parser_state.h"
#include "runner/arithmetic/string_literal.h"

namespace runner::arithmetic {

void Parser::add_item(Items& items, NodeId node) {
  if (items.count == 0)
    items.first = node;
  else
    get(items.last).next = node;
  items.last = node;
  items.all_targets = items.all_targets && get(node).target != 0;
  ++items.count;
}

// primary: atom ('.' NAME | call | subscript)*
NodeId Parser::primary() {
  NodeId left = atom();
  for (;;) {
    if (accept(Tok::kDot)) {
      expect(Tok::kName, "a name must follow the dot");
      left = node(NodeKind::kAttribute);
      get(left).target = 1;
    } else if (at(Tok::kOpenParen)) {
      left = call(left);
    } else if (at(Tok::kOpenBracket)) {
      left = subscript();
    } else {
      return left;
    }
  }
}

NodeId Parser::atom() {
  NodeId made = 0;
  switch (kind()) {
    case Tok::kInteger:
      made = node(NodeKind::kInteger);
      break;
    case Tok::kFloat:
      made = node(NodeKind::kFloat);
      break;
    case Tok::kImaginary:
    case Tok::kTrue:
    case Tok::kFalse:
    case Tok::kNone:
    case Tok::kEllipsis:
      made = node(NodeKind::kConstant);
      break;
    case Tok::kName:
      made = node(NodeKind::kName);
      get(made).target = 1;
      break;
    case Tok::kString:
      return strings();
    case Tok::kOpenParen:
      return parenthesized();
    case Tok::kOpenBracket:
      return list_display();
    case Tok::kOpenBrace:
      return brace_display();
    case Tok::kEnd:
      return fail("the expression ends too early");
    default:
      return fail("invalid syntax");
  }
  ++at_;
  return made;
}

// One or more string literals side by side: all text or all bytes.
NodeId Parser::strings() {
  bool any_bytes = false;
  bool any_text = false;
  bool any_format = false;
  for (; at(Tok::kString); ++at_) {
    const Token token = tokens_.tokens[at_];
    const StringCheck check =
        check_string(text_.substr(token.begin, std::size_t{token.end} - token.begin));
    if (check.failure) return fail(check.failure.text);
    any_bytes = any_bytes || check.kind == StringKind::kBytes;
    any_text = any_text || check.kind != StringKind::kBytes;
    any_format = any_format || check.kind == StringKind::kFormat;
  }
  if (any_bytes && any_text) return fail("bytes and text literals side by side");
  return node(any_format ? NodeKind::kJoinedStr : NodeKind::kConstant);
}

// The rest of a display after its first item: (',' item)* [','] up to the closing bracket.
void Parser::more_items(Items& items, Tok closing) {
  while (accept(Tok::kComma)) {
    if (at(closing)) {
      items.trailing_comma = true;
      return;
    }
    add_item(items, star_named_expression());
  }
}

// A tuple or list of the items read, up to its bracket.
NodeId Parser::display(NodeKind kind, const Items& items, Tok closing, std::string_view unclosed) {
  const NodeId made = node(kind);
  get(made).right = items.first;
  get(made).target = items.all_targets ? 1 : 0;
  expect(closing, unclosed);
  return made;
}

// '(' ... ')': empty tuple, yield, generator, tuple or just brackets.
NodeId Parser::parenthesized() {
  static constexpr std::string_view kUnclosed = "invalid syntax; perhaps a comma or ')' is missing";
  ++at_;
  Items items;
  if (at(Tok::kYield)) {
    const NodeId made = yield_expression();
    expect(Tok::kCloseParen, kUnclosed);
    return made;
  }
  if (!at(Tok::kCloseParen)) {
    const NodeId first = star_named_expression();
    const bool starred = get(first).kind == NodeKind::kStarred;
    if (at_comprehension() && !starred) {
      comprehension();
      const NodeId made = node(NodeKind::kGeneratorExp);
      expect(Tok::kCloseParen, kUnclosed);
      return made;
    }
    if (!at(Tok::kComma)) {
      expect(Tok::kCloseParen, kUnclosed);
      return starred ? fail("a starred expression can't stand here") : first;
    }
    add_item(items, first);
    more_items(items, Tok::kCloseParen);
  }
  return display(NodeKind::kTuple, items, Tok::kCloseParen, kUnclosed);
}

NodeId Parser::list_display() {
  static constexpr std::string_view kUnclosed = "invalid syntax; perhaps a comma or ']' is missing";
  ++at_;
  Items items;
  if (!at(Tok::kCloseBracket)) {
    const NodeId first = star_named_expression();
    if (at_comprehension() && get(first).kind != NodeKind::kStarred) {
      comprehension();
      const NodeId made = node(NodeKind::kListComp);
      expect(Tok::kCloseBracket, kUnclosed);
      return made;
    }
    add_item(items, first);
    more_items(items, Tok::kCloseBracket);
  }
  return display(NodeKind::kList, items, Tok::kCloseBracket, kUnclosed);
}

// '{' ... '}': which of the four it is shows after the first item.
NodeId Parser::brace_display() {
  const NodeId made = node(NodeKind::kDict);
  ++at_;
  if (accept(Tok::kCloseBrace)) return made;
  if (at(Tok::kPower)) return dict_rest(made);
  if (at(Tok::kStar) || (at(Tok::kName) && next_kind() == Tok::kWalrus))
    return set_rest(made, star_named_expression());
  const NodeId first = expression();
  if (!accept(Tok::kColon)) return set_rest(made, first);
  expression();
  if (at_comprehension()) {
    comprehension();
    get(made).kind = NodeKind::kDictComp;
    expect(Tok::kCloseBrace, "invalid syntax; perhaps a '}' is missing");
    return made;
  }
  if (accept(Tok::kComma)) return dict_rest(made);
  expect(Tok::kCloseBrace, "invalid syntax; perhaps a comma or '}' is missing");
  return made;
}

// ('**' bitwise_or | expression ':' expression) (',' ...)* [','] '}', or '}' alone.
NodeId Parser::dict_rest(NodeId made) {
  while (!accept(Tok::kCloseBrace)) {
    if (accept(Tok::kPower)) {
      bitwise_or();
    } else {
      expression();
      expect(Tok::kColon, "a ':' must follow a dictionary's key");
      expression();
    }
    if (!accept(Tok::kComma)) {
      expect(Tok::kCloseBrace, "invalid syntax; perhaps a comma or '}' is missing");
      break;
    }
  }
  return made;
}

NodeId Parser::set_rest(NodeId made, NodeId first) {
  get(made).kind = NodeKind::kSet;
  if (at_comprehension() && get(first).kind != NodeKind::kStarred) {
    comprehension();
    get(made).kind = NodeKind::kSetComp;
  } else {
    Items items;
    more_items(items, Tok::kCloseBrace);
  }
  expect(Tok::kCloseBrace, "invalid syntax; perhaps a comma or '}' is missing");
  return made;
}

// '[' slice (',' slice)* [','] ']'
NodeId Parser::subscript() {
  ++at_;
  do {
    slice();
  } while (accept(Tok::kComma) && !at(Tok::kCloseBracket));
  expect(Tok::kCloseBracket, "invalid syntax; perhaps a comma or ']' is missing");
  const NodeId made = node(NodeKind::kSubscript);
  get(made).target = 1;
  return made;
}

// slice: '*' expression | NAME ':=' expression | expression | [expression] ':' [expression] ...
void Parser::slice() {
  if (accept(Tok::kStar)) {
    expression();
    return;
  }
  if (at(Tok::kName) && next_kind() == Tok::kWalrus) {
    named_expression();
    return;
  }
  if (!at(Tok::kColon)) expression();
  if (!accept(Tok::kColon)) return;
  optional_slice_bound();
  if (accept(Tok::kColon)) optional_slice_bound();
}

void Parser::optional_slice_bound() {
  if (!at(Tok::kColon) && !at(Tok::kComma) && !at(Tok::kCloseBracket)) expression();
}

}  // namespace runner::arithmetic
