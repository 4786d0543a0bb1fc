"""Names that users give to columns, chosen to break whoever takes a name for something else."""

import random


def _words(text: str) -> list[str]:
    return text.split()


KEYWORDS = _words("""
    select from where group order by having as and or not null true false case when then else end
    interval distinct all filter over between in like is exists cast table values limit union join
    on using with window_time current_date user extract trim position
""")
TYPES = _words("date timestamp int string double boolean decimal array map struct binary long")
UNITS = _words("day hour minute second month year week days hours")
FUNCTIONS = _words("count max min sum avg upper coalesce if session_window date_format to_json any")
# Names that muntin gives to columns of its own.
INTERNAL = _words("""
    begin end start node tree lane bucket k0 k1 c0 c0_n a0 a1 w i0 i1 f0 q query muntin_part _a0 _k0
    _muntin_query part key value state batch row rows cells slice size
""")
ODD = [
    "it's", 'a"b', "a`b", "`", "``", "'", '"', "a.b", "a.b.c", ".", "a b", " lead", "trail ",
    "a--b", "-- x", "a/*b", "*/", "a;b", "a\\b", "\\", "%s", "{x}", "{}", "$1", ":p", "?", "@x",
    "a,b", "(", ")", "max(n)", "count(1)", "window.start", "1", "0", "1a", "1.5", "-", "*", "=",
    "日本", "größe", "ñandú", "😀", "ß", "тест", "a\tb", "Window size", "n > 1", "#", "x'y`z\"w",
]  # fmt: skip
POOL = [*KEYWORDS, *TYPES, *UNITS, *FUNCTIONS, *INTERNAL, *ODD]


def quote_name(name: str) -> str:
    """A name as Spark SQL reads it, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def in_another_case(name: str) -> str:
    """The name with large and small letters swapped, where Spark takes that for the same name."""
    swapped = name.swapcase()
    return swapped if swapped.lower() == name.lower() and len(swapped) == len(name) else name


def draw_names(rng: random.Random, count: int, without: set[str] = frozenset()) -> list[str]:
    """Names that differ in more than case from each other and from some others."""
    taken = {"window", "session_window", *(name.lower() for name in without)}
    names: list[str] = []
    while len(names) < count:
        name = rng.choice(POOL)
        name = rng.choice([name, name, name.upper(), name.capitalize()])
        if name.lower() not in taken:
            taken.add(name.lower())
            names.append(name)
    return names
