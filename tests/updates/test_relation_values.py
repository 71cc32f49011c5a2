"""What counts as the value of a relation, and from which words on a relation is read."""

from __future__ import annotations

import pytest

from hippocampe.updates.decide import Verdict, decide

MERGED = {Verdict.UPDATED, Verdict.REINFORCED}

# (old, new): without capitals, a common word is no name.
NO_NAMES = [
    ("mon mari est végétalien depuis mai", "mon mari est fatigué"),
    ("mon mari est fatigué", "ma femme est fatiguée"),
    ("je suis pacsée avec Basile", "mon mari est grognon"),
    ("je suis en couple avec Ida", "ma compagne est enrhumée"),
    ("ma patronne est sévère", "mon patron est absent"),
    ("mon nom est Basile", "mon nom est imprononçable"),
    ("je réside à Metz", "je loge à proximité"),
    ("je réside à Metz", "je vis à trois"),
    ("je réside à Metz", "je vis en tongs"),
    ("je réside à Metz", "j'habite à vingt minutes du centre"),
    ("je bosse chez Renault", "je bosse à reculons"),
    ("je bosse chez Renault", "je travaille à crédit"),
    ("my wife is a redhead", "my wife is asleep"),
    ("my husband is grumpy", "my wife is grumpy"),
    ("my boyfriend is Ivo", "my boyfriend is late"),
    ("my boss is strict", "my manager is strict"),
    ("my name is Ivo", "my name is unpronounceable"),
    ("i live in Derby", "i live in squalor"),
    ("i work for Tesco", "i work for free"),
    # A lodging of a few days, a club, a town: no home, no school, no firm.
    ("j'habite à Metz", "je loge à Tours chez Rita"),
    ("Noé est scolarisé à Sainte-Anne", "Noé est inscrit au Tennis Club de Metz"),
    ("je bosse chez Renault", "je bosse à Tours"),
    ("I work for Tesco", "I work at Hull"),
    ("je bosse chez Renault", "j'ai rejoint le Tennis Club de Metz"),
    ("je bosse chez Renault", "j'ai rejoint Ivo au café"),
    ("I work for Tesco", "I joined Hull Harriers"),
    ("I work for Tesco", "I joined Duolingo last week"),
    ("Ida studies at Leeds", "Ida enrolled at Puregym"),
    # What holds at some times is less than what holds always.
    ("Ida est végétarienne", "Ida est végétarienne à la maison"),
    ("Ida is vegan", "Ida is vegan on Mondays"),
    # Nothing says that one tool takes the place of the other.
    ("j'utilise Strava", "j'utilise Garmin Connect"),
    ("On utilise Trello", "On utilise Figma"),
    ("I use Strava", "I use Garmin Connect"),
    ("We use Trello", "We use Figma"),
    ("on va prendre Ryanair", "on va prendre Europcar"),
    ("we will use Canva", "we will use Etsy"),
]

# (old, new): without capitals too, a known name takes the place of another one, as does any after "chez", "s'appelle".
NAMES = [
    ("I live in Derby", "I moved to Kingussie for good"),
    ("I live in Derby", "I moved to Kingussie for my job"),
    ("j'habite à metz", "j'habite à tours"),
    ("je vis au portugal", "je vis en norvège"),
    ("j'habite à Metz", "je me suis installé à aix-en-provence"),
    ("je bosse chez dugommier", "je bosse chez tartempion"),
    ("mon copain c'est bastien", "mon copain c'est hugo"),
    ("mon lapin s'appelle pompon", "mon lapin s'appelle caramel"),
    ("i live in derby", "i live in hull"),
    ("i live in austin", "i moved to salt lake city"),
    ("i work at tesco", "i work at ikea"),
    ("my wife is laura", "my wife is megan"),
    ("my rabbit is called biscuit", "my rabbit is called pepper"),
    ("je bosse chez Airbus", "je bosse chez Orange"),
    ("j'utilise Strava", "finalement j'utilise Garmin Connect"),
    ("I use Strava", "I use Garmin Connect now"),
    ("Use Trello", "Use Linear"),
    ("we use Trello", "we will use Linear instead"),
    ("on utilise Trello", "on va passer à Linear"),
    ("je bosse chez Renault", "j'ai rejoint Airbus"),
    ("I work for Tesco", "I just joined Google"),
]

# (old, new): one occasion, or one of several people.
OCCASIONS = [
    ("Je sors avec Ida", "Je sors avec Noé samedi"),
    ("Je sors avec Ida", "Je sors avec Noé à la patinoire"),
    ("Je sors avec Ida", "Je sors avec Noé et Jeanne"),
    ("je sors avec ida", "je sors avec noé et jeanne"),
    ("Je sors avec Ida", "Je sors avec des collègues"),
    ("Je vis à Metz", "Je vis à Tours et à Nancy"),
    ("I'm dating Ida", "I'm seeing Ivo tomorrow"),
    ("I'm dating Ida", "I'm seeing Ivo at the opera"),
    ("I'm dating Ida", "I'm seeing Ivo and Jane"),
    ("I live in Derby", "I live in Hull and York"),
    # To a hall or to a tool, for what is done there.
    ("We live in Derby", "We moved to Quill Studios for rehearsals"),
    ("We live in Derby", "We have moved to the Corn Exchange for the concert"),
    ("We live in Derby", "We moved to Zoom for the weekly call"),
    ("I live in Derby", "I moved to Quill for my playlists"),
    ("I live in Derby", "I moved to Quill for the recipes"),
    ("Nous habitons à Metz", "Nous avons déménagé à la Salle Braun pour les répétitions"),
    ("Nous habitons à Metz", "On a déménagé au Studio Ferrand pour le concert"),
]

# (old, new): a judgement, a state, a time or a place is no value.
NO_VALUES = [
    ("mon métier est infirmier", "mon métier est épuisant"),
    ("mon plat préféré est le couscous", "mon plat préféré est froid"),
    ("ma série préférée est Dark", "ma série préférée est demain soir sur la deux"),
    ("ma tasse préférée est la bleue", "ma tasse préférée est dans l'évier"),
    ("J'ai 41 ans", "J'ai 18 ans dans mes rêves"),
    ("Ida a 7 ans", "Ida a 7 ans de moins que son frère"),
    ("Ida a 3 enfants", "Ida a 3 enfants à garder mercredi"),
    ("J'ai 3 enfants", "j'ai 3 enfants à nourrir ce midi"),
    ("I have 3 children", "I have 3 children to look after on Wednesday"),
    ("my occupation is nurse", "my occupation is exhausting"),
    ("my job is nurse", "my job is a nightmare"),
    ("my job is nurse", "my job is hard work"),
    ("my job is nurse", "my job is in Hull"),
    ("mon boulot est infirmier", "mon boulot est fatigant"),
    ("Ida fait 1m62", "Ida fait 3 km à pied"),
    ("I'm 5 foot 3", "I'm 20 metres from the door"),
    ("my favourite dish is curry", "my favourite dish is cold"),
    ("my favourite show is Dark", "my favourite show is on tonight"),
    ("I am 41 years old", "I am 18 years old in my head"),
    ("I am 41 years old", "I am 42 years old, or so"),
]

VALUES = [
    ("mon métier est infirmier", "mon métier est comptable"),
    ("mon plat préféré est le couscous", "mon plat préféré est la paella"),
    ("mon jour préféré est le samedi", "mon jour préféré est le jeudi"),
    ("J'ai 41 ans", "J'ai 42 ans depuis hier"),
    ("Le lapin d'Ida pèse 2 kilos", "Le lapin d'Ida pèse 3 kilos à sa dernière pesée"),
    ("Ida's rabbit weighs 2 kilos", "Ida's rabbit weighs 3 kilos at its last check"),
    ("Le lapin d'Ida pèse 2 kilos", "Le lapin d'Ida pèse 3 kilos, le régime rate"),
    ("Ida's rabbit weighs 2.5 kilos", "Ida's rabbit weighs 3 kilos, the diet fails"),
    ("Ida a 9 ans, elle est en CM1", "Ida a 10 ans"),
    ("J'ai 3 enfants", "J'ai 4 enfants à présent"),
    ("Je pèse 82 kilos", "Je suis descendu à 78 kilos"),
    ("I weigh 190 lb", "I'm down to 178 lb"),
    ("J'habite dans un studio à Lille", "J'ai emménagé dans un T3 à Rennes"),
    ("J'habite un deux-pièces à Lyon", "Je viens d'emménager dans une maison à Metz"),
    ("I live in a studio in Leeds", "I just moved into a flat in Hull"),
    ("Je fume un paquet par jour", "J'ai arrêté de fumer"),
    ("I smoke ten a day", "I've been smoke-free since May"),
    ("I live in Derby", "I moved to Hull for the concert season"),
    ("We live in Derby", "We moved to Nether Wallop for work"),
    ("J'habite à Metz", "J'ai déménagé à Trifouilly pour mes études"),
    ("my occupation is nurse", "my occupation is lawyer"),
    ("my favourite dish is curry", "my favourite dish is pizza"),
    ("my favourite day is saturday", "my favourite day is thursday"),
    ("my blood type is B", "my blood type is o"),
    ("Job is nurse", "Job is lawyer"),
    ("my job is a nurse", "my job is lawyer"),
    ("Ida's job is nurse", "Ida's job is a teacher"),
    ("mon boulot est infirmier", "mon boulot c'est comptable"),
    # A name in capitals is no function word of another language.
    ("Timezone is CET", "Timezone is EST"),
    ("Mon fuseau horaire est CET", "Mon fuseau horaire est EST"),
    ("I live in the US", "I live in the UK"),
    ("Je vis aux US", "Je vis au Canada"),
    # A height, in two numbers.
    ("I'm 5 foot 3", "I'm 5'4\""),
    ("Ida is five foot three", "Ida is five foot four"),
    ("Ida fait 1m62", "Ida fait 1,63 m"),
    ("Je fais 1 m 62", "Je fais 1m63"),
]

# (old, new): words before the relation that state nothing.
PRECEDED = [
    ("J'habite à Metz", "Ouh, j'habite à Tours"),
    ("j'habite à Metz", "zut j'habite à Tours"),
    ("j'habite à Metz", "non mais j'habite à Tours"),
    ("j'habite à Metz", "Coucou ! J'habite à Tours"),
    ("j'habite à Metz", "je voulais dire j'habite à Tours"),
    ("Basile habite à Metz", "euh, Basile habite à Tours"),
    ("I live in Derby", "hm, I live in Hull"),
    ("I live in Derby", "no hmm, I live in Hull"),
    ("I live in Derby", "I meant I live in Hull"),
    ("my name is Ida", "hey there, my name is Ada"),
]

NOT_ASSERTED = [
    ("j'habite à Metz", "si j'habite à Tours"),
    ("j'habite à Metz", "Basile raconte que j'habite à Tours"),
    ("j'habite à Metz", "regarde : « j'habite à Tours »"),
    ("j'habite à Metz", "Basile : j'habite à Tours"),
    ("j'habite à Metz", "faudrait que j'habite à Tours"),
    ("j'habite à Metz", "supposons, j'habite à Tours"),
    ("j'habite à Metz", "en hiver, j'habite à Tours"),
    ("j'habite à Metz", "dans ce jeu, j'habite à Tours"),
    ("j'habite à Metz", "bientôt j'habite à Tours"),
    ("I live in Derby", "soon I live in Hull"),
    ("I live in Derby", "if I live in Hull"),
    ("I live in Derby", "Ida says I live in Hull"),
    ("I live in Derby", 'look: "I live in Hull"'),
    ("I live in Derby", "Ida: I live in Hull"),
    ("I live in Derby", "pretend I live in Hull"),
    ("I live in Derby", "in winter, I live in Hull"),
    ("I live in Derby", "in this game, I live in Hull"),
]


@pytest.mark.parametrize(("old", "new"), [*NO_NAMES, *OCCASIONS, *NO_VALUES, *NOT_ASSERTED])
def test_what_is_no_lasting_value_merges_nothing(old: str, new: str) -> None:
    assert decide(new, old).verdict not in MERGED, decide(new, old)


LABELLED = [
    ("Phone number of the plumber: 0612 44 87 20", "plumber's new number: 0655 10 93 41"),
    ("Numéro du plombier : 06 12 44 87 20", "Nouveau numéro du plombier : 06 55 10 93 41"),
    ("Ida's age: 41", "Ida's age: 42"),
    ("My address: 3 Mill Lane", "My address: 8 Moor Road"),
    ("Shoe size: 38", "Shoe size: 39"),
    ("Job: nurse", "Job: beekeeper"),
    ("Boulot : serveur", "Boulot : apiculteur"),
    ("Métier d'Ida : luthière", "Métier d'Ida : facteur"),
    ("Mon adresse : 3 rue du Puits", "Mon adresse : 8 rue des Saules"),
    ("Pointure : 38", "Pointure : 39"),
    # A digit before the colon.
    ("Rent of B2: 640 pounds", "Rent of B2: 655 pounds"),
    ("Loyer du T2 : 610 €", "Loyer du T2 : 622 €"),
]


@pytest.mark.parametrize(("old", "new"), [*NAMES, *VALUES, *PRECEDED, *LABELLED])
def test_another_value_takes_its_place(old: str, new: str) -> None:
    decision = decide(new, old)
    assert (decision.verdict, decision.change) == (Verdict.UPDATED, "replaced"), decision


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I'm 5 foot 3", "I am 5'3\""),
        ("Je fais 1 m 63", "je fais 1m63"),
        ("My job is nurse", "I work as a nurse"),
        ("Mon boulot : infirmier", "Je travaille comme infirmier"),
    ],
)
def test_one_value_in_two_spellings_is_known(old: str, new: str) -> None:
    assert decide(new, old).verdict is Verdict.REINFORCED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("j'habite à Metz", "crevé, j'habite à Metz"),
        ("I live in Derby", "exhausted, I live in Derby"),
    ],
)
def test_words_before_a_known_value_are_kept(old: str, new: str) -> None:
    assert decide(new, old).verdict is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ida a 7 ans", "Ida a 7 ans de plus que moi"),
        ("mon mari est grincheux", "ma femme est grincheuse"),
        ("Je sors avec Ida", "Je sors avec Ida à la patinoire"),
        ("I'm dating Ida", "I'm seeing Ida at the opera"),
        ("my husband is grumpy", "my wife is grumpy"),
        # In another unit it may be the same.
        ("Rex weighs 30 kg", "Rex weighs 66 lb"),
        ("Je mesure 1,75 m", "Je mesure 178 cm"),
    ],
)
def test_the_model_merges_no_doubtful_value(old: str, new: str) -> None:
    assert decide(new, old).change == "perhaps"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Paul vivait à Nice avant", "Paul est né à Nice"),
        ("je suis à Nice", "je suis né à Nice"),
        ("mon fils est né à Nice", "mon fils vit à Nice"),
        ("Paul lives in Bath", "Paul was born in Bath"),
    ],
)
def test_a_birth_is_another_fact_than_where_somebody_lives(old: str, new: str) -> None:
    assert decide(new, old).verdict is Verdict.RELATED
    assert decide(old, new).verdict is Verdict.RELATED
