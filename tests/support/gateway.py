"""Asks the JVM once for each of its classes and static methods.

py4j asks anew at every use. For a class that pyspark names without its package, the JVM looks into
each of its nearly three hundred jars, for each package that the class may be in.
"""

from functools import cache

from py4j.java_gateway import JavaClass, JavaMember, JVMView


@cache
def remember_names() -> None:
    """From now on, classes of a view and static methods of a class are kept as its attributes."""
    _remember(JVMView, JavaClass)
    _remember(JavaClass, JavaMember)


def _remember(owner: type, kind: type) -> None:
    # Python calls it only for what is no attribute yet.
    ask = owner.__getattr__

    def ask_once(self, name):
        answer = ask(self, name)
        # Not packages, in which classes may yet be found, nor the values of fields.
        if isinstance(answer, kind):
            self.__dict__[name] = answer
        return answer

    owner.__getattr__ = ask_once
