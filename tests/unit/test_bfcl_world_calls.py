"""What changes the world: the derived table of the real package, and each rule on small classes of our own."""

import textwrap
from collections import Counter
from dataclasses import replace

import pytest

from helpseek.bfcl.world_calls import FunctionEffect, class_effects, derive
from helpseek.bfcl.world_calls.execution import cross_check, execute
from helpseek.errors import UserError

WORLD = {
    "GorillaFileSystem": "mkdir touch mv rm rmdir cp echo",
    "MathAPI": "",
    "MessageAPI": "send_message delete_message add_contact",
    "TwitterAPI": "post_tweet retweet comment mention follow_user unfollow_user",
    "TicketAPI": "create_ticket close_ticket resolve_ticket edit_ticket",
    "TradingBot": "place_order cancel_order withdraw_funds fund_account add_to_watchlist remove_stock_from_watchlist",
    "TravelAPI": "register_credit_card book_flight cancel_booking set_budget_limit purchase_insurance",
    "VehicleControlAPI": "startEngine fillFuelTank lockDoors adjustClimateControl setHeadlights activateParkingBrake "
    "pressBrakePedal releaseBrakePedal setCruiseControl set_navigation",
}
SESSION = "message_login authenticate_twitter ticket_login logout trading_login trading_logout authenticate_travel"


@pytest.fixture(scope="module")
def derived(bfcl_package):
    return derive(bfcl_package)


def test_the_real_table(derived):
    assert Counter(one.kind for one in derived) == {"world": 41, "session": 7, "read": 80}
    for name, functions in WORLD.items():
        assert {one.function for one in derived if one.class_name == name and one.kind == "world"} == set(
            functions.split()
        )
    assert {one.function for one in derived if one.kind == "session"} == set(SESSION.split())
    assert {one.function: one.only_with for one in derived if one.only_with} == {"echo": "file_name"}
    assert all(one.reason for one in derived)


def test_executing_gold_confirms_it(derived, bfcl_package, bfcl_dataset):
    found = cross_check(bfcl_package, bfcl_dataset, derived)
    never = {one.function for one in derived if one.kind == "world" and not found[one.function].gold_changes}
    assert all(not found[name].gold_calls for name in never)
    assert found["add_to_watchlist"].gold_changes < found["add_to_watchlist"].gold_calls
    wrong = [FunctionEffect(one.class_name, one.function, "read", None, "", ()) for one in derived]
    with pytest.raises(UserError, match=r"changes state in multi_turn_base_.*derived as a read"):
        cross_check(bfcl_package, bfcl_dataset, wrong)


def test_the_gold_defect_that_execution_shows(bfcl_package, bfcl_dataset):
    calls = execute(bfcl_package, [bfcl_dataset.items["multi_turn_base_188"]])
    assert [call.function for call in calls if call.failure] == ["authenticate_twitter"]


def test_long_context_items_run_in_their_longer_world(bfcl_package, bfcl_dataset):
    item = bfcl_dataset.items["multi_turn_long_context_0"]
    long, short = (execute(bfcl_package, [one]) for one in (item, replace(item, category="base")))
    assert [call.function for call in long] == [call.function for call in short]
    assert long != short


def test_a_package_that_cannot_run(tmp_path, bfcl_dataset):
    with pytest.raises(UserError, match="executing the gold trajectories failed: ModuleNotFoundError"):
        execute(tmp_path, [bfcl_dataset.items["multi_turn_base_0"]])


def effect(body, helpers=""):
    """Effect of the method `f` of a class whose state is `items` (public) and `_cache` (private)."""
    source = textwrap.dedent(helpers) + textwrap.dedent(
        """
        class API:
            def _load_scenario(self, scenario):
                self.items = scenario["items"]
                self.count = 0
                self._cache = {}
                self._here = self.items
                self._random = Random()

            def _helper(self, box, value):
                box.append(value)

            def _find(self, key):
                for item in self.items:
                    if item["key"] == key:
                        return item
                return None

            def _bump(self):
                self.count += 1
        """
    )
    source += textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    return next(one for one in class_effects(source, "API") if one.function == "f")


@pytest.mark.parametrize(
    ("body", "attribute"),
    [
        ("def f(self):\n    self.count = 1", "count"),
        ("def f(self):\n    self.count += 1", "count"),
        ("def f(self):\n    self.items.append(1)", "items"),
        ("def f(self, k):\n    self.items[k] = 1", "items"),
        ("def f(self, k):\n    self.items[k]['a'] += 1", "items"),
        ("def f(self, k):\n    del self.items[k]", "items"),
        ("def f(self, k):\n    alias = self.items\n    alias[k] = 1", "items"),
        ("def f(self):\n    for item in self.items:\n        item['seen'] = True", "items"),
        ("def f(self):\n    first, *rest = self.items\n    first['seen'] = True", "items"),
        ("def f(self, k):\n    found = self._find(k)\n    found['seen'] = True", "items"),
        ("def f(self, k):\n    next((i for i in self.items if i), None)['seen'] = True", "items"),
        ("def f(self, k):\n    [i for i in self.items][0]['seen'] = True", "items"),
        ("def f(self, k):\n    list(self.items)[0]['seen'] = True", "items"),
        ("def f(self, v):\n    self._helper(self.items, v)", "items"),
        ("def f(self, v):\n    self._helper(value=v, box=self.items)", "items"),
        ("def f(self):\n    self._bump()", "count"),
        ("def f(self, v):\n    self._here.append(v)", "items"),
        ("def f(self, k):\n    if k:\n        return {'error': 'no'}\n    self.count = 1", "count"),
        (
            "def f(self, k):\n    try:\n        self.items.pop(k)\n    except KeyError:\n        return {'error': 1}",
            "items",
        ),
        ("def f(self, k):\n    while self.items:\n        self.items.pop()", "items"),
        ("def f(self, k):\n    if (found := self._find(k)) is not None:\n        found['seen'] = 1", "items"),
        ("def f(self, v):\n    box = {}\n    box['inner'] = self.items\n    box['inner'].append(v)", "items"),
        ("def f(self):\n    alias = self.items\n    alias += [1]", "items"),
        ("def f(self):\n    box = []\n    for _ in 'ab':\n        box.append(1)\n        box = self.items", "items"),
        ("def f(self, v):\n    self._there.append(v)\n\ndef _move(self):\n    self._there = self.items", "items"),
        ("def f(self, v):\n    match v:\n        case 1:\n            self.count = v", "count"),
        ("def f(self, v):\n    def put():\n        self.items.append(v)\n    put()", "items"),
        ("def f(self, v):\n    def put(box):\n        box.append(v)\n    put(self.items)", "items"),
        ("def f(self, v):\n    def put(box):\n        box.append(v)\n    put(box=self.items)", "items"),
        ("def f(self, v):\n    sum(map(lambda i: self.items.append(i), v))", "items"),
        ("def f(self):\n    with open('x') as self.count:\n        pass", "count"),
    ],
)
def test_what_writes_public_state(body, attribute):
    found = effect(body)
    assert found.kind == "world", found
    assert attribute in found.writes
    assert attribute in found.reason


@pytest.mark.parametrize(
    "body",
    [
        "def f(self):\n    return {'items': self.items}",
        "def f(self, v):\n    copy = self.items.copy()\n    copy.append(v)\n    return copy",
        "def f(self, v):\n    copy = list(self.items)\n    copy.append(v)",
        "def f(self, v):\n    copy = self.items[:]\n    copy.append(v)",
        "def f(self, v):\n    copy = [i for i in self.items]\n    copy.append(v)",
        "def f(self, v):\n    copy = deepcopy(self.items)\n    copy[0]['a'] = v",
        "def f(self, v):\n    self._cache[v] = 1",
        "def f(self, v):\n    self._here = v",
        "def f(self):\n    return self._random.uniform(0, 1)",
        "def f(self, v):\n    if v:\n        self.count = 1\n        return {'error': 'refused'}\n    return {}",
        "def f(self, v):\n    if v:\n        self.count = 1\n        raise ValueError(v)\n    return {}",
        "def f(self, v):\n    total = self.count\n    total += 1\n    return total",
        "def f(self, v):\n    self._helper([], v)",
        "def f(self, v):\n    groups = {}\n    for i in self.items:\n        groups.setdefault(i, []).append(v)",
        "def f(self, v):\n    def put(box):\n        box.append(v)\n    put([])\n    return self.items",
        "def f(self):\n    return sorted(self.items, key=lambda item: item['key'])",
    ],
)
def test_what_only_reads(body):
    assert effect(body).kind == "read", effect(body)


def test_a_login_is_a_session_only_while_nothing_else_writes_what_it_writes():
    login = "class API:\n    def login(self):\n        self.user = 1\n"
    other = "    def rename(self):\n        self.user = 2\n"
    assert [one.kind for one in class_effects(login, "API")] == ["session"]
    assert [one.kind for one in class_effects(login + other, "API")] == ["world", "world"]


def test_private_state_is_named_in_the_reason():
    assert effect("def f(self, v):\n    self._cache[v] = 1").reason == "writes only _cache, which is not compared"


def test_objects_of_helper_classes_are_followed():
    helpers = """
    class Node:
        def __init__(self):
            self.children = {}
        def _get(self, name):
            return self.children.get(name)
        def _put(self, name, child):
            self.children[name] = child
        def _names(self):
            return list(self.children)
    """
    assert effect("def f(self, n):\n    self._here._put(n, 1)", helpers).kind == "world"
    assert effect("def f(self, n):\n    self._here._get(n)._put(n, 1)", helpers).kind == "world"
    assert effect("def f(self, n):\n    return self._here._names()", helpers).kind == "read"
    assert effect("def f(self, n):\n    node = Node()\n    node._put(n, 1)", helpers).kind == "read"


@pytest.mark.parametrize(
    ("body", "only_with"),
    [
        ("def f(self, text, file=None):\n    if file:\n        self.items[file] = text", "file"),
        (
            "def f(self, text, file=None):\n    if file is None:\n        return text\n    self.items[file] = text",
            "file",
        ),
        ("def f(self, text, file=None):\n    if not file:\n        return text\n    self.items[file] = text", "file"),
        ("def f(self, text, file=None):\n    if file is not None and text:\n        self.items[file] = text", "file"),
        ("def f(self, text, file):\n    if file:\n        self.items[file] = text", None),
        ("def f(self, a=None, b=None):\n    if a:\n        self.count = a\n    if b:\n        self.count = b", None),
        ("def f(self, text, file=None):\n    self.count = 1\n    if file:\n        self.items[file] = text", None),
    ],
)
def test_a_parameter_that_must_be_given(body, only_with):
    assert effect(body).only_with == only_with
