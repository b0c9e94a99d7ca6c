"""What agents are told, asked for until a change has come through."""

from urllib.parse import quote

from waiting import until


def ask(client, what, agent, **more):
    return client.get(f"/api/v1/agents/{what}?agent_name={quote(agent, safe='')}", **more)


def told(client, what, agent):
    answer = ask(client, what, agent)
    assert answer.status == 200, answer.body
    assert answer.headers["ETag"]
    return answer.json()


def await_told(client, what, agent, **expected):
    """Waits until all of `expected` is so."""

    def as_expected():
        said = told(client, what, agent)
        return said if {name: said[name] for name in expected} == expected else None

    return until(as_expected)


def check_tags(client, what, agent):
    """The ETag is good for a 304, in every form, until something changes."""
    fresh = ask(client, what, agent)
    tag = fresh.headers["ETag"]
    for value in (tag, f"W/{tag}", f'"other", {tag}', "*", f'"other",W/{tag} '):
        answer = ask(client, what, agent, headers={"If-None-Match": value})
        assert (answer.status, answer.body) == (304, b""), value
        assert answer.headers["ETag"] == tag
        assert answer.headers["RateLimit-Limit"]
    for value in ('"other"', tag.strip('"'), tag + "x", ""):
        answer = ask(client, what, agent, headers={"If-None-Match": value})
        assert (answer.status, answer.body) == (200, fresh.body), value
    return tag
