"""Which attributes a method may change, read off its source: aliases, helpers and nested objects followed.

The analysis takes every path but those that end in refusal, and merges what paths say about a name. It knows the
built-in containers, the methods of the API class and those of the classes beside it in the same file. A function inside
a method counts as called where it stands. Not followed: `setattr`, `vars`, `self` or a bound method under another name,
module functions. Executing the gold calls is the check on that.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from helpseek.bfcl.world_calls.origins import (
    GIVES_CONTAINER,
    GIVES_ELEMENT_OF_ARGUMENT,
    GIVES_ELEMENTS,
    MUTATORS,
    NONE,
    Origins,
    container,
    elements,
    given_when,
    holding,
    is_failure,
    root,
    roots,
    terminates,
)

Function = ast.FunctionDef
# Aliases of private attributes can depend on each other; two levels occur.
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Write:
    """One place that changes a root: an attribute of the API object, or a parameter of a helper."""

    root: str
    line: int
    given: frozenset[str]
    """Parameters that must be given for the place to be reached."""


@dataclass(slots=True)
class Summary:
    """What calling a method does: the roots it writes, and those its value is part of."""

    writes: set[Write] = field(default_factory=set)
    returns: Origins = NONE


@dataclass(slots=True)
class ClassAnalysis:
    """Summaries of one API class, its helpers beside it."""

    methods: Mapping[str, Function]
    helpers: Mapping[str, list[Function]]
    """Methods of the other classes of the file, by name."""
    aliases: dict[str, Origins] = field(default_factory=dict)
    """Private attribute -> the roots that it points into."""
    summaries: dict[int, Summary] = field(default_factory=dict)

    def summary(self, function: Function, *, own: bool) -> Summary:
        """Summary of a method; `own`: of the API class itself, so that `self` is the API object."""
        key = id(function)
        if key not in self.summaries:
            self.summaries[key] = Summary()
            self.summaries[key] = _Method(self, function, own).run()
        return self.summaries[key]


def analyse(tree: ast.Module, class_name: str) -> ClassAnalysis:
    """Analyse the class `class_name` of a parsed file. Raises `KeyError` when it is not there."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    methods = _methods(classes[class_name])
    helpers: dict[str, list[Function]] = {}
    for name, node in classes.items():
        if name != class_name:
            for method in _methods(node).values():
                helpers.setdefault(method.name, []).append(method)
    analysis = ClassAnalysis(methods, helpers)
    for _ in range(ROUNDS):
        analysis.summaries.clear()
        for method in methods.values():
            analysis.summary(method, own=True)
    return analysis


def _methods(node: ast.ClassDef) -> dict[str, Function]:
    return {method.name: method for method in node.body if isinstance(method, Function)}


class _Method:
    """One pass over one method."""

    def __init__(self, analysis: ClassAnalysis, function: Function, own: bool) -> None:
        self.analysis, self.function, self.own = analysis, function, own
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        self.self_name = names[0] if names else ""
        self.parameters = names[1:] + [argument.arg for argument in function.args.kwonlyargs]
        self.names: dict[str, Origins] = {name: root(f"parameter {name}") for name in self.parameters}
        if not own:
            self.names[self.self_name] = root("parameter self")
        self.inner: dict[str, list[str]] = {}
        """Functions inside the method -> their parameters, which are names like any other here."""
        self.found = Summary()

    def run(self) -> Summary:
        # Twice, so that a name bound late in a loop, or by a call of an inner function, is known before.
        for _ in range(2):
            self.found.writes.clear()
            self.block(self.function.body, frozenset())
        return self.found

    def write(self, changed: frozenset[str], node: ast.AST, given: frozenset[str]) -> None:
        line = getattr(node, "lineno", 0)
        self.found.writes |= {Write(name, line, given & frozenset(self.parameters)) for name in changed}

    def block(self, statements: list[ast.stmt], given: frozenset[str]) -> None:
        """Visit statements; a refusing block cannot succeed, so its writes do not count."""
        before = set(self.found.writes)
        for statement in statements:
            self.statement(statement, given)
            if isinstance(statement, ast.If) and terminates(statement.body):
                given |= given_when(statement.test, False)
        if is_failure(statements) and statements is not self.function.body:
            self.found.writes = before

    def statement(self, node: ast.stmt, given: frozenset[str]) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test, given)
                self.block(body, given | given_when(test, True))
                self.block(orelse, given | given_when(test, False))
            case ast.For(target=target, iter=source, body=body, orelse=orelse):
                self.bind(target, elements(self.value(source, given)), node, given)
                self.block(body, given)
                self.block(orelse, given)
            case ast.While(test=test, body=body, orelse=orelse):
                self.value(test, given)
                self.block(body, given)
                self.block(orelse, given)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                for part in (body, *(handler.body for handler in handlers), orelse, final):
                    self.block(part, given)
            case ast.With(items=items, body=body):
                for item in items:
                    origins = self.value(item.context_expr, given)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, origins, node, given)
                self.block(body, given)
            case ast.Match(subject=subject, cases=cases):
                self.value(subject, given)
                for one in cases:
                    self.block(one.body, given)
            case ast.FunctionDef(name=name, args=parameters, body=body):
                self.inner[name] = [argument.arg for argument in parameters.args]
                self.block(body, given)
            case ast.Assign(targets=targets, value=value):
                origins = self.value(value, given)
                for target in targets:
                    self.bind(target, origins, node, given)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.value(value, given), node, given)
            case ast.AugAssign(target=target, value=value):
                self.value(value, given)
                if isinstance(target, ast.Name):
                    # `+=` changes a list in place and rebinds a number; only a list shows itself.
                    if isinstance(value, ast.List | ast.ListComp):
                        self.write(roots(self.names.get(target.id, NONE)), node, given)
                else:
                    self.bind(target, NONE, node, given)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.bind(target, NONE, node, given)
            case ast.Return(value=ast.expr() as value):
                self.found.returns |= self.value(value, given)
            case ast.Expr(value=value):
                self.value(value, given)

    def bind(self, target: ast.expr, origins: Origins, node: ast.AST, given: frozenset[str]) -> None:
        """Assign to `target`: a name is bound, a place inside an object is written."""
        match target:
            case ast.Name(id=name):
                self.names[name] = self.names.get(name, NONE) | origins
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.bind(part, elements(origins), node, given)
            case ast.Starred(value=value):
                self.bind(value, origins, node, given)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if self.own and name == self.self_name:
                self.write(frozenset({attribute}), node, given)
                if attribute.startswith("_"):
                    self.analysis.aliases[attribute] = self.analysis.aliases.get(attribute, NONE) | origins
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                self.write(roots(self.value(inner, given)), node, given)
                if isinstance(inner, ast.Name):
                    self.names[inner.id] = self.names.get(inner.id, NONE) | holding(origins)

    def value(self, node: ast.expr | None, given: frozenset[str]) -> Origins:
        """Origins of an expression; calls inside it take effect."""
        match node:
            case None | ast.Constant():
                return NONE
            case ast.Name(id=name):
                return self.names.get(name, NONE)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if self.own and name == self.self_name:
                return root(attribute) | self.analysis.aliases.get(attribute, NONE)
            case ast.Attribute(value=inner):
                return elements(self.value(inner, given))
            case ast.Subscript(value=inner, slice=place):
                origins = self.value(inner, given)
                self.value(place, given)
                return container(origins) if isinstance(place, ast.Slice) else elements(origins)
            case ast.Call():
                return self.call(node, given)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test, given)
                return self.value(body, given) | self.value(orelse, given)
            case ast.BoolOp(values=values):
                return NONE.union(*(self.value(value, given) for value in values))
            case ast.NamedExpr(target=target, value=value):
                origins = self.value(value, given)
                self.bind(target, origins, node, given)
                return origins
            case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
                self.generators(parts, given)
                return holding(self.value(node.elt, given))
            case ast.DictComp(generators=parts, key=key, value=value):
                self.generators(parts, given)
                self.value(key, given)
                return holding(self.value(value, given))
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return holding(NONE.union(*(self.value(part, given) for part in parts)))
            case ast.Dict(values=parts):
                return holding(NONE.union(*(self.value(part, given) for part in parts)))
            case ast.Starred(value=inner) | ast.Await(value=inner):
                return self.value(inner, given)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, given)
        return NONE

    def generators(self, parts: list[ast.comprehension], given: frozenset[str]) -> None:
        for part in parts:
            self.bind(part.target, elements(self.value(part.iter, given)), part.iter, given)
            for test in part.ifs:
                self.value(test, given)

    def call(self, node: ast.Call, given: frozenset[str]) -> Origins:
        """A call: its arguments, then what the called function does to them and to its object."""
        arguments = [self.value(argument, given) for argument in node.args]
        keywords = {keyword.arg or "**": self.value(keyword.value, given) for keyword in node.keywords}
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if (
                self.own and name == self.self_name and method in self.analysis.methods
            ):
                function = self.analysis.methods[method]
                return self.apply(function, True, NONE, arguments, keywords, node, given)
            case ast.Attribute(value=inner, attr=method):
                origins = self.value(inner, given)
                found = NONE
                for function in self.analysis.helpers.get(method, []):
                    found |= self.apply(function, False, origins, arguments, keywords, node, given)
                if method in self.analysis.helpers:
                    return found
                if method in MUTATORS:
                    self.write(roots(origins), node, given)
                    if isinstance(inner, ast.Name):
                        # A key or a place stands before what is stored.
                        self.names[inner.id] = origins | holding(NONE.union(*arguments[-1:]))
                if method in GIVES_ELEMENTS:
                    return elements(origins)
                return container(origins) if method in GIVES_CONTAINER else NONE
            case ast.Name(id=name) if name in self.inner:
                passed = dict(zip(self.inner[name], arguments, strict=False)) | keywords
                for parameter, origins in passed.items():
                    self.names[parameter] = self.names.get(parameter, NONE) | origins
            case ast.Name(id=name) if name in GIVES_CONTAINER:
                return container(NONE.union(*arguments))
            case ast.Name(id=name) if name in GIVES_ELEMENT_OF_ARGUMENT:
                return elements(NONE.union(*arguments))
        return NONE

    def apply(
        self,
        function: Function,
        own: bool,
        receiver: Origins,
        arguments: list[Origins],
        keywords: Mapping[str, Origins],
        node: ast.Call,
        given: frozenset[str],
    ) -> Origins:
        """Bring the summary of a called method here: its parameters stand for what was passed."""
        summary = self.analysis.summary(function, own=own)
        names = [argument.arg for argument in function.args.args[1:]]
        passed = {f"parameter {name}": origins for name, origins in zip(names, arguments, strict=False)}
        passed |= {f"parameter {name}": origins for name, origins in keywords.items()}
        passed["parameter self"] = receiver
        for write in summary.writes:
            changed = roots(passed.get(write.root, NONE)) if write.root.startswith("parameter ") else {write.root}
            self.write(frozenset(changed), node, given)
        found = NONE
        for name, depth in summary.returns:
            inner = passed.get(name, NONE) if name.startswith("parameter ") else root(name)
            found |= container(inner) if depth else inner
        return found
