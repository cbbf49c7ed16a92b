"""A right server is asked without an alarm, and each fault of caching is found with its cause first."""

import re

import numpy as np
import pytest

from rope_doctor.probes import served
from rope_doctor.probes.endpoint import Endpoint, Place, UnansweredError, over_http, prompt_length
from rope_doctor.probes.places import apart, distances, losses, moved, tail_length, worst
from rope_doctor.probes.served import CENTRAL, CHECKS, MEANINGS, PATTERNS, ask_server

from . import planted, serving
from .serving import ODD, Odd, Server, over_loopback, saying, spots, with_odd

SHORT = {"length": 1100, "context": 800}  # tokens: enough for a level


def asked(server, **options):
    return ask_server(Endpoint(server.post, "mine", seconds=300), **{**SHORT, "seed": 3, **options})


def outcomes(report, outcome):
    return {check.name for check in report.checks if check.outcome == outcome}


@pytest.fixture(scope="module")
def right():
    return asked(Server())


def test_a_right_server_holds_in_every_way(right):
    assert right.verdict.status == 0
    assert outcomes(right, "same") == set(CHECKS) - {"level", "claim"}
    assert not right.causes
    assert right.requests > 40
    assert str(right).startswith(
        "The server's log probabilities are the same in every way that was asked.\n10 of 12"
    )


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.nightly
def test_other_texts_raise_no_alarm_either(seed):
    assert asked(Server(), seed=seed).verdict.status == 0


@pytest.mark.parametrize(
    ("fault", "cause", "check"),
    [
        ("PrefixOffByOne", "prefix cache counted wrongly", "prefix cache"),
        ("LooksAtTwenty", "prefix cache counted wrongly", "prefix cache"),
        ("KeepsLongFrequencies", "a long request is remembered", "after a long request"),
        ("PaddedBatch", "batch padded without positions", "batch"),
        ("TurnsRestart", "turns restart", "turns"),
        ("DecodesAtZero", "steps counted wrongly", "own answer"),
        ("Reloads", "another model since", "first again"),
        ("EchoesTheNext", "alignment", "alignment"),
        ("RollsNumbers", "alignment", "alignment"),
        ("Random", "random", "same request twice"),
        ("WrongScale", "positions of another model", "falls"),
        ("LosesTheThread", "shorter reach", "context"),
    ],
)
def test_a_fault_is_found_and_its_cause_comes_first(fault, cause, check):
    report = asked(getattr(serving, fault)())
    assert report.verdict.status == 1
    assert report.causes[0].name == cause
    assert report.of(check).outcome == "differs"
    assert report.of(check).words.rstrip(".") in str(report)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fault", "room"),
    [
        *((fault, 1) for fault in planted.FAULTS),
        *((fault, 100) for fault in planted.FAULTS if fault is not planted.LastWordTwice),  # moves too little
    ],
)
def test_a_fault_of_a_cache_in_front_of_a_right_server_is_found(fault, room):
    """Also one of every hit, in a cache that keeps every text, so that only the first request is cold."""
    cause, check = planted.FAULTS[fault]
    report = asked(fault(Server().post, room))
    assert report.causes[0].name == cause, str(report)
    assert report.of(check).outcome == "differs"
    assert report.of("same request twice").outcome == "same"
    assert asked(planted.Proxy(Server().post, room)).verdict.status == 0


def test_a_second_text_is_asked_for_a_fault_that_hardly_moves_the_first():
    class SparesTheFirst(planted.LastWordTwice):
        """The hits before the check, and those of its first text, are right."""

        def __init__(self, post):
            super().__init__(post)
            self.beginnings = []

        def kept(self, words):
            if words[:8] not in self.beginnings:
                self.beginnings.append(words[:8])
            return words if self.beginnings.index(words[:8]) < 3 else super().kept(words)

    proxy = SparesTheFirst(Server().post)
    report = asked(proxy, only=["prefix cache"])
    assert report.of("prefix cache").outcome == "differs"
    assert len(proxy.beginnings) > 4


def test_a_fault_of_every_hit_does_not_widen_the_bound():
    class Drifts(Server):
        """Each hit is counted from further on than the last, so no two warm answers agree."""

        hits = 0

        def places(self, hit, count, turns):
            self.hits += hit > 0
            return range(hit + self.hits, count + self.hits)

    report = asked(Drifts())
    assert report.causes[0].name == "prefix cache counted wrongly"
    assert report.of("prefix cache").bound == served.LEAST_BOUND
    assert "a fault of the cache does not widen the bound: 0 of the probability" in report.tolerance


def test_numbers_of_the_next_place_are_used_where_they_belong():
    report = asked(serving.EchoesTheNext())
    assert outcomes(report, "differs") == {"alignment"}
    assert outcomes(report, "not judged") == {"level", "claim"}
    accepted = asked(serving.EchoesTheNext(), skip=["alignment"])
    assert accepted.verdict.status == 0
    both = type("Both", (serving.EchoesTheNext, serving.DecodesAtZero), {})
    assert outcomes(asked(both()), "differs") == {"alignment", "own answer"}


def test_a_server_without_lists_echo_or_chat_is_asked_as_far_as_it_goes():
    bare = type("Bare", (Server,), {"lists": False, "echo": False, "chats": False})
    report = asked(bare())
    assert report.verdict.status == 2
    missing = outcomes(report, "not judged")
    assert missing == {"alignment", "own answer", "turns", "level", "falls", "context", "claim"}
    assert "requests sent at once" in report.of("batch").words
    assert "no log probabilities of the prompt" in report.of("own answer").words

    class ReadsHitsOtherwise(Server):
        echo = False

        def prefilled(self, ids, turns):
            self.model.scale = 2.5 if ids[:20] == self.kept.ids[:20] else 1.0
            return super().prefilled(ids, turns)

    assert asked(ReadsHitsOtherwise()).of("prefix cache").outcome == "differs"


def test_prompt_logprobs_of_vllm_take_the_place_of_an_echo():
    class Vllm(Server):
        def complete(self, body):
            if "echo" in body:
                raise UnansweredError("/completions answered 400: no echo")
            answer = super().complete(body)
            if "prompt_logprobs" in body:
                echoed = super().complete({**body, "echo": True})
                for choice, other in zip(answer["choices"], echoed["choices"], strict=True):
                    rows = zip(*other["logprobs"].values(), strict=True)
                    listed = [self.by_id(*row) for row in rows][: -body["max_tokens"]]
                    choice["prompt_logprobs"] = [None, *listed[1:]]
            return answer

        def by_id(self, token, number, top):
            every = {token: number, **(top or {})}
            return {self.words[word]: {"decoded_token": word, "logprob": n} for word, n in every.items()}

    assert asked(Vllm()).verdict.status == 0


def test_a_hit_that_the_server_denies_is_not_judged():
    class Cold(Server):
        def complete(self, body):
            return super().complete(body) | {"usage": {"prompt_tokens_details": {"cached_tokens": 0}}}

    report = asked(Cold())
    assert report.of("prefix cache").words == "the server reports that no token came from a cache"
    assert report.verdict.status == 2


def test_a_difference_that_does_not_come_back_is_not_a_verdict():
    class Once(Server):
        def before_request(self):
            self.model.scale = 2.5 if self.asked == 17 else 1.0

    report = asked(Once())
    assert "differed once and then held twice" in report.of("prefix cache").words
    assert report.verdict.status == 2


def test_losses_are_held_to_those_of_a_run_that_is_right():
    server, text = Server(), serving.Prose(9).text(30)
    places = Endpoint(server.post, "mine", seconds=60).read(text).prompt
    wanted = losses(places)[1:]
    given = {"text": text, "only": ["level"], "length": 100}
    assert asked(Server(), expected=wanted, **given).of("level").outcome == "same"
    report = asked(serving.WrongScale(), expected=wanted, **given)
    assert report.causes[0].name == "another level"
    rough = wanted + 0.3 * (-1) ** np.arange(len(wanted))  # the mean holds, the tokens do not
    level = asked(Server(), expected=rough, **given).of("level")
    assert (level.outcome, level.off < level.bound) == ("differs", True)
    drifted = wanted + 0.09 + 0.01 * (-1) ** np.arange(len(wanted))  # the tokens hold, the mean does not
    level = asked(Server(), expected=drifted, **given).of("level")
    assert (level.outcome, level.off > level.bound) == ("differs", True)
    assert (
        f"the file has {len(wanted) - 1}" in asked(Server(), expected=wanted[1:], **given).of("level").words
    )


def test_the_server_must_not_claim_more_than_the_config():
    server = Server()
    server.context = 900
    for stated in (1000, 900):
        assert asked(server, only=["claim"], context=stated).of("claim").outcome == "same"
    report = asked(server, only=["claim"], context=800)
    assert (report.verdict.status, report.causes[0].name) == (1, "claim")


@pytest.mark.parametrize(("claimed", "stated"), [(500, 1000), (1000, 500), (500, None)])
def test_a_long_text_fits_the_smaller_of_both_contexts(claimed, stated):
    lengths = []

    class Counted(Server):
        context = claimed

        def complete(self, body):
            prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
            lengths.extend(len(self.ids(prompt)) for prompt in prompts)
            return super().complete(body)

    asked(Counted(), only=["falls"], context=stated)
    assert 400 < max(lengths) <= 500


def test_time_that_is_used_up_is_said(monkeypatch):
    endpoint = Endpoint(Server().post, "mine", seconds=300)

    def expired(interview):
        endpoint.seconds = 0
        return interview.ask("x")

    monkeypatch.setitem(CHECKS, "prefix cache", expired)
    report = ask_server(endpoint, seed=1, **SHORT)
    assert report.of("prefix cache").words == "the limit of 0 seconds is used up"
    assert report.verdict.status == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({}, "1 choices"),
        ([], "did not answer with an object"),
        ({"choices": [{"text": "a"}]}, "gives no log probabilities of new tokens"),
        ({"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": ["b"]}}]}, "cannot be read"),
        ({"choices": [{"logprobs": [1]}]}, "cannot be read"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_sentence(answer, says):
    with pytest.raises(ValueError, match=says):
        ask_server(Endpoint(lambda *_: answer, "mine", seconds=9))


CALLS = {
    "/completions": lambda endpoint: endpoint.read("A boat", 2),
    "/chat/completions": lambda endpoint: endpoint.chat([{"role": "user", "content": "A boat"}], 2),
    "/models": lambda endpoint: endpoint.context(),
}
USAGE = {"usage": {"prompt_tokens_details": {"cached_tokens": 3}}}


def read_or_said(call, answer):
    """Return what a call makes of an answer, and the sentence if it cannot be read."""
    try:
        return call(Endpoint(lambda *_: answer, "mine", seconds=9)), ""
    except UnansweredError as error:
        return None, str(error)


@pytest.mark.parametrize("path", CALLS)
def test_no_odd_part_of_an_answer_is_a_traceback(path):
    server, asked = Server(), []
    CALLS[path](Endpoint(lambda *each: asked.append(server.post(*each)) or asked[0], "mine", seconds=9))
    answer = asked[0] | USAGE
    said = [read_or_said(CALLS[path], with_odd(answer, place, odd)) for place in spots(answer) for odd in ODD]
    assert len(said) > 120
    assert all(words or found is None or path != "/models" or found > 0 for found, words in said)
    assert path == "/models" or sum(bool(words) for _, words in said) > 100


def test_a_log_probability_that_is_no_number_is_not_compared():
    answer = {"choices": [{"logprobs": {"tokens": ["a", "b"], "token_logprobs": [-1.0, float("nan")]}}]}
    assert "is NaN" in read_or_said(lambda endpoint: endpoint.write("x", 2), answer)[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_answers_oddly_now_and_then_gets_words(seed):
    def words():
        try:
            return str(asked(Odd(seed), length=260, context=200, seed=seed))
        except ValueError as error:
            return str(error)

    assert re.match("the server cannot be asked: |The server|Could not tell", words())


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"SSH-2.0-OpenSSH\r\n"],
        [OK + b"Content-Length: 99\r\n\r\n{"],
        [OK + b"\r\n" + b"[" * 100_000],
        [OK + b"\r\n\xff\xfe"],
        [OK + b"Transfer-Encoding: chunked\r\n\r\nZ\r\n"],
        [b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nZ\r\n"],
        [OK + b"X: y\r\n" * 200],
    ],
    ids=["nothing", "no HTTP", "cut", "deep", "no text", "no chunk", "error cut", "headers"],
)
def test_an_address_where_something_else_answers_gets_a_sentence(parts):
    with saying(parts) as url, pytest.raises(UnansweredError, match=r"/completions did not answer: \w+"):
        over_http(url)("/completions", {}, 9)


def test_an_answer_that_trickles_ends_with_the_time_limit():
    with (
        saying([OK + b"\r\n", *[b" "] * 40], pause=0.1) as url,
        pytest.raises(UnansweredError, match="did not end within the time limit"),
    ):
        over_http(url)("/completions", {}, 0.5)


@pytest.mark.parametrize("url", ["http://", "http://localhost:port", "http://a b", "http://[::1"])
def test_an_address_that_is_none_gets_a_sentence(url):
    with pytest.raises((UnansweredError, ValueError), match=r"\w"):
        over_http(url)("/completions", {}, 9)


def test_a_key_that_no_header_can_carry_is_refused_and_not_shown():
    with pytest.raises(ValueError, match="printable ASCII") as error:
        over_http("http://localhost", "secret\n")
    assert "secret" not in str(error.value)


def test_a_key_goes_to_its_server_alone_and_into_no_message():
    with over_loopback(Server(), key="secret") as url:
        assert Endpoint(over_http(url, "secret"), "mine", seconds=60).write("A boat", 1).new
        with pytest.raises(UnansweredError) as error:
            over_http(f"{url}/v1/", "another")("/completions", {}, 9)  # the server repeats it
    assert "answered 400" in str(error.value)
    assert "wrong key Bearer …" in str(error.value)
    assert "another" not in str(error.value)
    with pytest.raises(UnansweredError, match="did not answer"):
        over_http(url, "secret")("/models", None, 9)  # nobody serves there any more
    with pytest.raises(ValueError, match="must begin with http"):
        over_http("ftp://localhost")


def test_patterns_and_meanings_name_checks():
    named = {name for pattern in PATTERNS for key in ("differ", "hold") for name in pattern.get(key, ())}
    assert named <= set(CHECKS)
    assert set(MEANINGS) == set(CHECKS)
    assert set(CENTRAL) < set(CHECKS)


def test_distances_are_probabilities_that_move():
    sure, unsure = Place("a", None, {"a": 0.0, "b": -30.0}), Place("a", None, {"b": 0.0, "a": -30.0})
    assert apart(sure, unsure) == pytest.approx(1.0)
    assert np.isnan(apart(sure, Place("a")))
    assert (
        len(distances([sure, Place("b")], [sure, Place("c")])) == 2
    )  # the place of the token that differs counts
    assert worst(np.array([np.nan, 0, 0, 0, 0, 1, 1]), 0.4) == (0.5, 3)
    assert worst(np.array([np.nan]), 0.4)[1] is None


def test_a_token_is_as_far_as_can_be_from_a_place_that_is_not_listed():
    sure, unsure = Place("a", None, {"a": 0.0, "b": -30.0}), Place("a", None, {"b": 0.0, "a": -30.0})
    listed = unsure, sure, Place("a")
    assert [served._off_at(sure, listed, 1, late) for late in (-1, 0, 1, 2)] == pytest.approx([1, 0, 1, 1])


def test_places_are_moved_and_counted():
    places = [Place("A", None, {"A": -1.0}), Place(" b", -5.0, {"c": -2.0}), Place("c")]
    assert [place.logprob for place in moved(places, -1)] == [None, None, -2.0]
    assert losses(places).tolist()[1] == 5.0
    assert losses(moved(places, -1)).tolist()[1:] == [1.0, 2.0]
    assert np.isnan(losses([Place("c")])[0])
    assert tail_length(places, "bc") == 2
    assert tail_length(places, "xc") == 0
    assert prompt_length(places, "nowhere") == 0


def test_the_bound_grows_with_the_noise(right):
    interview = served.Interview(Endpoint(Server().post, "mine", seconds=9), serving.Prose(0), 100, None)
    assert interview.bound == served.LEAST_BOUND
    interview.rounding = 0.02
    assert interview.bound == pytest.approx(0.08)
    assert "more than 0.08 of the probability" in interview.tolerance
