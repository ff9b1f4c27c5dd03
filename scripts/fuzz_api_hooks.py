"""Makes valid requests count: bodies drawn at random are hardly ever accepted, so some of the valid ones become the
documented example, of another person each time. Records are created, and the requests that follow are tried too."""

import copy
import random
import string

import schemathesis
from schemathesis import GenerationMode

SHARE_OF_EXAMPLES = 0.5


@schemathesis.hook
def map_case(context, case):
    example = (
        case.operation.definition.raw.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("example")
    )
    is_valid = case.meta is None or case.meta.generation.mode == GenerationMode.POSITIVE
    if example is None or not is_valid or random.random() > SHARE_OF_EXAMPLES:
        return case
    body = copy.deepcopy(example)
    if "last_name" in body["data"]:
        body["data"]["last_name"] = "".join(random.choices(string.ascii_letters, k=12))
    case.body = body
    return case
