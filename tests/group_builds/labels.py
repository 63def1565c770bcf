"""Which bug each way of each program is: reports with one label belong to one issue, with two labels to two."""

# way: label, where it is not the way itself: one bug on several ways.
SAME = {
    "c": {"menu_first": "name_length", "menu_second": "name_length", "settle_price": "settle", "settle_next": "settle",
          "overflow_mutual": "layout", "overflow_mutual_other_way": "layout", "log_from_cart": "log_value",
          "log_from_menu": "log_value"},
    # Overloads are one declaration.
    "cxx": {"box_of_int": "Box::get", "box_of_item": "Box::get", "destroy": "~Derived", "destroy_deleted": "~Derived",
            "method_of_null": "Item::total", "first_overload": "Item::total"},
    "objc": {}, "swift": {},
}

# Two bugs in one function: different variants of the issue.
VARIANTS = [("c", "settle_price", "settle_next"), ("cxx", "method_of_null", "first_overload")]

# Exceptions as the runtime would describe them: name, reason.
EXCEPTIONS = {
    ("cxx", "throw_parse"): ("cpp", "shop::Failure", None),
    ("cxx", "throw_open"): ("cpp", "shop::Missing", None),
    ("objc", "m_pick"): ("objc", "NSRangeException", "*** -[__NSArrayM objectAtIndex:]: index 7 beyond bounds [0 .. 2]"),
    ("objc", "m_pick_last"): ("objc", "NSRangeException",
                              "*** -[__NSArrayM objectAtIndex:]: index 99 beyond bounds [0 .. 2]"),
    ("objc", "m_fail"): ("objc", "NSInternalInconsistencyException", "the cart is empty"),
    ("objc", "m_forward"): ("objc", "NSInvalidArgumentException",
                            "-[Menu checkout]: unrecognized selector sent to instance 0x60000021c0e0"),
}

# What the runtime of a debug build says before it ends the process.
MESSAGES = {
    ("swift", "nil_unwrapped"): "Unexpectedly found nil while unwrapping an Optional value",
    ("swift", "index_range"): "Index out of range",
    ("swift", "other_trap"): "Index out of range",
    ("swift", "subscript_of_array"): "Index out of range",
    ("swift", "fatal_error"): "the menu is empty",
}

HANGS = {("c", "tap_save"), ("c", "tap_reload"), ("objc", "m_sync")}

# The functions of the crash are not on the stack: it was overwritten.
BROKEN = {("c", "smashed")}

# What no key of names distinguishes, by the pattern of the builds where it is so. Static functions of one name are one; the other
# rows are instructions that the compiler has moved: the load before the call, the end of a function that became a jump into
# code that several share.
KNOWN = {
    "*": {"c:start", "c:other_start"},
    "*-O3-*": {"c:load_tree", "c:name_length", "c:peek_far"},
    "*-lto": {"c:load_tree", "c:name_length", "c:peek_far"},
    "*-Oz-*": {"cxx:anonymous", "cxx:check_disk", "cxx:check_net", "cxx:local_class", "c:smashed", "swift:actor_method",
               "swift:async_closure", "swift:async_entry", "swift:async_resume"},
}


def label(program, way):
    return program + ":" + SAME[program].get(way, way)


# Formats here without what Apple's runtime says of an exception or a failed check.
NO_EXCEPTION, NO_MESSAGE = {"crash"}, {"kscrash", "plcrash", "crash", "metrickit"}


def lacks_cause(build, program, way, kind):
    """Does the report lack a part of the class? Then it is another issue."""
    is_thrown = EXCEPTIONS.get((program, way), ("cpp",))[0] == "objc"
    is_debug_trap = (program, way) in MESSAGES and way != "fatal_error" and "-O0-" in build
    return (is_thrown and kind in NO_EXCEPTION) or (is_debug_trap and kind in NO_MESSAGE)
