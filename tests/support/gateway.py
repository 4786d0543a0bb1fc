"""Asks the JVM once for each of its packages, classes and static methods.

py4j asks anew at every use. For a package, and for a class that pyspark names without its package,
the JVM looks into each of its nearly three hundred jars for a class of that name.
"""

from functools import cache

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView


@cache
def remember_names() -> None:
    """From now on, packages, classes and static methods are kept as attributes of their owners."""
    _remember(JVMView, JavaClass, JavaPackage)
    _remember(JavaPackage, JavaClass, JavaPackage)
    _remember(JavaClass, JavaMember)


def _remember(owner: type, *kinds: type) -> None:
    # Python calls it only for what is no attribute yet.
    ask = owner.__getattr__

    def ask_once(self, name):
        answer = ask(self, name)
        # Not the values of fields, nor a package that may yet turn out to be a class.
        is_package = isinstance(answer, JavaPackage)
        if isinstance(answer, kinds) and (name.islower() or not is_package):
            self.__dict__[name] = answer
        return answer

    owner.__getattr__ = ask_once
