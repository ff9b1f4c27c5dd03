"""Goes through the life of a trainee's record with a client that openapi-python-client has generated.

The address of the API, with the version, is in REGISTER_API, the token in REGISTER_TOKEN, and the file of
the source document in REGISTER_DOCUMENT.
"""

import json
import os
import re
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

from register_client import AuthenticatedClient
from register_client.api.account import show_account
from register_client.api.trainees import (
    create_trainee,
    create_trainees,
    list_changes,
    list_trainees,
    show_trainee,
    update_trainee,
)
from register_client.api.transitions import withdraw
from register_client.models import (
    BatchItem,
    CreateTraineeBody,
    CreateTraineeError,
    CreateTraineeResponse201,
    CreateTraineesResponse200,
    ErrorCode,
    ListChangesResponse200,
    ListTraineesResponse200,
    NewTrainee,
    NewTraineeSex,
    ShowAccountResponse200,
    ShowTraineeResponse200,
    Trainee,
    TraineeChanges,
    TraineeState,
    UpdateTraineeBody,
    UpdateTraineeError,
    UpdateTraineeResponse200,
    Withdrawal,
    WithdrawBody,
    WithdrawResponse200,
)
from register_client.types import UNSET, Unset

client = AuthenticatedClient(base_url=os.environ["REGISTER_API"], token=os.environ["REGISTER_TOKEN"])
run = uuid.uuid4().hex[:8]


def example(path: str) -> dict[str, Any]:
    """The example of a request that creates something: a whole record in the names of the version."""
    with open(os.environ["REGISTER_DOCUMENT"], encoding="utf-8") as document:
        operation = json.load(document)["paths"][path]["post"]
    data: dict[str, Any] = operation["requestBody"]["content"]["application/json"]["example"]["data"]
    return data


def new_trainee(last_name: str, email: str = "trainee@example.com") -> NewTrainee:
    """A trainee whom the register accepts; the last name tells one from another."""
    trainee = NewTrainee.from_dict(example("/trainees"))
    trainee.last_name = f"{last_name}-{run}"
    trainee.date_of_birth = "1999-04-12"
    trainee.sex = NewTraineeSex("11")
    trainee.email = email
    return trainee


def register(trainee: NewTrainee, key: str) -> tuple[Trainee, bool]:
    """Registers a trainee, and returns whether the reply repeats an earlier one."""
    reply = create_trainee.sync_detailed(client=client, body=CreateTraineeBody(data=trainee), idempotency_key=key)
    assert isinstance(reply.parsed, CreateTraineeResponse201), reply.content
    return reply.parsed.data, reply.headers.get("Idempotent-Replayed") == "true"


def identifier(trainee: Trainee) -> str:
    """The identifier, which is null only in the reply to a request with `Prefer: validate-only`."""
    assert trainee.trainee_id is not None
    return trainee.trainee_id


def changes(after: str | Unset) -> tuple[list[str], str]:
    """Returns the changed trainees in the order of their changes, and the position for the next call."""
    changed: list[str] = []
    while True:
        page = list_changes.sync(client=client, after=after, limit=2)
        assert isinstance(page, ListChangesResponse200), page
        changed += [change.trainee_id for change in page.data]
        after = page.meta.after
        if not page.meta.has_more:
            return changed, after


account = show_account.sync(client=client)
assert isinstance(account, ShowAccountResponse200), account
print("python:", account.data.provider.name, account.data.version)

# Register, and send the request again.
key = f"first-{run}"
trainee, replayed = register(new_trainee("First"), key)
trainee_id = identifier(trainee)
assert not replayed
again, replayed = register(new_trainee("First"), key)
assert replayed and again.trainee_id == trainee_id

# A person who is registered already.
duplicate = create_trainee.sync(client=client, body=CreateTraineeBody(data=new_trainee("First")))
assert isinstance(duplicate, CreateTraineeError) and not isinstance(duplicate.data, Unset), duplicate
assert [existing.trainee_id for existing in duplicate.data] == [trainee_id]

# Wrong values, by field.
refused = create_trainee.sync(client=client, body=CreateTraineeBody(data=new_trainee("Second", email="unknown")))
assert isinstance(refused, CreateTraineeError) and not isinstance(refused.errors, Unset), refused
assert [(error.field, error.code) for error in refused.errors] == [("email", ErrorCode("not_email"))], refused

# A batch with one refused item.
items = [
    BatchItem(data=new_trainee("Third"), idempotency_key=f"third-{run}"),
    BatchItem(data=new_trainee("Fourth", email="unknown"), idempotency_key=f"fourth-{run}"),
    BatchItem(data=new_trainee("Fifth"), idempotency_key=f"fifth-{run}"),
]
results = create_trainees.sync(client=client, body=items)
assert isinstance(results, CreateTraineesResponse200), results
assert [result.status for result in results.data] == [201, 422, 201], results
created = [identifier(result.data) for result in results.data if isinstance(result.data, Trainee)]
assert len(created) == 2

# All pages.
listed: list[str] = []
cursor: str | Unset = UNSET
while True:
    page = list_trainees.sync_detailed(client=client, academic_cycle="2026", per_page=2, cursor=cursor)
    assert isinstance(page.parsed, ListTraineesResponse200), page.content
    listed += [one.trainee_id for one in page.parsed.data if one.trainee_id is not None]
    following = re.search(r'<([^>]*)>; rel="next"', page.headers.get("Link", ""))
    if following is None:
        break
    cursor = parse_qs(urlsplit(following[1]).query)["cursor"][0]
assert set(listed) >= {trainee_id, *created} and len(listed) == len(set(listed))

# An update of an unchanged record.
shown = show_trainee.sync_detailed(trainee_id, client=client)
assert isinstance(shown.parsed, ShowTraineeResponse200), shown.content
tag = shown.headers["ETag"]
update = UpdateTraineeBody(data=TraineeChanges(email="new@example.com", middle_names=None))
updated = update_trainee.sync(trainee_id, client=client, body=update, if_match=tag)
assert isinstance(updated, UpdateTraineeResponse200) and updated.data.email == "new@example.com", updated
outdated = update_trainee.sync_detailed(trainee_id, client=client, body=update, if_match=tag)
assert outdated.status_code == 412 and isinstance(outdated.parsed, UpdateTraineeError), outdated.content

# The changes so far, a withdrawal, and what is new.
changed, after = changes(UNSET)
assert set(changed) >= {trainee_id, *created}
withdrawal = Withdrawal.from_dict(example("/trainees/{trainee_id}/withdraw"))
withdrawal.reasons = ["trainee_workload_issues"]
withdrawn = withdraw.sync(trainee_id, client=client, body=WithdrawBody(data=withdrawal))
assert isinstance(withdrawn, WithdrawResponse200) and withdrawn.data.state == TraineeState("withdrawn"), withdrawn
news, _ = changes(after)
assert news == [trainee_id], news
print("python: ok,", len(listed), "trainees listed,", len(changed), "changes")
