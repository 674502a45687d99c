"""Small mistakes that can be made in a function: each changes one node of its syntax, so that a test should notice."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """Where one mistake can be made."""

    number: int
    """In the order in which `list_mutants` finds those of a file."""
    line: int
    old: str
    """The code that is there."""


# What makes the mistake, in the tree itself.
Change = Callable[[], None]


def list_mutants(text: str) -> list[Mutant]:
    """
    >>> [(each.line, each.old) for each in list_mutants("def f(days):\\n    return days < 3")]
    [(2, 'days < 3'), (2, '3')]
    """
    found = enumerate(find_changes(ast.parse(text)))
    return [Mutant(number, node.lineno, ast.unparse(node)) for number, (node, _) in found]


def make_mutant(text: str, number: int) -> tuple[ast.Module, str]:
    """The syntax of a file with one mistake in it, and the code instead of what was there.

    >>> make_mutant("def f(days):\\n    return days < 3", 0)[1]
    'days <= 3'
    """
    tree = ast.parse(text)
    node, change = next(islice(find_changes(tree), number, None))
    change()
    return ast.fix_missing_locations(tree), ast.unparse(node)


def find_changes(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, Change]]:
    """Every change inside a function's body: what is computed as a module is imported is left as it is."""
    for node in walk_bodies(tree, inside=False):
        if isinstance(node, ast.stmt):
            yield from change_statement(node)
        elif isinstance(node, ast.expr):
            yield from change_expression(node)


def walk_bodies(node: ast.AST, *, inside: bool) -> Iterator[ast.AST]:
    if inside:
        yield node
    for name, value in ast.iter_fields(node):
        # Types, defaults and decorators are not what a function does; texts are what it says.
        if name in ("annotation", "returns", "args", "decorator_list") and not isinstance(node, ast.Call):
            continue
        if isinstance(node, (ast.JoinedStr, ast.Assert)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name == "body"
                yield from walk_bodies(child, inside=inside or function)


def change_statement(node: ast.stmt) -> Iterator[tuple[ast.stmt, Change]]:
    if isinstance(node, ast.AugAssign):
        if type(node.op) in ARITHMETIC:
            yield node, lambda: setattr(node, "op", ARITHMETIC[type(node.op)]())
        yield node, lambda: leave_out(node)
    elif isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield, ast.YieldFrom)):
        yield node, lambda: leave_out(node)
    elif isinstance(node, ast.If):
        # `if not x`, and comparisons, are turned round as expressions.
        if not isinstance(node.test, (ast.UnaryOp, ast.Compare)):
            test = node.test
            yield node, lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
    elif isinstance(node, (ast.Break, ast.Continue)):
        other = ast.Continue if isinstance(node, ast.Break) else ast.Break
        yield node, lambda: become(node, other())


def change_expression(node: ast.expr) -> Iterator[tuple[ast.expr, Change]]:
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            yield node, lambda place=place, op=op: node.ops.__setitem__(place, COMPARISONS[type(op)]())  # type: ignore[misc]
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not is_text(node):
        yield node, lambda: setattr(node, "op", ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield node, lambda: setattr(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node, lambda: become(node, node.operand)
    elif isinstance(node, ast.IfExp):
        yield node, lambda: (setattr(node, "test", ast.UnaryOp(ast.Not(), node.test)), None)[1]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        function = node.func
        yield node, lambda: setattr(function, "id", CALLS[function.id])
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        for each in node.generators:
            if each.ifs:
                yield node, lambda each=each: each.ifs.clear()  # type: ignore[misc]
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = node.value
        yield node, lambda: setattr(node, "value", not value if isinstance(value, bool) else value + 1)


def is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(each, (ast.JoinedStr, ast.List, ast.Tuple))
        or (isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)))
        for each in (node.left, node.right)
    )


def leave_out(node: ast.stmt) -> None:
    become(node, ast.Pass())


def become(node: ast.AST, other: ast.AST) -> None:
    """Turns the node itself into another, as its parent holds it."""
    place = {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    node.__class__ = type(other)  # type: ignore[assignment]
    node.__dict__ = {**place, **dict(ast.iter_fields(other))}
