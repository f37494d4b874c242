"""Words that carry no content. Stop words leave queries only, never the index; function words tell languages apart."""

from __future__ import annotations

_EN = """
a about after all also am an and any are aren as at be been before being but by can could couldn d did didn do does
doesn doing don for from had hadn has hasn have haven having he her hers herself him himself his how i if in into is
isn it its itself ll m may me might my myself no nor not of on or ought our ours ourselves over re s same shall she
should shouldn so some t than that the their theirs them themselves then there these they this those to too under up
us ve very was wasn we were weren what when where which who whom whose why will with won would wouldn you your yours
yourself yourselves
"""
_DE = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese diesem
diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur haben habe
habt hat hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jedem jeden jeder
jedes jene jetzt kann kannst kein keine keinem keinen keiner konnen konnte machen macht man mein meine meinem meinen
meiner mich mir mit muss mussen nach nein nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner
seit sich sie sind so soll sollen sollte sondern uber um und uns unser unsere unter vom von vor wann war waren warum
was welche welchem welchen welcher welches wem wen wenn wer werde werden wessen weshalb wie wieder wieso will wir wird
wirst wo woher wohin womit wozu wurde wurden zu zum zur zwischen
"""
STOP_WORDS = {"en": frozenset(_EN.split()), "de": frozenset(_DE.split())}

# The commonest short words of each language, folded; enough to tell a sentence of one from a sentence of another.
_FUNCTION = """
en: the and of to in is that it was for on are with as they be at this have from or had by not what we
de: der die und das ist nicht ich sie es ein eine zu mit auf den von dem wir fur sich auch im wird hat
fr: le la les et des est un une que dans pour pas qui sur avec au ce il elle nous vous sont du en
es: el la los las y que en un una es por con para no se del al lo como mas pero su sus esta
it: il lo gli di che e la un una per non con sono del della si come anche piu nel alla ma dei
pt: o os as que e do da em um uma para com nao por mais dos das ao como mas foi ele na no
nl: de het een en van ik dat niet is op te zijn voor met die aan er maar om ook als bij wij naar
sv: och att det som en pa ar av for med den till inte om ett men jag har de sig vi kan
"""
FUNCTION_WORDS = {line[:2]: frozenset(line[3:].split()) for line in _FUNCTION.strip().splitlines()}
