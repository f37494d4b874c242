"""Text that gives orders to its reader: instructions hidden in what a server sends, in seven languages.

A text is compared in one spelling (NFKC, small letters, no zero-width characters). A pattern is tried only where one of
its anchor words occurs, and looks a bounded way ahead. Meant to warn: it finds what is written plainly, not everything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["override", "role", "fake_turn", "new_instructions", "tool_bait", "hidden_text", "exfiltration"]

SCAN_LIMIT = 200_000


def is_clean(text: str) -> bool:
    return next(_found(text), None) is None


def kinds(text: str) -> tuple[Kind, ...]:
    """What was found, each kind once, in a fixed order."""
    return tuple(sorted(set(_found(text))))


def _found(text: str) -> Iterator[Kind]:
    text = text[:SCAN_LIMIT]
    if not text.isascii():
        if _hidden().search(text):
            yield "hidden_text"
        text = _invisible().sub("", unicodedata.normalize("NFKC", text))
    text = text.casefold()
    for rule in _rules():
        if any(anchor in text for anchor in rule.anchors) and rule.pattern.search(text):
            yield rule.kind


@cache
def _hidden() -> re.Pattern[str]:
    """Tag characters other than those of a flag, direction overrides, and long runs of invisible characters."""
    return re.compile(
        r"(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0020-\U000e007f]|"
        r"[\u202d\u202e]|[\u200b-\u200d\u2060-\u2064\ufeff]{8}"
    )


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


class _Rule(NamedTuple):
    kind: Kind
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(_Rule(kind, tuple(anchors.split("|")), re.compile(pattern)) for kind, anchors, pattern in RULES)


# Patterns see small letters only. Kind, anchors, pattern.
RULES: tuple[tuple[Kind, str, str], ...] = (
    (
        "override",
        "ignore|disregard|forget|override|bypass",
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,30}"
        r"(?:\b(?:previous|prior|earlier|above|preceding|all|any|your)\b[^.!?\n]{0,25}"
        r"\b(?:instructions?|prompts?|guidelines|directives|rules)\b|\bsystem (?:prompt|message)\b|"
        r"\binstructions?\b[^.!?\n]{0,20}\b(?:above|before)\b)",
    ),
    (
        "override",
        "무시|잊|따르지",
        r"(?:이전|앞의|앞선|위의?|지금까지|기존)[^.!?\n]{0,15}(?:지시|명령|지침|프롬프트|규칙)[^.!?\n]{0,12}(?:무시|잊|따르지)",
    ),
    (
        "override",
        "忽略|无视|忽視|無視|忘记|忘記|忘掉|不要理会",
        r"(?:忽略|无视|忽視|無視|忘记|忘記|忘掉|不要理会)[^。！？\n]{0,12}(?:之前|以上|先前|前面|上面|所有|此前|上述)"
        r"[^。！？\n]{0,10}(?:指令|指示|提示|规则|規則|命令)",
    ),
    (
        "override",
        "無視|忘れ|従わな",
        r"(?:以前|これまで|上記|前|先)[^。！？\n]{0,12}(?:指示|命令|プロンプト|ルール|指令)[^。！？\n]{0,10}(?:無視|忘れ|従わな)",
    ),
    (
        "override",
        "ignorier|missacht|vergiss|vergesst|vergessen|verwirf",
        r"\b(?:ignorier|missacht|vergiss|vergesst|vergessen sie|verwirf)\w*[^.!?\n]{0,30}"
        r"\b(?:vorherig|bisherig|obig|früher|vorangehend|alle)\w*[^.!?\n]{0,25}"
        r"(?:anweisung|instruktion|vorgabe|regel|befehl|prompt)",
    ),
    (
        "override",
        "ignore|oublie|tiens|tenez",
        r"\b(?:ignore[rz]?|oublie[rz]?|ne ten(?:ez|s) pas compte|ne tiens pas compte)\b[^.!?\n]{0,20}"
        r"(?:\btoutes? [^.!?\n]{0,25}(?:instruction|consigne|directive|règle)|"
        r"\b(?:instruction|consigne|directive|règle)s?\b[^.!?\n]{0,20}(?:précédent|antérieur|ci-dessus|plus haut))",
    ),
    (
        "override",
        "ignor|olvid|descart|caso omiso|tengas en cuenta",
        r"\b(?:ignor(?:a|e|en|ar)|olvid(?:a|e|en|ar)|descart(?:a|e|ar)|haz caso omiso|no tengas en cuenta)\b"
        r"[^.!?\n]{0,20}"
        r"(?:\btod[ao]s? [^.!?\n]{0,25}(?:instrucci|indicaci|regla|directiva)|"
        r"\b(?:instrucci|indicaci|regla|directiva)\w*[^.!?\n]{0,20}(?:anterior|previ[ao]|de arriba))",
    ),
    (
        "role",
        "you are now|pretend|act as if|from now on|developer mode|jailbr",
        r"\byou are now (?:an?|the|in) [^.!?\n]{0,40}\b(?:assistant|ai|model|agent|mode|bot|dan)\b|"
        r"\b(?:pretend|act as if) (?:to be|that you are|you are)\b|"
        r"\bdeveloper mode (?:enabled|on)\b|\bjailbr(?:eak|oken)\b|"
        r"\bfrom now on,? you (?:are|will|must|should|act|answer|respond)\b",
    ),
    ("role", "지금부터|이제부터|이제", r"(?:지금부터|이제부터|이제) (?:너는|넌|당신은)"),
    ("role", "你", r"(?:从现在开始|从现在起|從現在開始|從現在起)[，, ]{0,2}你|你现在是|你現在是"),
    ("role", "あなたは|君は|お前は", r"(?:今から|これから|今後)[、, ]{0,2}(?:あなた|君|お前)は"),
    (
        "role",
        "du |sie ",
        r"\b(?:ab jetzt|ab sofort|von nun an) (?:bist|wirst|musst|sollst|antwortest|sind|werden|müssen) (?:du|sie)\b|"
        r"\bdu bist (?:jetzt|nun|ab sofort) (?:eine?|der|die|im)\b",
    ),
    (
        "role",
        "tu |vous ",
        r"\b(?:à partir de maintenant|désormais),? (?:tu|vous)\b|\btu es (?:maintenant|désormais) (?:une?|le|la|en)\b",
    ),
    (
        "role",
        "ahora",
        r"\b(?:a partir de ahora|desde ahora),? (?:tú|eres|serás|actúas?|debes|responde)|\bahora eres (?:una?|el|la)\b",
    ),
    (
        "fake_turn",
        "<|im_|<|system|<|assistant|<|start_|<|eot|[inst]|[/inst]|<<sys>>|<system|</system|<assistant|</assistant",
        r"<\|(?:im_start|im_end|system|assistant|start_header_id|eot_id)\|>|\[/?inst\]|<<sys>>|"
        r"</?(?:system|assistant)(?:[ _-](?:prompt|message|reminder|instructions?))?>",
    ),
    (
        "fake_turn",
        "system|assistant|human:",
        r"(?:^|\n)[ \t#*]{0,6}(?:system|assistant)(?: (?:prompt|message|override))?[ *]{0,3}:[ *]{0,3}"
        r"(?:you |ignore|from now|new instruction|do not|always|never)|\n\n(?:human|assistant): ",
    ),
    (
        "new_instructions",
        "instruction|directive|prompt",
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|directives?|prompt)"
        r"(?: (?:for you|follow|are)\b|\s?:)",
    ),
    ("new_instructions", "새로운|새 ", r"새(?:로운)? ?(?:지시|지침|명령)(?:사항)?\s?(?::|은|는|이다|입니다)"),
    (
        "new_instructions",
        "新",
        r"新的?(?:系统|系統)?(?:指令|指示|提示)\s?(?::|是|如下)|新しい(?:指示|命令|指令)\s?(?::|は)",
    ),
    ("new_instructions", "neue", r"\bneue (?:system)?(?:anweisung|instruktion|vorgabe)(?:en)?\s?:"),
    ("new_instructions", "nouvelle", r"\bnouvelles? (?:instruction|consigne|directive)s?\s?:"),
    ("new_instructions", "nueva", r"\bnuevas? (?:instrucci[oó]n(?:es)?|directivas?|indicaci[oó]n(?:es)?)\s?:"),
    (
        "tool_bait",
        "the user|silently|secretly|<important>",
        r"\bwithout (?:telling|informing|notifying|asking|alerting) the user\b|<important>|"
        r"\b(?:do not|don't|never) (?:tell|inform|notify|alert) the user\b|"
        r"\b(?:silently|secretly) (?:call|run|execute|send|read|use|invoke|forward)\b",
    ),
    (
        "tool_bait",
        ".ssh|id_rsa|.aws/cred|mcp.json|/etc/passwd|.env",
        r"\b(?:read|cat|open|send|include|pass|attach|upload)\b[^\n]{0,80}"
        r"(?:\.ssh\b|\bid_rsa\b|\.aws/credentials|\bmcp\.json\b|/etc/passwd\b|\.env\b)[^\n]{0,80}"
        r"\b(?:parameter|argument|as (?:the )?'|in the|contents? (?:to|as|in)|sidenote)",
    ),
    ("tool_bait", "사용자", r"사용자(?:에게|한테|가)[^.!?\n]{0,15}(?:알리지|말하지|모르게)"),
    (
        "tool_bait",
        "用户|用戶",
        r"(?:不要|不得|别|勿)(?:告诉|告訴|通知|提醒|让|讓)用[户戶]|(?:悄悄|偷偷|秘密)地?(?:调用|呼叫|发送|读取|執行|执行)",
    ),
    ("tool_bait", "ユーザー", r"ユーザー?に(?:は)?[^。！？\n]{0,8}(?:知らせ|伝え|言わ|告げ)(?:ず|ないで|るな)"),
    (
        "tool_bait",
        "nutzer|anwender",
        r"\bohne (?:den|die) (?:be)?nutzer\w* zu (?:informieren|fragen)|\bsag\w* (?:dem|der) (?:be)?nutzer\w* nichts\b|"
        r"\b(?:informier|benachrichtig)\w* (?:den|die) (?:be)?nutzer\w* nicht\b",
    ),
    (
        "tool_bait",
        "utilisateur",
        r"\bsans (?:en )?(?:prévenir|informer|avertir|demander à) l['’]utilisateur|"
        r"\b(?:ne dis|ne dites|n['’]informe[zr]?|ne préviens|ne prévenez)\b[^.!?\n]{0,12}l['’]utilisateur",
    ),
    (
        "tool_bait",
        "usuario",
        r"\bsin (?:avisar|informar|decir|preguntar)\w*[^.!?\n]{0,8} al usuario|"
        r"\bno (?:le )?(?:digas?|informes?|avises?)\b[^.!?\n]{0,10} al usuario",
    ),
    (
        "exfiltration",
        "](http",
        r"\]\(https?://[^)\s]{1,300}[?&][a-z_-]{1,30}=(?:[^)\s]{0,40}[{<\[]|%7b|\$)|"
        r"!\[[^\]\n]{0,200}\]\(https?://[^)\s]{1,300}[?&](?:data|payload|exfil|leak|secret|content|conversation|history)=",
    ),
    (
        "exfiltration",
        "http://|https://",
        r"\b(?:send|post|upload|forward|transmit|append|exfiltrate)\b[^.!?\n]{0,80}"
        r"\b(?:conversation|chat history|secrets?|passwords?|credentials?|api keys?|environment variables?|"
        r"file contents?)"
        r"\b[^.!?\n]{0,60}\bhttps?://",
    ),
)
