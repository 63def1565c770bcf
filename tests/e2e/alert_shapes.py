"""What each service takes: the limits and schemas of its documentation, checked on messages as they arrived.

Each function takes the test case first and fails it with the name of what is wrong.
"""

import email
import email.policy
import json
import re
import time

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
FENCE = re.compile(r"```\n(.*?)\n```", re.S)
MAIL_HEADERS = {"From", "To", "Subject", "Date", "Message-ID", "References", "List-Id", "Auto-Submitted", "MIME-Version",
                "Content-Type", "Content-Transfer-Encoding"}


def units(text):
    """UTF-16 units, as the services count."""
    return len(text.encode("utf-16-le")) // 2


def within(case, text, most, what):
    case.assertIsInstance(text, str, what)
    case.assertTrue(1 <= units(text) <= most, f"{what}: {units(text)} units, 1 to {most} are allowed")
    case.assertIsNone(HIDDEN.search(text), f"{what}: {text!r}")


def link(case, url, most=2000):
    within(case, url, most, "url")
    case.assertRegex(url, r"\Ahttps?://[!-~]+\Z")


# ---- chat ----

def slack_text(case, text):
    """Entities, the link that is ours, and nothing else that Slack reads."""
    rest = re.sub(r"<https?://[^<>|]+\|[^<>|]+>", "", text)
    case.assertNotRegex(rest, "[<>]")
    case.assertNotRegex(re.sub("&(amp|lt|gt);", "", rest), "&")


def slack_object(case, obj, most):
    case.assertIn(obj["type"], ("plain_text", "mrkdwn"))
    case.assertEqual(set(obj), {"type", "text", "emoji" if obj["type"] == "plain_text" else "verbatim"})
    within(case, obj["text"], most, obj["type"])
    slack_text(case, obj["text"])
    if obj["type"] == "mrkdwn":
        case.assertIs(obj["verbatim"], True)
        rest = FENCE.sub("", obj["text"]).strip()
        case.assertRegex(rest, r"\A(<https?://[^<>|]+\|[^<>|]+>)?\Z", "text of a report is in plain_text or in code")


def check_slack(case, body):
    """Block Kit: header 150, section 3,000, ten fields of 2,000, 50 blocks; `text` below 4,000."""
    message = json.loads(body)
    case.assertEqual(set(message), {"text", "blocks", "unfurl_links", "unfurl_media"})
    case.assertFalse(message["unfurl_links"] or message["unfurl_media"])
    within(case, message["text"], 4000, "text")
    slack_text(case, message["text"])
    case.assertTrue(1 <= len(message["blocks"]) <= 50)
    for block in message["blocks"]:
        if block["type"] == "header":
            case.assertEqual(set(block), {"type", "text"})
            case.assertEqual(block["text"]["type"], "plain_text")
            slack_object(case, block["text"], 150)
            continue
        case.assertEqual(block["type"], "section")
        case.assertEqual(len(set(block) & {"text", "fields"}), 1)
        case.assertLessEqual(len(block.get("fields", [])), 10)
        for obj in block.get("fields", [block.get("text")]):
            slack_object(case, obj, 2000 if "fields" in block else 3000)
    return " ".join(json.dumps(block, ensure_ascii=False) for block in message["blocks"])


def markdown_text(case, text):
    """Outside of code, every character that Markdown reads has a backslash, and no '@' names anyone."""
    rest = FENCE.sub("", text)
    case.assertNotIn("`", re.sub(r"\\.", "", rest))
    for at in re.finditer("@", text if "```" not in text else rest):
        case.assertEqual(rest[at.end():at.end() + 1], "\u200b", rest)
    return re.sub(r"\\[!-/:-@\[-`{-~]", "", rest)


def check_discord(case, body):
    """One embed: title 256, description 4,096, field 256 and 1,024, all together 6,000."""
    message = json.loads(body)
    case.assertEqual(set(message), {"username", "embeds", "allowed_mentions"})
    case.assertEqual(message["allowed_mentions"], {"parse": []})
    case.assertEqual(len(message["embeds"]), 1)
    embed = message["embeds"][0]
    case.assertLessEqual(set(embed), {"title", "url", "description", "color", "timestamp", "fields"})
    within(case, embed["title"], 256, "title")
    within(case, embed["description"], 4096, "description")
    case.assertTrue(0 <= embed["color"] <= 0xffffff)
    case.assertRegex(embed["timestamp"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
    case.assertLessEqual(len(embed["fields"]), 25)
    for field in embed["fields"]:
        case.assertEqual(set(field), {"name", "value", "inline"})
        within(case, field["name"], 256, "name")
        within(case, field["value"], 1024, "value")
    texts = [embed["title"], embed["description"]] + [f["value"] for f in embed["fields"]]
    case.assertLessEqual(sum(map(units, texts)) + sum(units(f["name"]) for f in embed["fields"]), 6000)
    for text in texts:
        case.assertNotRegex(markdown_text(case, text), r"[*_~|<>\[\]()#]")
    if "url" in embed:
        link(case, embed["url"])
    return "\n".join(texts)


def check_mattermost(case, body):
    """`text` of 16,383 characters in Markdown, with one link, which is ours."""
    message = json.loads(body)
    case.assertEqual(set(message), {"text", "username"})
    within(case, message["text"], 16383, "text")
    rest = markdown_text(case, message["text"])
    rest = re.sub(r"^- (?=[A-Z])|^\*\*|\*\*$", "", rest, flags=re.M)
    rest = re.sub(r"\[Open [^\]]*\]\(https?://[^()<> ]+\)", "", rest)
    case.assertNotRegex(rest, r"[*_~|<>\[\]()#]")
    return message["text"]


CARD_WORDS = {"weight": {"Lighter", "Default", "Bolder"}, "fontType": {"Default", "Monospace"},
              "color": {"Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"}}


def check_teams(case, body):
    """A message with one adaptive card (schema 1.4), below 28 KB, of texts that are not Markdown."""
    case.assertLess(len(body), 28 * 1024)
    message = json.loads(body)
    case.assertEqual(set(message), {"type", "attachments"})
    case.assertEqual((message["type"], len(message["attachments"])), ("message", 1))
    attachment = message["attachments"][0]
    case.assertEqual(set(attachment), {"contentType", "contentUrl", "content"})
    case.assertEqual(attachment["contentType"], "application/vnd.microsoft.card.adaptive")
    card = attachment["content"]
    case.assertLessEqual(set(card), {"$schema", "type", "version", "msteams", "body", "actions"})
    case.assertEqual((card["$schema"], card["type"], card["version"]),
                     ("http://adaptivecards.io/schemas/adaptive-card.json", "AdaptiveCard", "1.4"))
    texts = []
    case.assertTrue(card["body"])
    for block in card["body"]:
        case.assertLessEqual(set(block), {"type", "spacing", "inlines"})
        case.assertEqual(block["type"], "RichTextBlock")
        case.assertIn(block.get("spacing", "Default"), ("None", "Default", "Small", "Medium", "Large"))
        case.assertTrue(block["inlines"])
        for run in block["inlines"]:
            case.assertLessEqual(set(run), {"type", "text", "weight", "color", "fontType"})
            case.assertEqual(run["type"], "TextRun")
            within(case, run["text"], 1000, "text")
            case.assertNotIn("{{", run["text"])
            for key, words in CARD_WORDS.items():
                case.assertIn(run.get(key, "Default"), words)
            texts.append(run["text"])
    for action in card.get("actions", []):
        case.assertEqual((set(action), action["type"]), ({"type", "title", "url"}, "Action.OpenUrl"))
        link(case, action["url"])
    return "\n".join(texts)


# ---- mail ----

def check_mail(case, mail, sender, recipients):
    """RFC 5322 and MIME: lines that fit, each header once and known, encoded words that decode, a date, an id."""
    envelope_from, envelope_to, data = mail
    case.assertEqual((envelope_from, envelope_to), (f"<{sender}>", [f"<{to}>" for to in recipients]))
    head, _, _ = data.partition(b"\r\n\r\n")
    for line in data.split(b"\r\n"):
        case.assertLessEqual(len(line), 78 if line in head.split(b"\r\n") and b" " in line.strip() else 998, line)
        case.assertRegex(line, rb"\A[\t -~]*\Z")
    message = email.message_from_bytes(data, policy=email.policy.default)
    case.assertEqual(message.defects, [])
    case.assertEqual(len(message.keys()), len(set(message.keys())))
    case.assertLessEqual(set(message.keys()), MAIL_HEADERS)
    case.assertEqual([a.addr_spec for a in message["To"].addresses], recipients)
    case.assertEqual(message["From"].addresses[0].addr_spec, sender)
    case.assertRegex(message["Message-ID"], r"\A<msg_[0-9a-f]{32}@[a-z0-9.-]+>\Z")
    case.assertRegex(message["List-Id"], r"<[a-z0-9.-]+>\Z")
    case.assertLess(abs(message["Date"].datetime.timestamp() - time.time()), 5 * 86400)
    case.assertEqual(message["Auto-Submitted"], "auto-generated")
    case.assertEqual(message["Content-Type"].content_type, "text/plain")
    case.assertNotRegex(str(message["Subject"]), "[\r\n]")
    case.assertIsNone(HIDDEN.search(str(message["Subject"])))
    case.assertTrue(str(message["Subject"]).startswith("["))
    text = message.get_content().replace("\r\n", "\n")
    case.assertIsNone(HIDDEN.search(text), text)
    return f"{message['Subject']}\n{text}"


CHECKS = {"slack": check_slack, "mattermost": check_mattermost, "discord": check_discord, "teams": check_teams}
