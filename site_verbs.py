"""Show each verb on the page of the API with the signature and the docstring of the step that it is bound to."""

from typing import Any

from griffe import Attribute, Docstring, ExprCall, Extension, Function, Module, Parameters

PROVIDED = {"bound": 1, "provided": 2}
"""How many of the first arguments of a step the memory provides, by what binds it."""


class Verbs(Extension):
    """Replaces `recall = bound(…, recall.recall)` by a method."""

    def on_package(self, *, pkg: Module, loader: Any, **_: Any) -> None:
        module: Any = pkg["hippocampe"]
        for name, member in list(module["Verbs"].members.items()):
            call = member.value if isinstance(member, Attribute) else None
            if not isinstance(call, ExprCall) or call.function.name not in PROVIDED:
                continue
            # By the names of the module: a verb is often named as the module of its step.
            home, step_name = str(call.arguments[-1]).split(".")
            step = loader.modules_collection[f"{module.resolve(home)}.{step_name}"]
            declared = step
            for each in step.decorators:
                # `@_declared_by(make_draft)` gives a step the arguments and the documentation of another function.
                declared = loader.modules_collection[each.value.arguments[0].canonical_path]
            taken = list(declared.parameters)[PROVIDED[call.function.name] :]
            verb = Function(
                name,
                parameters=Parameters(*taken),
                returns=step.returns,
                lineno=member.lineno,
                endlineno=member.endlineno,
            )
            module["Verbs"].set_member(name, verb)
            told = declared.docstring
            verb.docstring = Docstring(told.value, parent=verb, parser=told.parser)
