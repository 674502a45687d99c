"""How far an evaluation is, is said while it runs."""

from shopwright.pipeline.evaluate.progress import collect_answered


def test_how_far_it_is_is_said_also_while_nothing_comes():
    said = []

    def slow():
        yield "a"
        while len(said) < 2:
            pass
        yield "b"

    assert collect_answered(slow(), 2, said.append, "questions", every=0.01).rows == ["a", "b"]
    assert "questions: 1 of 2" in said[0]
    assert "s left" in said[0]
    assert said[-1].startswith("questions: 2 of 2, ")
