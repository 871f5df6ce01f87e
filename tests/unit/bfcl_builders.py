"""Small BFCL output directories."""

import json


def write_category(folder, category, rows, name="BFCL_v4_multi_turn_{}_result.json"):
    """Write rows (dicts or ready lines) as one result file; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name.format(category)
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def gold_rows(dataset, category):
    """Result rows that follow the gold trajectory, as function-calling handlers write them."""
    return [
        {
            "id": item.item_id,
            "result": [
                [*([{call.name: json.dumps(dict(call.arguments))}] for call in turn), "Done."] for turn in item.gold
            ],
        }
        for item in dataset.items.values()
        if item.category == category
    ]


def write_model(folder, dataset, change=lambda category, rows: rows):
    """A whole model directory that follows gold, after `change(category, rows)`."""
    for category in ("base", "miss_func", "miss_param"):
        write_category(folder / "multi_turn", category, change(category, gold_rows(dataset, category)))
    return folder
