"""A HiL-Bench blocker registry: the accepted forms, and the repair of what is known to be wrong in published ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from helpseek.errors import UserError, nearest
from helpseek.tasks.fields import Fields, is_absent, kind_of, parse_json, place
from helpseek.tasks.task import Blocker, BlockerType, Domain, Place, Registry

# The public SQL registries say only where a gap sits and of which subtype it is. This mapping to the paper's three
# types is ours: the release has none, and it cannot be recovered exactly. Its contradictory share, 52 of 398 blockers
# (13.1 %), agrees with the paper's 13.4 %; its other two shares do not claim to.
TYPE_OF_SUBTYPE: Mapping[str, BlockerType] = {
    "missing_information": BlockerType.MISSING,
    "unclear_value": BlockerType.MISSING,
    "underspecified_concepts": BlockerType.MISSING,
    "requires_real_time_information": BlockerType.MISSING,
    "confusing_information": BlockerType.AMBIGUOUS,
    "confusing_table_or_table_definition": BlockerType.AMBIGUOUS,
    "confusing_column_or_column_definition": BlockerType.AMBIGUOUS,
    "timeframe_ambiguity": BlockerType.AMBIGUOUS,
    "multiple_interpretations": BlockerType.AMBIGUOUS,
    "contradicting_requirements": BlockerType.CONTRADICTORY,
    "contradicts_real_life": BlockerType.CONTRADICTORY,
}
TYPE_NAMES: Mapping[str, Place | BlockerType] = {
    "question": Place.QUESTION,
    "business info": Place.BUSINESS_INFO,
    "schema": Place.SCHEMA,
    "missing": BlockerType.MISSING,
    "missing parameter": BlockerType.MISSING,
    "ambiguous": BlockerType.AMBIGUOUS,
    "ambiguous requirement": BlockerType.AMBIGUOUS,
    "contradictory": BlockerType.CONTRADICTORY,
    "contradictory requirement": BlockerType.CONTRADICTORY,
}
QUESTION_KEYS = ("example_questions", "acceptable_questions", "trigger_questions")

FENCED = re.compile(r"```[\w-]*\s*(.*?)\s*```", re.DOTALL)
LIST_DASH = re.compile(r"^-\s+")
FRAGMENT_HEAD = re.compile(r'^\s*"\w+":\s*"')
FRAGMENT_TAIL = re.compile(r'",?\s*$')


@dataclass(slots=True)
class Notes:
    """What a loader repaired or found odd in one task, as sentences, counted by kind."""

    counts: Counter[str] = field(default_factory=Counter)
    details: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, detail: str = "") -> None:
        """Note one more oddity of `kind`, a phrase such as `id stripped`; `detail` says which."""
        self.counts[kind] += 1
        self.details.setdefault(kind, [])
        if detail:
            self.details[kind].append(detail)

    def sentences(self) -> dict[str, str]:
        """Kind to one sentence: `kind: details`, or `kind (xcount)` when it has no details."""
        return {kind: _sentence(kind, count, self.details[kind]) for kind, count in self.counts.items()}


def _sentence(kind: str, count: int, details: list[str]) -> str:
    if details:
        return f"{kind}: {', '.join(details[:3])}" + (f" and {count - 3} more" if count > 3 else "")
    return kind if count == 1 else f"{kind} (x{count})"


def parse_registry(raw: object, file: str, path: str, domain: Domain, notes: Notes) -> Registry:
    """Read a registry given as `{"blockers": [...]}`, a list, or either as a JSON string (spec 1.4, 1.6).

    `path` is its key path in `file`, empty when it is the whole file. Ids lose white space and markdown fences; a
    one-element list of types is that type; questions lose a leading list dash and duplicates; JSON syntax around a
    description is removed, the published text kept beside it. Resolutions stay verbatim. Each repair goes to `notes`.
    Raises `UserError` when a blocker lacks `id`, `description` or `resolution`, when two share an id, or none is there.
    """
    if isinstance(raw, str):
        raw = parse_json(raw, place(file, path)) if raw.strip() else None
    if isinstance(raw, Mapping):
        top = Fields.of(raw, file, path)
        raw, path = top.value("blockers"), top.below("blockers")
    listed = [] if is_absent(raw) else raw
    if not isinstance(listed, list):
        raise UserError(f"{place(file, path)}: expected a list of blockers, found {kind_of(listed)}")
    if not listed:
        raise UserError(f"{place(file, path)}: holds no blocker; a task needs at least one")
    items = (Fields.of(item, file, f"{path}.{n}" if path else str(n)) for n, item in enumerate(listed))
    blockers = tuple(_blocker(item, domain, notes) for item in items)
    for blocker_id, count in Counter(blocker.blocker_id for blocker in blockers).items():
        if count > 1:
            raise UserError(f"{place(file, path)}: {count} blockers have the id `{blocker_id}`; ids must differ")
    return Registry(blockers=blockers)


def _blocker(fields: Fields, domain: Domain, notes: Notes) -> Blocker:
    blocker_id = _clean_id(fields, notes)
    published, resolution = fields.text("description"), fields.text("resolution")
    description = _without_json_syntax(published)
    if description != published:
        notes.add("JSON syntax removed from a description", blocker_id)
    if _ends_in_stray_quote(resolution):
        notes.add("stray quote at the end of a resolution, kept", blocker_id)
    subtype = _single(fields, "subtype", notes)
    kind, place = _type_and_place(fields, subtype, domain, notes)
    return Blocker(
        blocker_id=blocker_id,
        description=description,
        published_description=published if description != published else None,
        resolution=resolution,
        type=kind,
        place=place,
        subtype=subtype,
        trigger_questions=_questions(fields, blocker_id, notes),
    )


def _clean_id(fields: Fields, notes: Notes) -> str:
    published = fields.text("id")
    fenced = FENCED.fullmatch(published.strip())
    blocker_id = (fenced.group(1) if fenced else published).strip()
    if not blocker_id:
        raise UserError(f"{fields.where('id')} is empty; expected text")
    if blocker_id != published:
        notes.add("markdown fence removed from an id" if fenced else "id stripped of white space", blocker_id)
    return blocker_id


def _without_json_syntax(text: str) -> str:
    """Drop what is left of a JSON line around `text`: a leading `"key": "`, a closing quote that nothing opened."""
    body = FRAGMENT_HEAD.sub("", text)
    if _ends_in_stray_quote(body):
        body = FRAGMENT_TAIL.sub("", body)
    return text if body == text else body.strip()


def _ends_in_stray_quote(text: str) -> bool:
    return text.count('"') % 2 == 1 and FRAGMENT_TAIL.search(text) is not None


def _single(fields: Fields, key: str, notes: Notes) -> str | None:
    """The string under `key`, also when it is the only element of a list; None when there is none."""
    value = fields.content.get(key)
    if isinstance(value, list):
        if len(value) > 1:
            raise UserError(f"{fields.where(key)}: expected one string, found a list of {len(value)}")
        notes.add(f"`{key}` given as a list")
        fields = Fields(fields.file, fields.path, {key: value[0] if value else None})
    return fields.text_or(key, "").strip() or None


def _type_and_place(
    fields: Fields, subtype: str | None, domain: Domain, notes: Notes
) -> tuple[BlockerType | None, Place | None]:
    """Type and place of a blocker. Names may be singular or plural, and with spaces or underscores."""
    name = _single(fields, "type", notes)
    kind = TYPE_OF_SUBTYPE.get(subtype or "")
    if subtype and not kind:
        notes.add("unknown subtype", f"`{subtype}`{nearest(subtype, TYPE_OF_SUBTYPE)}")
    default_place = Place.REQUIREMENTS if domain == "swe" else None
    if name is None:
        return kind, default_place
    found = TYPE_NAMES.get(re.sub(r"[\s_]+", " ", name.lower()).removesuffix("s"))
    if found is None:
        notes.add("unknown type", f"`{name}`{nearest(name, TYPE_NAMES)}")
    if isinstance(found, Place):
        return kind, found
    return found or kind, default_place


def _questions(fields: Fields, blocker_id: str, notes: Notes) -> tuple[str, ...]:
    """Trigger questions under the first of their three names, cleaned, each once."""
    key = next((key for key in QUESTION_KEYS if fields.has(key)), QUESTION_KEYS[0])
    questions = []
    for published in fields.texts(key):
        question = LIST_DASH.sub("", published.strip())
        if question != published.strip():
            notes.add("leading dash removed from a question")
        if _ends_in_stray_quote(question):
            question = FRAGMENT_TAIL.sub("", question)
            notes.add("stray quote removed from a question", blocker_id)
        if question in questions:
            notes.add("duplicate question removed", blocker_id)
        elif question:
            questions.append(question)
    if not questions:
        notes.add("no trigger question", blocker_id)
    return tuple(questions)
