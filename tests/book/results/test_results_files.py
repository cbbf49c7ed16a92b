"""Every committed results file satisfies its schema and agrees with itself; a corrupted copy does not."""

import json
from collections import Counter
from functools import partial
from importlib.resources import files
from itertools import pairwise
from math import log, nan

import pytest
from jsonschema import Draft202012Validator

from makers.claims import ROW_KEYS
from rope_book.results import base_bound, claims, grid, page_heads, page_models, real, rotation, stretch

PATHS = {path.name: path for path in files("rope_book.results").iterdir() if path.name.endswith(".json")}


def record(**fields):
    """Schema of an object with exactly these fields."""
    return {
        "type": "object", "properties": fields, "required": list(fields), "additionalProperties": False,
    }  # fmt: skip


def array(items):
    """Schema of a non-empty array of equal items."""
    return {"type": "array", "items": items, "minItems": 1}


def mapping(values):
    """Schema of a non-empty object with arbitrary keys."""
    return {"type": "object", "additionalProperties": values, "minProperties": 1}


def rows(**fields):
    """Schema of an array of records."""
    return array(record(**fields))


def table(*columns):
    """Schema of an array of arrays with these columns."""
    return array({"type": "array", "prefixItems": columns, "items": False, "minItems": len(columns)})


OBJECT, WORD, NUMBER = {"type": "object"}, {"type": "string", "minLength": 1}, {"type": "number"}
COUNT, LENGTH = {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}
AMOUNT, POSITIVE = NUMBER | {"minimum": 0}, NUMBER | {"exclusiveMinimum": 0}
SHARE, COSINE = AMOUNT | {"maximum": 1}, NUMBER | {"minimum": -1, "maximum": 1}
DATE, BASE64 = WORD | {"pattern": r"^\d{4}-\d\d-\d\d$"}, WORD | {"pattern": "^[A-Za-z0-9+/]+=*$"}
HOST = {
    "machine": record(cpu=WORD, cores=LENGTH, gpu={"type": ["string", "null"]}),
    "jobs": LENGTH,
    "threads_per_job": LENGTH,
    "versions": record(python=WORD, torch=WORD, numpy=WORD, rope_edu=WORD),
}
WHEN = {"date": DATE, "seconds": AMOUNT}
RUN = {"task": WORD, "encoding": WORD, "seed": COUNT, "learning_rate": POSITIVE, "own_rate": POSITIVE}
SCORES = rows(task=WORD, seed=COUNT, seconds=AMOUNT, scores=table(WORD, WORD, LENGTH, LENGTH, AMOUNT, SHARE))
CASE = {"name": WORD, "length": LENGTH, "dtype": WORD}
TIMED = {"milliseconds": POSITIVE, "ratio": POSITIVE}
SETTING = {"task": WORD, "base": POSITIVE, "length": LENGTH}
PACKED = record(shape=array(LENGTH), scales=BASE64, codes=BASE64)
TABLE = record(
    cosine=mapping(COSINE), length=mapping(AMOUNT), median_length=POSITIVE, rank=mapping(LENGTH),
    pairs=mapping(AMOUNT), nearest=SHARE,
)  # fmt: skip
COSTS = rows(text=WORD, name=WORD, prompt=AMOUNT, decoded=AMOUNT, same={"type": "boolean"},
             shows=LENGTH | {"type": ["integer", "null"]})  # fmt: skip
SCHEMAS = {
    "grid.json": record(
        format={"const": grid.FORMAT},
        meta=record(size=WORD, tasks=mapping(OBJECT), encodings=array(WORD), encoding_options=OBJECT,
                    config=OBJECT, tuning=OBJECT, **HOST, **WHEN),
        tuning=rows(**RUN, loss=AMOUNT),
        runs=rows(**RUN, parameters=LENGTH, seconds=AMOUNT,
                  curve=table(COUNT, AMOUNT, SHARE, AMOUNT), tests=table(LENGTH, AMOUNT, SHARE)),
    ),
    "stretch.json": record(
        format={"const": stretch.FORMAT},
        meta=record(size=WORD, tasks=mapping(OBJECT), multiples=array(LENGTH), tuned_on=array(LENGTH),
                    rows=LENGTH, rules=array(WORD), variants=array(WORD), readings=array(WORD),
                    few_keys=array(WORD), retuned=record(rules=array(WORD), rates=array(POSITIVE)),
                    config=OBJECT, tuning=OBJECT, **HOST, **WHEN),
        tuning=rows(learning_rate=POSITIVE, slow=POSITIVE, fast=POSITIVE, lists=array(array(POSITIVE)),
                    tuned_rates=mapping(POSITIVE), task=WORD, seconds=AMOUNT),
        rates=rows(task=WORD, rates=mapping(mapping(POSITIVE)), seconds=AMOUNT),
        runs=SCORES, readings=SCORES, retuned=SCORES,
    ),
    "claims.json": record(
        format={"const": claims.FORMAT},
        meta=record(heads=LENGTH, head_dim=LENGTH, repeats=LENGTH, machine=record(**HOST), **WHEN),
        times=rows(length=LENGTH, way=WORD, **TIMED),
        rows=rows(task=WORD, seed=COUNT, offset=LENGTH, start=COSINE, trained=COSINE, added=COSINE),
        swaps=rows(task=WORD, trained=WORD, seed=COUNT, home=SHARE, switched=SHARE, tuned=SHARE),
        linear=rows(task=WORD, encoding=WORD, seed=COUNT, learning_rate=POSITIVE, area=SHARE, last=SHARE),
    ),
    "rotation.json": record(
        format={"const": rotation.FORMAT},
        machine=record(cpu=WORD, threads=LENGTH, clock=WORD, date=DATE, versions=mapping(WORD)),
        head_dim=LENGTH,
        left_out={"type": "array", "items": WORD},
        decode=rows(name=WORD, dtype=WORD, microseconds=POSITIVE, ratio=POSITIVE),
        door=rows(**CASE, against=WORD, ratio=POSITIVE, microseconds=POSITIVE),
        speed=rows(**CASE, heads=LENGTH, allocator=WORD, **TIMED),
        backward=rows(**CASE, heads=LENGTH, **TIMED, peak_memory=AMOUNT),
        memory=rows(**CASE, peak_memory=AMOUNT),
        numpy=rows(**CASE, heads=LENGTH, **TIMED),
        building=rows(name=WORD, length=LENGTH, **TIMED),
        precision=rows(name=WORD, dtype=WORD, position=COUNT, error=AMOUNT | {"type": ["number", "null"]}),
    ),
    "base_bound.json": record(
        format={"const": base_bound.FORMAT},
        bases=array(POSITIVE),
        first_negative=mapping(array(LENGTH)),
        smallest=mapping(POSITIVE),
    ),
    "page_models.json": record(
        format={"const": page_models.FORMAT},
        models=mapping(record(
            task=WORD, length=LENGTH, n_heads=LENGTH, head_dim=LENGTH, base=POSITIVE, alphabet=WORD, config=OBJECT,
            reached=record(accuracy=SHARE, loss=AMOUNT), texts=array(WORD), answers=array(WORD),
            weights=mapping(PACKED),
            versions=record(python=WORD, torch=WORD, numpy=WORD),
        )),
    ),
    "page_heads.json": record(
        format={"const": page_heads.FORMAT}, meta=record(texts=mapping(WORD), **HOST),
        best=mapping(table(COUNT, COUNT, SHARE, SHARE, SHARE)), sentences=array(array(WORD)),
        heads=rows(job=WORD, layer=COUNT, head=COUNT, q=PACKED, k=PACKED),
    ),
    "causes.json": record(
        format={"const": real.FORMATS["causes"]},
        meta=record(settings=table(POSITIVE, LENGTH, COUNT), pairs=LENGTH, multiples=array(LENGTH), rows=LENGTH,
                    rates_tried=array(POSITIVE), **HOST, **WHEN),
        rates=rows(**SETTING, losses=mapping(AMOUNT), rate=POSITIVE),
        runs=rows(**SETTING, seed=COUNT, losses=mapping(array(AMOUNT)), right=mapping(array(SHARE))),
        far=rows(**SETTING, seed=COUNT, losses=mapping(array(AMOUNT)), right=mapping(array(SHARE))),
    ),
    "real_finetune.json": record(
        format={"const": real.FORMATS["real_finetune"]},
        meta=record(rate=POSITIVE, betas=array(SHARE), warm_up=LENGTH, window=LENGTH, reach=LENGTH, seed=COUNT,
                    texts=WORD, **HOST, **WHEN),
        training=rows(name=WORD, step=COUNT, loss=AMOUNT),
        passes=rows(text=WORD, tokens=LENGTH, name=WORD, steps=COUNT,
                    bins=array(AMOUNT | {"type": ["number", "null"]}),
                    beyond=AMOUNT | {"type": ["number", "null"]}),
    ),
    "real_heads.json": record(
        format={"const": real.FORMATS["real_heads"]},
        meta=record(tokens=LENGTH, texts=mapping(WORD), pairs=mapping(array(COUNT)), does=mapping(WORD),
                    **HOST, **WHEN),
        heads=rows(layer=COUNT, head=COUNT, jobs=mapping(array(SHARE)), share=array(NUMBER), q=array(AMOUNT),
                   k=array(AMOUNT), mean=array(NUMBER), turned=array(NUMBER)),
        named=rows(name=WORD, job=WORD, layer=COUNT, head=COUNT, held=mapping(array(SHARE)),
                   removed=mapping(array(SHARE)), each=array(SHARE)),
    ),
    "real_length.json": record(
        format={"const": real.FORMATS["real_length"]},
        meta=record(trained=LENGTH, bins=LENGTH, half=LENGTH, first=LENGTH, texts=mapping(WORD), **HOST, **WHEN),
        passes=rows(text=WORD, tokens=LENGTH, name=WORD, bins=array(AMOUNT | {"type": ["number", "null"]}),
                    beyond=AMOUNT),
    ),
    "real_mistakes.json": record(
        format={"const": real.FORMATS["real_mistakes"]},
        meta=OBJECT,
        losses=COSTS,
        far=COSTS,
        words=rows(prompt=WORD, name=WORD, text=WORD),
    ),
    "real_needles.json": record(
        format={"const": real.FORMATS["real_needles"]},
        meta=record(needles=array(WORD), seed=COUNT, texts=WORD, **HOST, **WHEN),
        passes=rows(text=WORD, tokens=LENGTH, name=WORD, losses=array(AMOUNT), found=array(COUNT)),
    ),
    "real_order.json": record(
        format={"const": real.FORMATS["real_order"]},
        meta=record(tokens=LENGTH, orders=LENGTH, **HOST, **WHEN),
        changes=rows(text=WORD, rotation={"type": "boolean"}, mask={"type": "boolean"}, layers=LENGTH,
                     change=AMOUNT, same=SHARE),
    ),
    "real_packed.json": record(
        format={"const": real.FORMATS["real_packed"]},
        meta=record(tokens=LENGTH, **HOST, **WHEN),
        losses=rows(text=WORD, way=WORD, loss=AMOUNT),
    ),
    "real_table.json": record(
        format={"const": real.FORMATS["real_table"]}, meta=OBJECT, trained=TABLE, random=TABLE,
    ),
}  # fmt: skip


def reject(constant):
    raise AssertionError(f"{constant} is not a number")


def check(name, text):
    """Assert that a text satisfies the schema of a results file and agrees with itself."""
    content = json.loads(text, parse_constant=reject)
    error = next(Draft202012Validator(SCHEMAS[name]).iter_errors(content), None)
    assert error is None, f"{name}, {error.json_path}: {error.message}"
    AGREEMENTS.get(name, lambda content: None)(content)


def assert_distinct(rows, key):
    keys = [tuple(row[field] for field in key) for row in rows]
    assert len(set(keys)) == len(keys), f"{key} occurs twice"


def assert_grid_agrees(content):
    assert_distinct(content["runs"], ("task", "encoding", "seed"))
    assert_distinct(content["tuning"], grid.RUN_KEY)
    for run in content["runs"] + content["tuning"]:
        assert run["task"] in content["meta"]["tasks"]
        assert run["encoding"] in content["meta"]["encodings"]
    for run in content["runs"]:
        assert all(a < b for (a, *_), (b, *_) in pairwise(run["curve"])), "steps must increase"


def assert_stretch_agrees(content):
    meta, places = content["meta"], {}
    rules = {"dynamic-cached", *meta["rules"], *meta["variants"], *meta["readings"]}
    for name in stretch.SCORE_TABLES:
        assert_distinct(content[name], stretch.RUN_KEY)
        for run in content[name]:
            assert run["task"] in meta["tasks"]
            places.setdefault((run["task"], run["seed"]), []).extend(row[:4] for row in run["scores"])
    for of_run in places.values():
        assert len(set(map(tuple, of_run))) == len(of_run), "a place is scored twice"
        assert all(rule in rules and multiple in meta["multiples"] for _, rule, _, multiple in of_run)


def assert_claims_agree(content):
    for name, key in ROW_KEYS.items():
        assert_distinct(content[name], key)


def assert_base_bound_agrees(content):
    assert all(a < b for a, b in pairwise(content["bases"]))
    assert {len(row) for row in content["first_negative"].values()} == {len(content["bases"])}


def assert_causes_agree(content):
    settings = {(base, length) for base, length, _ in content["meta"]["settings"]}
    assert_distinct(content["runs"], ("task", "base", "length", "seed"))
    assert {(run["base"], run["length"]) for run in content["runs"]} <= settings
    for run in content["runs"]:
        assert {len(losses) for losses in run["losses"].values()} == {len(content["meta"]["multiples"])}


def assert_heads_agree(content):
    assert_distinct(content["heads"], ("layer", "head"))
    assert_distinct(content["named"], ("name",))
    for head in content["heads"]:
        assert abs(sum(head["share"]) - 1) < 0.02, "shares must sum to 1"


def assert_length_agrees(content):
    assert_distinct(content["passes"], ("text", "tokens", "name"))
    assert {len(row["bins"]) for row in content["passes"]} == {content["meta"]["bins"]}


def assert_finetune_agrees(content):
    assert_distinct(content["passes"], ("text", "tokens", "name", "steps"))
    assert_distinct(content["training"], ("name", "step"))
    counts = Counter(row["name"] for row in content["training"])
    assert len(set(counts.values())) == 1, f"every rule must have as many steps, got {counts}"
    assert {row["steps"] for row in content["passes"]} == {0, *counts.values()}


def assert_needles_agree(content):
    assert_distinct(content["passes"], ("text", "tokens", "name"))
    needles = len(content["meta"]["needles"])
    for row in content["passes"]:
        assert len(row["losses"]) == len(row["found"]) == needles, "every needle must have its numbers"
        assert all(
            count < 5 or loss < log(2) for count, loss in zip(row["found"], row["losses"], strict=True)
        )


def assert_packed_agrees(content):
    assert_distinct(content["losses"], ("text", "way"))
    ways = Counter(row["way"] for row in content["losses"])
    assert len(set(ways.values())) == 1, f"every way must have as many texts, got {ways}"


def assert_order_agrees(content):
    assert_distinct(content["changes"], ("text", "rotation", "mask", "layers"))
    ways = Counter((row["rotation"], row["mask"], row["layers"]) for row in content["changes"])
    assert len(set(ways.values())) == 1, f"every way must have as many texts, got {ways}"


def assert_mistakes_agree(content):
    for table in ("losses", "far"):
        assert_distinct(content[table], ("text", "name"))
    near = {(row["text"], row["name"]) for row in content["losses"]}
    far = {(row["text"], row["name"]) for row in content["far"]}
    assert near >= far, "a mistake that is far only"
    assert {row for row in near - far if row[0] == "narrative"} == set(), "a mistake that is near only"
    assert_distinct(content["words"], ("prompt", "name"))


AGREEMENTS = {
    "causes.json": assert_causes_agree,
    "real_finetune.json": assert_finetune_agrees,
    "real_heads.json": assert_heads_agree,
    "real_length.json": assert_length_agrees,
    "real_mistakes.json": assert_mistakes_agree,
    "real_needles.json": assert_needles_agree,
    "real_order.json": assert_order_agrees,
    "real_packed.json": assert_packed_agrees,
    "grid.json": assert_grid_agrees,
    "stretch.json": assert_stretch_agrees,
    "claims.json": assert_claims_agree,
    "base_bound.json": assert_base_bound_agrees,
}


def test_every_file_has_a_schema():
    assert PATHS.keys() == SCHEMAS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_committed_file_satisfies_its_schema_and_agrees_with_itself(name):
    check(name, PATHS[name].read_text(encoding="utf-8"))


# name: what is broken -> (change to a parsed copy, reason given)
CORRUPTIONS = {
    ("grid.json", "a foreign format"): (lambda c: c.update(format="grid 1"), "was expected"),
    ("grid.json", "meta is a list"): (lambda c: c.update(meta=[]), r"meta: \[\] is not of type 'object'"),
    ("grid.json", "no runs"): (lambda c: c.pop("runs"), "'runs' is a required property"),
    ("grid.json", "runs are an object"): (lambda c: c.update(runs={}), "runs: {} is not of type 'array'"),
    ("grid.json", "tuning is null"): (lambda c: c.update(tuning=None), "None is not of type 'array'"),
    ("grid.json", "a run without a seed"): (lambda c: c["runs"][0].pop("seed"), "'seed' is a required"),
    ("grid.json", "tuning without a loss"): (lambda c: c["tuning"][0].pop("loss"), "'loss' is a required"),
    ("grid.json", "a run twice"): (lambda c: c["runs"].append(c["runs"][0]), "occurs twice"),
    ("grid.json", "a short row"): (lambda c: c["runs"][0]["curve"][0].pop(), "is too short"),
    ("grid.json", "a long row"): (lambda c: c["runs"][0]["tests"][0].append(1), "xpected at most 3 items"),
    ("grid.json", "an empty curve"): (lambda c: c["runs"][0]["curve"].clear(), "non-empty"),
    ("grid.json", "a loss of NaN"): (lambda c: c["runs"][0]["tests"][0].__setitem__(1, nan), "NaN is not"),
    ("grid.json", "accuracy above 1"): (lambda c: c["runs"][0]["curve"][0].__setitem__(2, 1.2), "maximum of 1"),
    ("grid.json", "accuracy below 0"): (lambda c: c["runs"][0]["tests"][0].__setitem__(2, -0.1), "minimum of 0"),
    ("grid.json", "a step twice"): (
        lambda c: c["runs"][0]["curve"].append(c["runs"][0]["curve"][-1]), "steps must increase",
    ),
    ("stretch.json", "a run twice"): (lambda c: c["runs"].append(c["runs"][0]), "occurs twice"),
    ("stretch.json", "a place twice in a run"): (
        lambda c: c["runs"][0]["scores"].append(c["runs"][0]["scores"][0]), "a place is scored twice",
    ),
    ("stretch.json", "a place in two tables"): (
        lambda c: c["readings"][0]["scores"].append(c["runs"][0]["scores"][0]), "a place is scored twice",
    ),
    ("stretch.json", "a negative loss"): (
        lambda c: c["runs"][0]["scores"][0].__setitem__(4, -1.0), "minimum of 0",
    ),
    ("stretch.json", "accuracy above 1"): (
        lambda c: c["retuned"][0]["scores"][0].__setitem__(5, 1.5), "maximum of 1",
    ),
    ("claims.json", "a table missing"): (lambda c: c.pop("swaps"), "'swaps' is a required property"),
    ("rotation.json", "a section missing"): (lambda c: c.pop("numpy"), "'numpy' is a required property"),
    ("rotation.json", "no machine"): (lambda c: c.pop("machine"), "'machine' is a required property"),
    ("rotation.json", "no head_dim"): (lambda c: c.pop("head_dim"), "'head_dim' is a required property"),
    ("causes.json", "a run twice"): (lambda c: c["runs"].append(c["runs"][0]), "occurs twice"),
    ("real_heads.json", "a share too many"): (lambda c: c["heads"][0]["share"].append(1), "must sum to 1"),
    ("real_length.json", "a pass twice"): (lambda c: c["passes"].append(c["passes"][0]), "occurs twice"),
    ("real_finetune.json", "a step less for a rule"): (lambda c: c["training"].pop(), "as many steps"),
    ("real_finetune.json", "a pass twice"): (lambda c: c["passes"].append(c["passes"][0]), "occurs twice"),
    ("page_heads.json", "a head without keys"): (lambda c: c["heads"][0].pop("k"), "'k' is a required property"),
    ("real_mistakes.json", "a mistake twice"): (lambda c: c["losses"].append(c["losses"][0]), "occurs twice"),
    ("real_mistakes.json", "a far one twice"): (lambda c: c["far"].append(c["far"][0]), "occurs twice"),
    ("real_mistakes.json", "a mistake that is far only"): (
        lambda c: c["far"][0].update(name="typo"), "far only"
    ),
    ("real_mistakes.json", "a mistake that is near only"): (
        lambda c: c["far"].remove(next(row for row in c["far"] if row["text"] == "narrative")), "near only"
    ),
    ("real_needles.json", "a needle less"): (lambda c: c["passes"][0]["found"].pop(), "every needle"),
    ("real_order.json", "a text less for a way"): (lambda c: c["changes"].pop(), "as many texts"),
    ("real_packed.json", "a text less for a way"): (lambda c: c["losses"].pop(), "as many texts"),
    ("real_table.json", "a cosine of 2"): (lambda c: c["trained"]["cosine"].update({"1": 2}), "maximum of 1"),
    ("rotation.json", "no left_out"): (lambda c: c.pop("left_out"), "'left_out' is a required property"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "damage"), CORRUPTIONS)
def test_a_corrupted_copy_is_rejected(name, damage):
    corrupt, reason = CORRUPTIONS[name, damage]
    content = json.loads(PATHS[name].read_text(encoding="utf-8"))
    corrupt(content)
    with pytest.raises(AssertionError, match=reason):
        check(name, json.dumps(content))


LOADERS = {
    "grid.json": grid.load_grid,
    "stretch.json": stretch.load_stretch,
    "claims.json": claims.load_claims,
    "rotation.json": rotation.load_rotation,
    "base_bound.json": base_bound.load_base_bound,
    "page_heads.json": page_heads.load_page_heads,
    "page_models.json": page_models.load_page_models,
    **{f"{name}.json": partial(real.load_real, name) for name in real.FORMATS},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_loader_refuses_another_file_with_a_sentence(tmp_path, name):
    path = tmp_path / name
    for text, got in (("{", "no JSON: .*"), ("[]", "list"), ("{}", "None"), ('{"format": "tea"}', "'tea'")):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{name} must have the format 'rope_book .*', got {got}$"):
            LOADERS[name](path)
