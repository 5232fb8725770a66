"""What JSON Schema can't say of a good order, and its description does."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode.is_negative:
        return
    body = written_plainly(case.body)
    if isinstance(body, dict) and isinstance(body.get("items"), list):
        # No SKU twice: a schema compares whole items, not one member of them.
        body = {**body, "items": list({item["sku"]: item for item in body["items"]}.values())}
    if body != case.body or repr(body) != repr(case.body):
        case.body = body


def written_plainly(value):
    """1000, not 1000.0: to a schema these are one number, and a number with a fraction is refused."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: written_plainly(member) for name, member in value.items()}
    if isinstance(value, list):
        return [written_plainly(item) for item in value]
    return value
