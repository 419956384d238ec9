#include "runner/arithmetic/ast.h"

namespace runner::arithmetic {

std::string_view class_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kInteger:
    case NodeKind::kFloat:
    case NodeKind::kConstant:
      return "Constant";
    case NodeKind::kBinOp:
      return "BinOp";
    case NodeKind::kUnaryOp:
      return "UnaryOp";
    case NodeKind::kCall:
      return "Call";
    case NodeKind::kList:
      return "List";
    case NodeKind::kTuple:
      return "Tuple";
    case NodeKind::kName:
      return "Name";
    case NodeKind::kAttribute:
      return "Attribute";
    case NodeKind::kSubscript:
      return "Subscript";
    case NodeKind::kStarred:
      return "Starred";
    case NodeKind::kBoolOp:
      return "BoolOp";
    case NodeKind::kNamedExpr:
      return "NamedExpr";
    case NodeKind::kLambda:
      return "Lambda";
    case NodeKind::kIfExp:
      return "IfExp";
    case NodeKind::kDict:
      return "Dict";
    case NodeKind::kSet:
      return "Set";
    case NodeKind::kListComp:
      return "ListComp";
    case NodeKind::kSetComp:
      return "SetComp";
    case NodeKind::kDictComp:
      return "DictComp";
    case NodeKind::kGeneratorExp:
      return "GeneratorExp";
    case NodeKind::kAwait:
      return "Await";
    case NodeKind::kYield:
      return "Yield";
    case NodeKind::kYieldFrom:
      return "YieldFrom";
    case NodeKind::kCompare:
      return "Compare";
    case NodeKind::kJoinedStr:
      return "JoinedStr";
  }
  return "Constant";
}

}  // namespace runner::arithmetic
