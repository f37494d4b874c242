"""What a person sees of the memory: one line per memory, quiet and stable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remora.operations.text import table

Result = dict[str, Any]
SHORT = 12
NOTHING_YET = "No memories yet. Run `remora mem init` then store something."
NO_MATCHES = "No matches."


def short(id_: str, among: Iterable[str] = ()) -> str:
    """The beginning of an id, longer where others begin alike."""
    others = [other for other in among if other != id_]
    length = SHORT
    while length < len(id_) and any(other.startswith(id_[:length]) for other in others):
        length += 1
    return id_[:length]


def line(memory: Mapping[str, Any], among: Iterable[str] = ()) -> str:
    key = f"[{memory['subject_key']}] " if memory["subject_key"] else ""
    text = " ".join(memory["content"].split())
    return f"{short(memory['id'], among)}  {memory['kind']:<8}imp={memory['importance']:.2f}  {key}{text}"


def lines(memories: Sequence[Mapping[str, Any]], *, ranked: bool = False, explain: bool = False) -> str:
    ids = [memory["id"] for memory in memories]
    shown = []
    for number, memory in enumerate(memories, 1):
        rank = f"{number}. " if ranked else ""
        shown.append(f"  {rank}{line(memory, ids)}")
        if explain:
            score = "" if memory.get("score") is None else f"score {memory['score']:.3f}; "
            shown.append(f"       {score}{', '.join(memory.get('why', ()))}")
    return "\n".join(shown)


def recalled_text(result: Result) -> str:
    if "results" in result:
        return "\n\n".join(one.get("error") or lines(one["memories"], ranked=True) or NO_MATCHES
                           for one in result["results"])  # fmt: skip
    return lines(result["memories"], ranked=result["mode_used"] not in ("list", "ids")) or NO_MATCHES


def stored_text(result: Result) -> str:
    if "items" in result:
        return "\n".join(stored_line(one) if one else "Not stored" for one in result["items"])
    return stored_line(result)


def stored_line(done: Mapping[str, Any]) -> str:
    id_ = done["id"]
    match done["status"]:
        case "merged":
            return f"Merged into {id_}"
        case "updated":
            return f"Updated {id_} (v{done['version']})"
        case "superseded":
            return f"Superseded {', '.join(done['superseded'])} by {id_}"
        case "pending":
            return f"Pending {id_}"
        case "suppressed":
            return f"Suppressed {id_}: it was deleted before"
        case _:
            return f"Stored {id_}"


def updated_text(done: Result) -> str:
    if done["status"] == "merged":
        return f"Unchanged {done['id']} (v{done['version']})" if not done["op_id"] else f"Merged into {done['id']}"
    return f"Updated {done['id']} (v{done['version']}, operation {done['op_id']})"


def forgotten_text(result: Result) -> str:
    if not result["done"]:
        previews = "".join(f"\n  {' '.join(text.split())}" for text in result["previews"])
        return f"Would forget {counted(result['count'])}{previews}"
    if result.get("already"):
        return f"Already forgotten {', '.join(result['already'])}"
    ops = ", ".join(result.get("op_ids") or [result.get("batch_id") or ""])
    by = f" (operation {ops})" if ops else ""
    what = ", ".join(result["ids"]) if result["count"] <= 3 else counted(result["count"])
    return f"{'Asked to forget' if result['pending'] else 'Forgot'} {what}{by}"


def counted(number: int, what: str = "memory", several: str = "memories") -> str:
    return f"{number:,} {what if number == 1 else several}"


def full(found: Result, *, everything: bool = False) -> str:
    """One memory with all that is known of it."""
    memory = found["memory"]
    rows: dict[str, Any] = {
        "kind": memory["kind"], "subject_key": memory["subject_key"], "importance": f"{memory['importance']:.2f}",
        "source": memory["source"], "namespace": memory["namespace"], "scope": memory["scope"],
        "tags": ", ".join(memory["tags"]), "trust": memory["trust"], "status": memory["status"],
        "pinned": "yes" if memory["pinned"] else None, "created": memory["created_at"],
        "updated": memory["updated_at"], "archived": memory["archived_at"], "valid from": memory["valid_from"],
        "valid to": memory["valid_to"], "expires": memory["expires_at"], "superseded by": memory["superseded_by"],
        "version": memory["version"], "triggers": ", ".join(memory["triggers"]),
        "metadata": ", ".join(f"{name}={value}" for name, value in memory["metadata"].items()),
    }  # fmt: skip
    told = {name: value for name, value in rows.items() if value not in (None, "")}
    width = max(map(len, told)) + 2
    shown = [f"Memory {memory['id']}"]
    shown += [f"  {f'{name}:':<{width}}{value}" for name, value in told.items()]
    shown += ["", "  content:", *(f"    {text}" for text in memory["content"].splitlines())]
    if everything:
        shown += ["", "  relations:"]
        for edge in found["relations"]:
            other = edge["dst"] if edge["src"] == memory["id"] else edge["src"]
            shown.append(f"    {edge['type']} {'to' if edge['src'] == memory['id'] else 'from'} {other}")
        shown += ["", "  versions:", *(f"    {text}" for text in history_text(found).splitlines())]
    return "\n".join(shown)


def history_text(result: Result, *, diff: bool = False) -> str:
    told = []
    for version in result["versions"]:
        op, who = version["op"] or {}, ""
        if op:
            who = f"  {op['kind']} by {op['actor'].get('agent') or op['actor'].get('door')}"
        changed = f"  ({', '.join(version['changed'])})" if version["changed"] else ""
        told.append(f"{short(version['id'])}  v{version['version']}  {version['at']}{who}{changed}")
        if op and op.get("reason"):
            told.append(f"    {op['reason']}")
        told.append(f"    {(version['diff'] if diff and version['diff'] else version['content']) or '[purged]'}")
    return "\n".join(told)


def undone_text(result: Result) -> str:
    return f"Undid {counted(result['count'], 'operation', 'operations')} (batch {result['batch_id']})"


def restored_text(result: Result) -> str:
    return "\n".join(f"Restored {memory['id']} (v{memory['version']})" for memory in result["memories"])


def listed_text(result: Result) -> str:
    return lines(result["memories"]) or "Nothing there."


def about_text(result: Result) -> str:
    parts = [(title, lines(result[name])) for title, name in (("You", "user"), ("Lately", "events")) if result[name]]
    return "\n\n".join(f"{title}\n{text}" for title, text in parts) or "Nothing is known yet."


def conflicts_text(result: Result) -> str:
    told = []
    for one in result["conflicts"]:
        told.append(f"{one['kind']}  {one['id']}  (likeness {one['similarity']:.2f})")
        for side in (one["a"], one["b"]):
            mark = "*" if side["id"] == one["winner"] else " "
            told.append(f"  {mark} {side['id']}  {side['created_at'][:10]}  {' '.join(side['content'].split())}")
    return "\n".join(told) or "No open conflicts."


def tags_text(result: Result) -> str:
    return "\n".join(f"{count:>6,}  {tag}" for tag, count in result["tags"].items()) or "No tags."


def audit_text(result: Result) -> str:
    rows = [(op["at"], op["op_id"], op["kind"], op["target"], op["actor"].get("agent") or op["actor"].get("door"))
            for op in result["operations"]]  # fmt: skip
    return table(rows, ("time", "operation", "what", "memory", "who"))


def blame_text(result: Result) -> str:
    return "\n".join(f"{(one['op'] or {}).get('at', '?')}  {(one['op'] or {}).get('op_id', '')}  {one['sentence']}"
                     for one in result["sentences"])  # fmt: skip


def verified_text(result: Result) -> str:
    told = [f"[{status}] {name} — {detail}" for status, name, detail in result["checks"]]
    return "\n".join([*(f"repaired: {what}" for what in result["repaired"]), *told])


def stats_text(result: Result) -> str:
    states = ", ".join(f"{count:,} {status}" for status, count in sorted(result["status"].items()))
    told = [f"memories    {result['memories']:,} live ({states or 'none stored'})",
            f"conflicts   {result['conflicts']:,} open",
            f"relations   {result['relations']:,}",
            f"operations  {result['operations']:,}, undo back to {result['undo_horizon'] or 'now'}",
            f"embedding   {result['embedding'].get('provider')}"]  # fmt: skip
    for title, name in (("kinds", "kinds"), ("namespaces", "namespaces")):
        counts = ", ".join(f"{key} {count:,}" for key, count in sorted(result[name].items(), key=lambda pair: -pair[1]))
        told.append(f"{title:<12}{counts or '-'}")
    return "\n".join([*told, f"store       {result['path']}, {result['bytes']:,} bytes, mode {result['mode']}"])


def imported_text(result: Result) -> str:
    did = "Would import" if result["dry_run"] else "Imported"
    told = [f"{did} {counted(result.get('new', 0))} from {result['source']}"]
    names = {name: value for name, value in result.items() if name not in ("source", "dry_run", "new", "warnings")}
    told += [f"  {name}: {value}" for name, value in names.items() if value and not isinstance(value, Mapping)]
    for name, value in names.items():
        told += [f"  {name} {key}: {each}" for key, each in value.items()] if isinstance(value, Mapping) else []
    return "\n".join(told)


def backups_text(result: Result) -> str:
    rows = [(one["path"], one["memories"], one["bytes"], one["app_version"]) for one in result["backups"]]
    return table(rows, ("backup", "memories", "bytes", "version")) if rows else "No backups yet."


def replaced_text(result: Result) -> str:
    return "\n".join(f"{name:<11} {before:,} -> {after:,}" for name, (before, after) in result["counts"].items())


def edges_text(result: Result) -> str:
    told = [f"{edge['src']}  {edge['type']}  {edge['dst']}" for edge in result["edges"]]
    return "\n".join(told) or ("Disconnected." if result["removed"] else "No relations.")


def spaces_text(result: Result) -> str:
    rows = [(space["label"], f"{space['vectors']:,}", f"{space['waiting']:,}") for space in result["spaces"]]
    return table(rows, ("encoder", "vectors", "waiting"))
