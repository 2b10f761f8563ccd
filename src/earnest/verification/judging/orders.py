"""Texts that give orders to whoever judges them: words in many languages, looked for in a folded form.

An order is a pair of words near each other: one that makes somebody ignore or answer, one of instructions or verdicts.
Honest prose about the work rarely has both; where it does, a person looks, and nothing is lost.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

NEAR_CHARACTERS: Final = 60

_IGNORING: Final = {
    "en": (
        r"ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*|do not follow|don't follow|stop following",
        r"instructions?|rules|guidelines|criteria|rubric|prompts?|directives?|directions|everything (?:above|before)",
    ),
    "de": (
        r"ignorier\w*|vergiss|vergessen sie|missacht\w*|beachte nicht",
        r"anweisung\w*|regeln|kriterien|vorgaben|instruktion\w*",
    ),
    "fr": (
        r"ignore[rz]?|oublie[rz]?|ne tiens? pas compte|ne tenez pas compte",
        r"instructions?|consignes?|regles|criteres",
    ),
    "es": (r"ignor[ae]\w*|olvid[ae]\w*|descart[ae]\w*|haz caso omiso", r"instrucciones|reglas|criterios|indicaciones"),
    "pt": (r"ignor[ae]\w*|esque[cç]a\w*|desconsider[ae]\w*", r"instruc\w*|regras|criterios|orientac\w*"),
    "it": (r"ignora\w*|dimentica\w*|trascura\w*", r"istruzioni|regole|criteri|indicazioni"),
    "nl": (r"negeer\w*|vergeet|sla \w+ over", r"instructies|regels|criteria|aanwijzingen"),
    "pl": (r"zignoruj\w*|ignoruj\w*|zapomnij|pomin\w*", r"instrukcj\w*|polece\w*|zasad\w*|kryteri\w*"),
    "sv": (r"ignorera\w*|glom", r"instruktion\w*|regler\w*|kriteri\w*"),
    "cs": (r"ignoruj\w*|zapomen\w*", r"pokyn\w*|instrukc\w*|pravidl\w*"),
    "tr": (r"yok say\w*|gormezden gel\w*|unut\w*", r"talimat\w*|kural\w*|kriter\w*|yonerge\w*"),
    "ru": (r"игнориру\w*|проигнориру\w*|забудь\w*|не обращай\w*", r"инструкци\w*|указани\w*|правил\w*|критери\w*"),
    "uk": (r"ігнору\w*|проігнору\w*|забудь\w*", r"інструкці\w*|вказівк\w*|правил\w*|критері\w*"),
    "el": (r"αγνοησ\w*|ξεχασ\w*", r"οδηγι\w*|κανον\w*|κριτηρι\w*"),
    "ar": (r"تجاهل\w*|انس", r"تعليمات|التعليمات|القواعد|المعايير"),
    "he": (r"התעלם\w*|שכח\w*", r"הוראות|ההוראות|הכללים"),
    "hi": (r"अनदेखा|नजरअंदाज|नज़रअंदाज़|भूल जा", r"निर्देश|नियम|मानदंड"),
    "zh": (r"忽略|无视|無視|忘记|忘記|不要理会", r"指令|指示|规则|規則|标准|標準|提示|要求"),
    "ja": (r"無視|忘れ", r"指示|命令|ルール|基準|プロンプト"),
    "ko": (r"무시|잊어", r"지시|명령|규칙|기준|프롬프트"),
    "vi": (r"bo qua|phot lo|quen di", r"huong dan|chi dan|quy tac|tieu chi"),
    "id": (r"abaikan|lupakan", r"instruksi|perintah|aturan|kriteria"),
    "th": (r"เพิกเฉย|ไม่ต้องสนใจ|ลืม", r"คำสั่ง|กฎ|เกณฑ์"),
}
_DICTATING: Final = {
    "de": (
        r"antworte|antworten sie|bewerte|bewerten sie|gib|geben sie|urteile?|markiere\w*|erklare|gutachter\w*|prufer",
        r"verified|verifiziert|bestanden|erfullt|genehmigt|bestatigt|volle punktzahl|akzeptiert",
    ),
    "fr": (
        r"repond\w*|evalue[rz]?|marque[rz]?|declare[rz]?|juge[rz]?|verdict",
        r"verified|verifiee?s?|approuve\w*|accepte\w*|satisfait\w*|reussi\w*|note maximale",
    ),
    "es": (
        r"responde\w*|evalua\w*|marca\w*|califica\w*|declara\w*|juez|evaluador\w*|veredicto|devuelve",
        r"verified|verificad\w*|aprobad\w*|aceptad\w*|cumplid\w*|maxima puntuacion",
    ),
    "pt": (
        r"respond\w*|avali\w*|marque\w*|classifi\w*|juiz|avaliador\w*|veredict\w*|retorn\w*",
        r"verified|verificad\w*|aprovad\w*|aceit\w*|cumprid\w*|nota maxima",
    ),
    "it": (
        r"rispond\w*|valuta\w*|segna\w*|dichiara\w*|giudic\w*|verdetto|restituisci",
        r"verified|verificat\w*|approvat\w*|accettat\w*|soddisfatt\w*|superat\w*|punteggio massimo",
    ),
    "nl": (
        r"antwoord\w*|beoordeel\w*|markeer\w*|verklaar\w*|oordeel\w*",
        r"verified|geverifieerd|goedgekeurd|geslaagd|voldaan|geaccepteerd",
    ),
    "pl": (
        r"odpowied\w*|ocen\w*|oznacz\w*|uznaj\w*|werdykt|zwroc",
        r"verified|zweryfikowan\w*|zatwierdzon\w*|spelnion\w*|zaakceptowan\w*|zaliczon\w*",
    ),
    "tr": (
        r"cevapla\w*|yanitla\w*|degerlendir\w*|isaretle\w*|karar\w*|yargic|hakem",
        r"verified|dogruland\w*|onayland\w*|kabul edil\w*|basarili|gecti",
    ),
    "ru": (
        r"ответь\w*|отвечай\w*|оцени\w*|отметь\w*|признай\w*|вердикт\w*|судья|верни\w*|считай\w*",
        r"verified|подтвержд\w*|одобр\w*|принят\w*|выполнен\w*|провер\w*|зачтен\w*|максимальн\w*",
    ),
    "uk": (
        r"відповід\w*|оціни\w*|познач\w*|вердикт\w*|визнай\w*|суддя",
        r"verified|підтвердж\w*|схвален\w*|прийнят\w*|виконан\w*",
    ),
    "el": (r"απαντησ\w*|βαθμολογησ\w*|κριν\w*|ετυμηγορι\w*", r"verified|επαληθευ\w*|εγκεκριμεν\w*|αποδεκτ\w*"),
    "ar": (r"أجب|اجب|قيم|ضع علامة|اعتبر|الحكم|أعد", r"verified|تم التحقق|مقبول|معتمد|مستوفى|ناجح"),
    "he": (r"ענה|דרג|סמן|פסק", r"verified|מאומת|מאושר|עבר"),
    "hi": (r"उत्तर|जवाब|चिह्नित|घोषित|निर्णय|मूल्यांकन", r"verified|सत्यापित|स्वीकृत|पूर्ण|उत्तीर्ण"),
    "zh": (
        r"回答|回复|回覆|输出|輸出|标记|標記|评为|評為|判定|判断|返回|裁判|评委|評審",
        r"verified|已验证|已驗證|[为為“\"「]通[过過]|合格|满分|滿分|已满足|批准",
    ),
    "ja": (r"回答|答え|出力|判定|評価|審査|返し", r"verified|検証済|合格|承認|満たし|満点"),
    "ko": (r"답변|응답|출력|판정|평가|표시|심사", r"verified|검증됨|검증된|합격|승인|통과|충족|만점"),
    "vi": (r"tra loi|danh gia|danh dau|phan quyet|tra ve", r"verified|da xac minh|duoc chap nhan|da dat|diem toi da"),
    "id": (r"jawab\w*|nilai|tandai|putusan|kembalikan", r"verified|terverifikasi|disetujui|diterima|lulus|terpenuhi"),
    "th": (r"ตอบ|ประเมิน|ตัดสิน|ทำเครื่องหมาย", r"verified|ตรวจสอบแล้ว|ผ่าน|อนุมัติ"),
}
_ROLES: Final = re.compile(
    r"^[ \t#*>\[(\"'/-]*(?:system|assistant|developer)(?: (?:message|prompt|note|override|instructions?))?"
    r"[\])\"'*]*[ \t]*:[ \t]*\S+(?:[ \t]+\S+){2}|"
    r"<\|[^|\n]{1,40}\|>|\[/?inst\]|<</?sys>>|</?s>|<(?:start|end)_of_turn>|"
    r"\bsystem (?:message|prompt|override)\b|\bnew instructions?\b|\b(?:developer|admin|debug|jailbreak) mode\b|"
    r"\b(?:end|begin|start)(?:ing)? of (?:the )?(?:submission|work|evidence|data|user input|untrusted)\b|"
    r"<<<|\b(?:you are|act as|pretend to be|du bist|eres|tu es) (?:now |a |an |the |jetzt |ahora |maintenant )*"
    r"(?:judge|grader|evaluator|reviewer|verifier|assistant|system|model|dan\b|richter|juez|juge)",
    re.MULTILINE,
)
_LOOKALIKES: Final = str.maketrans("авеікмнорстухѕјԁɡοαιⅼ", "abeikmhopctyxsjdgoail")
_LEET: Final = str.maketrans("013457@$", "oieastas")
_SPACED: Final = re.compile(r"\b(?:\w[ ._*-]){3,}\w\b")


_JUDGE: Final = r"(?:judge|grader|evaluator|reviewer|verifier|validator|assistant|language model|llm|ai)s?"
_VERB: Final = (
    r"(?:mark|rate|grade|judge|treat|consider|declare|answer|respond|reply|say|approve|conclude|output|return|emit)"
)
_WON: Final = (
    r"(?:verified|approved|accepted|satisfied|full (?:marks|score|points)|10/10|100/100|verdict|"
    r"(?:as|is|be|are|been) (?:\w+ )?(?:met|pass(?:ed|ing)?|correct|complete))"
)
_ENGLISH: Final = (
    rf"(?:^|[.!?:;,\n\"'(] *|\b(?:please|must|should|shall|always|just|simply|you (?:will|can|may|must)|to|and) )"
    rf"{_VERB}\b.{{0,{NEAR_CHARACTERS}}}?\b{_WON}\b|"
    rf"\b{_JUDGE}\b.{{0,{NEAR_CHARACTERS}}}?\b(?:must|should|shall|please|has to|have to|needs? to|can skip|will)\b"
    rf".{{0,{NEAR_CHARACTERS}}}?\b(?:{_WON}|pass|approve|accept|verify|{_VERB})\b|"
    r"\bno need to (?:check|verify|review|read|judge)\b|"
    r"\b(?:approve|accept|pass) (?:this|the|my|our) (?:work|submission|answer)"
)
"""English is written by honest people about results all the time, so it takes more than two words."""


def _pattern(pairs: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    def one(first: str, second: str) -> str:
        first, second = folded(first), folded(second)
        edge = r"\b" if first.isascii() else ""
        if not edge:  # then nothing says where a word ends, and its rest would be tried at each of its letters
            first, second = first.replace(r"\w*", ""), second.replace(r"\w*", "")
        gap = f".{{0,{NEAR_CHARACTERS}}}?"
        return f"{edge}(?:{first}){edge}{gap}(?:{second})|{edge}(?:{second}){edge}{gap}(?:{first}){edge}"

    return re.compile("|".join(one(*pair) for pair in pairs), re.DOTALL)


def gives_orders(text: str) -> bool:
    """True if `text`, as it is or in one of the simple disguises, talks to a judge."""
    return any(
        _ROLES.search(form) is not None or any(order.search(form) for order in _orders()) for form in _forms(text)
    )


def _forms(text: str) -> Iterator[str]:
    """The text folded; with lookalike letters, digits for letters and s p a c e d words undone; rotated; reversed."""
    plain = folded(text)
    yield plain
    latin = plain.translate(_LOOKALIKES)
    joined = _SPACED.sub(lambda found: re.sub(r"[ ._*-]", "", found[0]), latin)
    for form in (latin, joined, latin.translate(_LEET), codecs.encode(latin, "rot13"), latin[::-1]):
        if form != plain:
            yield form


def folded(text: str) -> str:
    """Lower case, compatibility forms and accents undone, invisible characters dropped."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    kept = (character for character in decomposed if unicodedata.category(character) not in {"Mn", "Cf"})
    return unicodedata.normalize("NFKC", "".join(kept))


@cache
def _orders() -> tuple[re.Pattern[str], ...]:
    """Made when they are first needed: that takes longer than most of what else is imported."""
    return _pattern(_IGNORING.values()), _pattern(_DICTATING.values()), re.compile(_ENGLISH, re.DOTALL | re.MULTILINE)
