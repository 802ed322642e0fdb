"""Word forms that no suffix rule joins, and words that carry no topic. Data.

Both lists are general English grammar: irregular verbs and plurals as any school book has them, and
function words. Nothing in them was chosen by looking at a collection.
"""

from __future__ import annotations

from typing import Final

from dsh_mnemon_provider_mnemon_native._tokens import STOP_WORDS

__all__ = ("FUNCTION_WORDS", "IRREGULAR")

_FUNCTION_WORDS: Final = """
why whom whose there here am us him hers ours yours mine myself yourself herself himself itself
ourselves themselves those these such own same other both few most nor only until while during
before after above below between through again further once under over off down because against
don doesn didn isn aren wasn weren wouldn couldn shouldn hasn haven hadn ain ll re ve s t d m
yes oh hey yeah wow ok okay get got
"""

FUNCTION_WORDS: Final = STOP_WORDS | frozenset(_FUNCTION_WORDS.split())
"""Words that say nothing about a topic, pieces of contractions and interjections included."""

_IRREGULAR_FORMS: Final = """
arise arose arisen|bear bore borne|beat beaten|become became|begin began begun|bend bent|bind bound
bite bit bitten|blow blew blown|break broke broken|bring brought|build built|burn burnt|buy bought
catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held
keep kept|know knew known|lay laid|lead led|learn learnt|leave left|lend lent|lie lain|light lit
lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen
run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone
shoot shot|show shown|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken
spend spent|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|wake woke woken|wear wore worn|win won|write wrote written
child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|goose geese
wife wives|knife knives|shelf shelves|self selves|half halves
"""

IRREGULAR: Final = {
    form: base
    for entry in _IRREGULAR_FORMS.replace("\n", "|").split("|")
    if entry
    for base, *forms in [entry.split()]
    for form in forms
}
"""Irregular form → base form, before stemming; none that is a regular form of another word."""
